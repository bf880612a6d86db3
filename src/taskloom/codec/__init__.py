"""Events to bytes and back; still pure. Knows lines, not files."""

from taskloom.codec.foreign import ReplayForeign
from taskloom.codec.frame import Chain, chained, crc_after, is_framed
from taskloom.codec.frame import holds as seals
from taskloom.codec.lines import Line, Origin, decode, encode
from taskloom.codec.replay import Replay, note_done
from taskloom.codec.tail import DECODE_ERRORS, Whole, find_settled, find_whole, read_mark

__all__ = [
    "DECODE_ERRORS",
    "Chain",
    "Line",
    "Origin",
    "Replay",
    "ReplayForeign",
    "Whole",
    "chained",
    "crc_after",
    "decode",
    "encode",
    "find_settled",
    "find_whole",
    "is_framed",
    "note_done",
    "read_mark",
    "seals",
]
