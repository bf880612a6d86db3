"""Bytes become keys, keys become actions."""

from taskloom.cli.watch.key_bindings import Action, Controls
from taskloom.cli.watch.keys import KeyDecoder

RUNS = ["orchestrator", "r1", "r2"]


def test_keys_come_whole_however_their_bytes_are_cut() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"j\x1b[Ak\r") == ["j", "up", "k", "enter"]
    assert decoder.feed(b"\x1b") == []
    assert decoder.is_waiting
    assert decoder.feed(b"[") == []
    assert decoder.feed(b"By") == ["down", "y"]
    assert decoder.feed(b"\x1bOA\x1b[6~") == ["up", "page down"]


def test_an_escape_alone_is_a_key_and_half_a_sequence_is_none() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.flush() == ["escape"]
    assert decoder.feed(b"\x1b[") == []
    assert decoder.flush() == []
    assert not decoder.is_waiting


def test_no_sequence_of_a_terminal_ends_in_a_yes() -> None:
    decoder = KeyDecoder()
    assert "y" not in decoder.feed(b"\x1b[<0;3;4M\x1by\x1b[1;5y")
    assert decoder.feed(b"\xff\xfe") == ["\ufffd", "\ufffd"]


def test_pasted_text_is_no_key_however_its_bytes_are_cut() -> None:
    decoder = KeyDecoder()
    pasted = b"j\x1b[200~yes\x1b[A\r\x1b[201~k"
    keys = [key for byte in pasted for key in decoder.feed(bytes([byte]))]
    assert keys == ["j", "k"]


def press(controls: Controls, keys: str, total: int = 100) -> list[Action]:
    found = [controls.press(key, RUNS, total, 10) for key in keys]
    return [each for each in found if each is not None]


def test_the_selection_stays_among_the_runs() -> None:
    controls = Controls("orchestrator")
    press(controls, "kk")
    assert controls.selected == "orchestrator"
    press(controls, "jjjj")
    assert controls.selected == "r2"
    controls.update_runs(["orchestrator", "r1"])
    assert controls.selected == "orchestrator"
    press(controls, "9")
    assert not controls.shows_output
    press(controls, "1")
    assert (controls.selected, controls.shows_output) == ("r1", True)
    controls.update_runs(["orchestrator"])
    assert controls.selected == "r1", "its output stays open"


def test_only_a_worker_can_be_cancelled_and_only_after_a_yes() -> None:
    controls = Controls("orchestrator")
    assert press(controls, "cy") == []
    assert press(controls, "jcn") == []
    assert press(controls, "cc") == []
    assert press(controls, "cy") == [Action("cancel", "r1")]
    press(controls, "c")
    controls.update_runs(["orchestrator", "r2"])
    assert press(controls, "y") == [], "it ended meanwhile"


def test_scrolling_stays_within_the_output() -> None:
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
    assert not controls.shows_output


def test_quit_and_pause_work_everywhere() -> None:
    controls = Controls("orchestrator")
    assert press(controls, "p1pq") == [Action("pause"), Action("pause"), Action("quit")]
    controls.press("escape", RUNS, 0, 10)
    press(controls, "jc")
    assert press(controls, "q") == [Action("quit")]
