"""From bytes to keys, and from keys to wishes."""

from taskloom.cli.watch.key_bindings import Action, Controls
from taskloom.cli.watch.keys import Decoder

RUNS = ["orchestrator", "r1", "r2"]


def test_keys_come_whole_however_their_bytes_are_cut() -> None:
    decoder = Decoder()
    assert decoder.feed(b"j\x1b[Ak\r") == ["j", "up", "k", "enter"]
    assert decoder.feed(b"\x1b") == []
    assert decoder.is_waiting
    assert decoder.feed(b"[") == []
    assert decoder.feed(b"By") == ["down", "y"]
    assert decoder.feed(b"\x1bOA\x1b[6~") == ["up", "page down"]


def test_an_escape_alone_is_one_after_a_while_and_half_a_sequence_is_nothing() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.flush() == ["escape"]
    assert decoder.feed(b"\x1b[") == []
    assert decoder.flush() == []
    assert not decoder.is_waiting


def test_no_sequence_of_a_terminal_ends_in_a_yes() -> None:
    decoder = Decoder()
    assert "y" not in decoder.feed(b"\x1b[<0;3;4M\x1b[200~\x1by\x1b[1;5y")
    assert decoder.feed(b"\xff\xfe") == ["\ufffd", "\ufffd"]


def press(controls: Controls, keys: str, total: int = 100) -> list[Action]:
    found = [controls.press(key, RUNS, total, 10) for key in keys]
    return [each for each in found if each is not None]


def test_the_selection_stays_among_the_runs() -> None:
    controls = Controls("orchestrator")
    press(controls, "kk")
    assert controls.selected == "orchestrator"
    press(controls, "jjjj")
    assert controls.selected == "r2"
    controls.keep_up(["orchestrator", "r1"])
    assert controls.selected == "orchestrator"
    press(controls, "9")
    assert not controls.is_reading
    press(controls, "1")
    assert (controls.selected, controls.is_reading) == ("r1", True)
    controls.keep_up(["orchestrator"])
    assert controls.selected == "r1", "who is read is read on"


def test_only_a_worker_is_cancelled_and_only_after_a_yes() -> None:
    controls = Controls("orchestrator")
    assert press(controls, "cy") == []
    assert press(controls, "jcn") == []
    assert press(controls, "cc") == []
    assert press(controls, "cy") == [Action("cancel", "r1")]
    press(controls, "c")
    controls.keep_up(["orchestrator", "r2"])
    assert press(controls, "y") == [], "it ended meanwhile"


def test_scrolling_stays_within_what_was_said() -> None:
    controls = Controls("orchestrator")
    controls.press("enter", RUNS, 100, 10)
    controls.press("page up", RUNS, 100, 10)
    assert controls.last_line == 90
    press(controls, "k" * 200)
    assert controls.last_line == 10
    press(controls, "j" * 200)
    assert controls.last_line is None
    press(controls, "kG")
    assert controls.last_line is None
    controls.press("escape", RUNS, 100, 10)
    assert not controls.is_reading


def test_leaving_and_pausing_are_wishes_everywhere() -> None:
    controls = Controls("orchestrator")
    assert press(controls, "p1pq") == [Action("pause"), Action("pause"), Action("quit")]
    controls.press("escape", RUNS, 0, 10)
    press(controls, "jc")
    assert press(controls, "q") == [Action("quit")]
