"""The format of saved results: readable by lines, and decoded without loss.

Text is saved unchanged. Parts are saved one after the other below a header line with the kind
and length of each; text parts are saved unchanged, others as JSON:

    taskloom-parts [["text",12],["part",48]]
    twelve chars
    {"type":"image",…}
"""

from typing import Final

import msgspec

from taskloom.agent import Part, TextPart
from taskloom.middleware.reduction.settings import ToolContent

_MARK: Final = "taskloom-parts "
_decode_parts: Final = msgspec.json.Decoder(Part)
_decode_header: Final = msgspec.json.Decoder(list[tuple[str, int]])


def to_saved(content: ToolContent) -> str:
    """Return the saved form of a result."""
    if isinstance(content, str):
        # A text that starts like parts must not be decoded as parts.
        return _joined([("plain", content)]) if content.startswith(_MARK) else content
    return _joined([_section(part) for part in content])


def _section(part: Part) -> tuple[str, str]:
    if isinstance(part, TextPart):
        return "text", part.text
    return "part", msgspec.json.encode(part).decode()


def _joined(sections: list[tuple[str, str]]) -> str:
    header = msgspec.json.encode([(kind, len(text)) for kind, text in sections]).decode()
    return "\n".join([_MARK + header, *(text for _, text in sections)])


def from_saved(text: str) -> ToolContent:
    """Return the result of a saved form: its text, or its parts.

    Raises:
        ValueError: it starts like parts but was cut or changed.
    """
    if not text.startswith(_MARK):
        return text
    line, _, rest = text.partition("\n")
    try:
        sections = _sections(_decode_header.decode(line[len(_MARK) :]), rest)
        if sections and sections[0][0] == "plain":
            return sections[0][1]
        return tuple(
            TextPart(section) if kind == "text" else _decode_parts.decode(section)
            for kind, section in sections
        )
    except msgspec.MsgspecError as error:
        raise ValueError(f"The saved parts cannot be decoded: {error}") from error


def _sections(header: list[tuple[str, int]], rest: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    start = 0
    for kind, size in header:
        found.append((kind, rest[start : start + size]))
        start += size + 1
    if header and start - 1 != len(rest):
        raise ValueError("The saved parts cannot be decoded: the lengths do not add up.")
    return found
