"""What a run says, put together into lines."""

from taskloom.agent import (
    CustomEvent,
    Delta,
    Message,
    ModelDelta,
    ModelReply,
    ModelSuperseded,
    NestedEvent,
    RunFailed,
    ToolCall,
    ToolDelta,
    ToolResult,
    ToolStarted,
)
from taskloom.view.run.output import LINES_KEPT, OutputBuffer, called


def piece(text: str = "", *, thinking: str = "", tool: str = "", id_: str = "m1") -> ModelDelta:
    return ModelDelta(id_, Delta(text=text, thinking=thinking, tool_name=tool))


def shown(speech: OutputBuffer) -> list[tuple[str, str]]:
    return [(line.kind, line.shown) for line in speech.everything]


def test_pieces_add_up_to_lines_and_the_whole_reply_is_not_said_twice() -> None:
    speech = OutputBuffer()
    speech.hear(piece(thinking="Let me "))
    speech.hear(piece(thinking="see."))
    assert speech.last == "Let me see."
    speech.hear(piece("First li"))
    speech.hear(piece("ne\nSec"))
    assert speech.last == "Sec"
    speech.hear(piece("ond"))
    speech.hear(ModelReply(Message("assistant", "First line\nSecond", id="m1")))
    assert shown(speech) == [
        ("thinking", "Let me see."),
        ("text", "First line"),
        ("text", "Second"),
    ]


def test_a_reply_that_nobody_streamed_is_said_whole() -> None:
    speech = OutputBuffer()
    speech.hear(ModelReply(Message("assistant", "One\nTwo", id="m1")))
    assert shown(speech) == [("text", "One"), ("text", "Two")]


def test_an_attempt_that_failed_is_taken_back() -> None:
    speech = OutputBuffer()
    speech.hear("before")
    speech.hear(piece("wrong\nwro"))
    speech.hear(ModelSuperseded("m1", 1, "overloaded"))
    speech.hear(piece("right", id_="m2"))
    assert shown(speech) == [
        ("output", "before"),
        ("trouble", "attempt 1 failed, trying again: overloaded"),
        ("text", "right"),
    ]


def test_a_call_is_announced_then_told_and_its_output_follows() -> None:
    speech = OutputBuffer()
    call = ToolCall("c1", "run_command", '{"command": ["pytest", "-q"], "cwd": "."}')
    speech.hear(piece(tool="run_command"))
    assert speech.last == "▸ run_command …"
    speech.hear(ToolStarted(call))
    speech.hear(ToolDelta("c1", "run_command", "12 pas"))
    speech.hear(ToolDelta("c1", "run_command", "sed\n10%\r100%\n"))
    speech.hear(ToolResult(Message.tool(call, "12 passed\n100%")))
    other = ToolCall("c2", "read_file", '{"path": "a"}')
    speech.hear(ToolStarted(other))
    speech.hear(ToolResult(Message.tool(other, "no such file", is_error=True)))
    assert shown(speech) == [
        ("tool", '▸ run_command command=["pytest","-q"] cwd=.'),
        ("output", "12 passed"),
        ("output", "100%"),
        ("tool", "▸ read_file path=a"),
        ("trouble", "no such file"),
    ]


def test_what_a_terminal_would_obey_is_written_out() -> None:
    speech = OutputBuffer()
    speech.hear("\x1b[2Jgone\u202e")
    assert speech.last == r"\x1b[2Jgone\u202e"
    assert shown(speech) == [("output", r"\x1b[2Jgone\u202e")]


def test_whatever_is_sent_nothing_grows_without_bound() -> None:
    speech = OutputBuffer()
    for number in range(LINES_KEPT + 10):
        speech.hear(f"line {number}")
    assert (len(speech.lines), speech.total) == (LINES_KEPT, LINES_KEPT + 10)
    speech.hear(piece("x" * 100_000))
    assert all(len(line.text) <= 2_000 for line in speech.everything)


def test_an_agent_within_speaks_too_and_trouble_is_told() -> None:
    speech = OutputBuffer()
    speech.hear(NestedEvent("inner", "c1", piece("from within\n")))
    speech.hear(CustomEvent({"percent": 5}))
    speech.hear(RunFailed(ValueError("broke")))
    assert shown(speech) == [
        ("text", "from within"),
        ("note", "{'percent': 5}"),
        ("trouble", "ValueError: broke"),
    ]


def test_arguments_are_shortened_and_those_that_are_no_json_are_shown_as_they_are() -> None:
    assert called("write", '{"path": "a.py", "text": "' + "x" * 100 + '"}') == (
        "write path=a.py text=" + "x" * 59 + "…"
    )
    assert called("write", '{"path": ') == 'write {"path":'
    assert called("write", "[1]") == "write [1]"
    assert called("write", '{"a": "\\u001b[31m"}') == r"write a=\x1b[31m"
    assert len(called("write", "{" * 100_000)) < 100
