"""Encodes events as lines of a log, and decodes, checks and replays them. Pure: no files."""

from taskloom.codec.event_lines import EventAuthor, Line, decode, encode
from taskloom.codec.frame import Chain, chained, checksum_matches, crc_after, is_framed
from taskloom.codec.log_line import EventHeader, LogLine, decode_lines, read_event_header
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
    "EventHeader",
    "Line",
    "LogLine",
    "ReferenceReplay",
    "Replay",
    "chained",
    "checksum_matches",
    "crc_after",
    "decode",
    "decode_lines",
    "encode",
    "find_committed_prefix",
    "find_synced_prefix",
    "is_framed",
    "note_done",
    "read_event_header",
    "read_header",
]
