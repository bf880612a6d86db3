"""The output of a run as lines."""

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
from taskloom.view.run.output import LINES_KEPT, OutputBuffer, describe_call


def piece(text: str = "", *, thinking: str = "", tool: str = "", id_: str = "m1") -> ModelDelta:
    return ModelDelta(id_, Delta(text=text, thinking=thinking, tool_name=tool))


def shown(output: OutputBuffer) -> list[tuple[str, str]]:
    return [(line.kind, line.display_text) for line in output.all_lines]


def test_pieces_add_up_to_lines_and_the_whole_reply_is_not_added_twice() -> None:
    output = OutputBuffer()
    output.add(piece(thinking="Let me "))
    output.add(piece(thinking="see."))
    assert output.last_line == "Let me see."
    output.add(piece("First li"))
    output.add(piece("ne\nSec"))
    assert output.last_line == "Sec"
    output.add(piece("ond"))
    output.add(ModelReply(Message("assistant", "First line\nSecond", id="m1")))
    assert shown(output) == [
        ("thinking", "Let me see."),
        ("text", "First line"),
        ("text", "Second"),
    ]


def test_a_reply_that_was_not_streamed_is_added_whole() -> None:
    output = OutputBuffer()
    output.add(ModelReply(Message("assistant", "One\nTwo", id="m1")))
    assert shown(output) == [("text", "One"), ("text", "Two")]


def test_the_pieces_of_a_failed_attempt_are_removed() -> None:
    output = OutputBuffer()
    output.add("before")
    output.add(piece("wrong\nwro"))
    output.add(ModelSuperseded("m1", 1, "overloaded"))
    output.add(piece("right", id_="m2"))
    assert shown(output) == [
        ("output", "before"),
        ("error", "attempt 1 failed, retrying: overloaded"),
        ("text", "right"),
    ]


def test_a_call_is_announced_then_shown_and_its_output_follows() -> None:
    output = OutputBuffer()
    call = ToolCall("c1", "run_command", '{"command": ["pytest", "-q"], "cwd": "."}')
    output.add(piece(tool="run_command"))
    assert output.last_line == "▸ run_command …"
    output.add(ToolStarted(call))
    output.add(ToolDelta("c1", "run_command", "12 pas"))
    output.add(ToolDelta("c1", "run_command", "sed\n10%\r100%\n"))
    output.add(ToolResult(Message.tool(call, "12 passed\n100%")))
    other = ToolCall("c2", "read_file", '{"path": "a"}')
    output.add(ToolStarted(other))
    output.add(ToolResult(Message.tool(other, "no such file", is_error=True)))
    assert shown(output) == [
        ("tool", '▸ run_command command=["pytest","-q"] cwd=.'),
        ("output", "12 passed"),
        ("output", "100%"),
        ("tool", "▸ read_file path=a"),
        ("error", "no such file"),
    ]


def test_control_characters_are_escaped() -> None:
    output = OutputBuffer()
    output.add("\x1b[2Jgone\u202e")
    assert output.last_line == r"\x1b[2Jgone\u202e"
    assert shown(output) == [("output", r"\x1b[2Jgone\u202e")]


def test_the_buffer_is_bounded() -> None:
    output = OutputBuffer()
    for number in range(LINES_KEPT + 10):
        output.add(f"line {number}")
    assert (len(output.lines), output.total) == (LINES_KEPT, LINES_KEPT + 10)
    output.add(piece("x" * 100_000))
    assert all(len(line.text) <= 2_000 for line in output.all_lines)


def test_output_of_a_nested_agent_and_errors_are_shown() -> None:
    output = OutputBuffer()
    output.add(NestedEvent("inner", "c1", piece("from within\n")))
    output.add(CustomEvent({"percent": 5}))
    output.add(RunFailed(ValueError("broke")))
    assert shown(output) == [
        ("text", "from within"),
        ("note", "{'percent': 5}"),
        ("error", "ValueError: broke"),
    ]


def test_arguments_are_clipped_and_invalid_json_is_shown_as_it_is() -> None:
    assert describe_call("write", '{"path": "a.py", "text": "' + "x" * 100 + '"}') == (
        "write path=a.py text=" + "x" * 59 + "…"
    )
    assert describe_call("write", '{"path": ') == 'write {"path":'
    assert describe_call("write", "[1]") == "write [1]"
    assert describe_call("write", '{"a": "\\u001b[31m"}') == r"write a=\x1b[31m"
    assert len(describe_call("write", "{" * 100_000)) < 100
