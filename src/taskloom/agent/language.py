"""The language of the built-in texts, and the look-up of a text by language.

Each module with texts has one record of format strings per language, with the same fields, so
that a missing text is a type error. `Translations` picks the record.
"""

from typing import Final, Generic, Literal, TypeAlias, TypeVar, get_args

T = TypeVar("T")

Language: TypeAlias = Literal["en", "zh"]
"""A language that Taskloom has built-in texts in."""

_default: Final[list[Language]] = ["en"]


def set_language(language: Language) -> None:
    """Set the language of every agent in this process that was given none."""
    known = get_args(Language)
    if language not in known:
        raise ValueError(f"There are no texts in {language!r}; choose one of {', '.join(known)}.")
    _default[0] = language


def language_or_default(language: Language | None) -> Language:
    """Return the given language, or the default of the process."""
    return language or _default[0]


class Translations(Generic[T]):
    """The same texts in every language; call it with a language to get them."""

    def __init__(self, *, en: T, zh: T) -> None:
        self._texts: dict[Language, T] = {"en": en, "zh": zh}

    def __call__(self, language: Language | None = None) -> T:
        """Return the texts in a language, by default that of the process."""
        return self._texts[language_or_default(language)]
