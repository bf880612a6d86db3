"""Events to bytes and back; still pure. Knows lines, not files."""

from taskloom.codec.event_lines import EventAuthor, Line, decode, encode
from taskloom.codec.frame import Chain, chained, crc_after, is_framed
from taskloom.codec.frame import holds as seals
from taskloom.codec.reference_log import ReferenceReplay
from taskloom.codec.replay import Replay, note_done
from taskloom.codec.torn_tail import (
    DECODE_ERRORS,
    CommittedPrefix,
    find_committed_prefix,
    find_synced_prefix,
    read_header,
)

__all__ = [
    "DECODE_ERRORS",
    "Chain",
    "CommittedPrefix",
    "EventAuthor",
    "Line",
    "ReferenceReplay",
    "Replay",
    "chained",
    "crc_after",
    "decode",
    "encode",
    "find_committed_prefix",
    "find_synced_prefix",
    "is_framed",
    "note_done",
    "read_header",
    "seals",
]
