"""Rules that allow commands and writes without a question, as a person wrote them down.

A rule for commands is a list of words and matches them one by one: `*` is one argument that is no
option, `**` at the end is any further arguments. `["git", "diff"]` allows `git diff` and no other
command; `["pytest", "**"]` allows pytest with whatever arguments.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from taskloom.errors import ConfigError
from taskloom.session.path_patterns import matches

ONE: Final = "*"
ANY: Final = "**"


@dataclass(frozen=True, slots=True)
class CommandRule:
    """Commands that are run without a question."""

    words: tuple[str, ...]
    directory: str = "."
    """Where the command must run, relative to the project."""

    def covers(self, command: tuple[str, ...], directory: str) -> bool:
        """Return whether the rule allows a command in a directory of the project."""
        if directory != self.directory:
            return False
        words = self.words
        if words[-1] == ANY:
            words = words[:-1]
            if len(command) < len(words):
                return False
        elif len(command) != len(words):
            return False
        return all(map(_covers_word, words, command))


def _covers_word(word: str, argument: str) -> bool:
    if word == ONE:
        return not argument.startswith("-")
    return word == argument


def read_rule(written: object, where: str) -> CommandRule:
    """Return a rule from a configuration: a text, a list of words, or a table with a directory.

    Raises:
        ConfigError: it is none of these, or could never match.
    """
    directory: object = "."
    if isinstance(written, Mapping):
        table = cast("Mapping[str, object]", written)
        unknown = set(table) - {"command", "directory"}
        if unknown:
            raise ConfigError(
                f"{where}: a rule has `command` and `directory`, no {min(unknown)!r}."
            )
        directory, written = table.get("directory", "."), table.get("command")
    words = _words(written, where)
    if not isinstance(directory, str) or directory.startswith("/") or ".." in directory.split("/"):
        raise ConfigError(f'{where}: `directory` is a path inside the project, such as "web".')
    if ANY in words[:-1]:
        raise ConfigError(f"{where}: `**` stands at the end, for all further arguments.")
    if words[0] in (ONE, ANY):
        raise ConfigError(f"{where}: name the program; `{words[0]}` would allow every one.")
    return CommandRule(words, directory.strip("/") or ".")


def _words(written: object, where: str) -> tuple[str, ...]:
    if isinstance(written, str):
        try:
            words: list[object] = list(shlex.split(written))
        except ValueError as error:
            raise ConfigError(f"{where}: {written!r} has an open quote.") from error
    else:
        words = list(cast("list[object]", written)) if isinstance(written, list | tuple) else []
    if not words or not all(isinstance(word, str) and word for word in words):
        raise ConfigError(f'{where}: write a command as a list of words, such as ["git", "diff"].')
    return tuple(str(word) for word in words)


@dataclass(frozen=True, slots=True)
class AllowRules:
    """All rules of a project."""

    commands: tuple[CommandRule, ...] = ()
    writes: tuple[str, ...] = ()
    """Patterns of files that are written without a question."""

    def allows_command(self, command: tuple[str, ...], directory: str) -> bool:
        """Return whether a rule covers a command that runs in a directory of the project."""
        return any(rule.covers(command, directory) for rule in self.commands)

    def allows_write(self, path: str) -> bool:
        """Return whether a rule covers a file, named from the project's directory."""
        return any(matches(pattern, path) for pattern in self.writes)
