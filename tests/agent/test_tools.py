"""Tools from functions, generators and objects: what the model sees, and what it gets."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest

from taskloom.agent import (
    Agent,
    Content,
    FilePart,
    ImagePart,
    InvalidToolError,
    JsonPart,
    Message,
    ScriptedModel,
    TextPart,
    ToolArgumentsError,
    ToolDelta,
    ToolInfo,
    ToolKind,
    ToolLike,
    as_tool,
    call_tool,
    tool,
)
from taskloom.agent.tools import check_schema
from tests.agent.samples import add, collect


class Place(msgspec.Struct):
    """Where."""

    city: str
    zip_code: str | None = None


@tool
def weather(
    place: Place,
    days: Annotated[int, msgspec.Meta(ge=1, le=7)] = 3,
    unit: Literal["c", "f"] = "c",
    tags: list[str] = [],  # noqa: B006 - a default that a user might write
) -> str:
    """Tell the weather.

    Of any place on earth.

    Args:
        place: where to look
        days: how many days ahead

    Returns:
        A sentence.
    """
    return f"{place.city} {days} {unit} {tags}"


@pytest.mark.spec("AG-603")
def test_a_function_becomes_name_description_and_schema() -> None:
    assert weather.info == ToolInfo(
        "weather",
        "Tell the weather.\n\nOf any place on earth.",
        {
            "type": "object",
            "properties": {
                "place": {"$ref": "#/$defs/Place", "description": "where to look"},
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 7,
                    "description": "how many days ahead",
                    "default": 3,
                },
                "unit": {"enum": ["c", "f"], "default": "c"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["place"],
            "additionalProperties": False,
            "$defs": {
                "Place": {
                    "title": "Place",
                    "description": "Where.",
                    "type": "object",
                    "properties": {
                        "city": {"type": "string"},
                        "zip_code": {
                            "anyOf": [{"type": "string"}, {"type": "null"}],
                            "default": None,
                        },
                    },
                    "required": ["city"],
                }
            },
        },
    )


async def result_of(thing: ToolLike, **arguments: object) -> Content:
    name = as_tool(thing).name
    model = ScriptedModel([call_tool(name, **arguments), "ok"])
    return (await Agent(model, [thing]).invoke("go")).messages[2].content


@pytest.mark.spec("AG-603")
async def test_a_sync_function_runs_off_the_loop_with_python_values() -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await result_of(where) == "false"
    assert await result_of(weather, place={"city": "Bonn"}, tags=["x"]) == "Bonn 3 c ['x']"


@pytest.mark.spec("AG-108")
async def test_nested_arguments_are_named_in_the_error() -> None:
    assert "`place.city`" in await result_of(weather, place={"city": 5})
    assert "`days`" in await result_of(weather, place={"city": "Bonn"}, days=9)


@pytest.mark.spec("AG-603")
async def test_generators_stream_whether_sync_or_async() -> None:
    async def count() -> AsyncIterator[str]:
        yield "one "
        yield "two"

    def sync_count() -> Iterator[str]:
        yield "one "
        yield "two"

    for function in (count, sync_count):
        model = ScriptedModel([call_tool(function.__name__), "ok"])
        run = Agent(model, [function]).run("go")
        events = await collect(run)
        assert [e.chunk for e in events if isinstance(e, ToolDelta)] == ["one ", "two"]
        assert run.result.messages[2].content == "one two"
        assert as_tool(function).kind is ToolKind.STREAM


@pytest.mark.spec("AG-603")
async def test_results_may_have_several_parts() -> None:
    async def show() -> list[TextPart | ImagePart | FilePart | JsonPart]:
        return [
            TextPart("see"),
            ImagePart(data=b"\x89PNG"),
            FilePart(name="a.txt", data=b"a"),
            JsonPart({"n": 1}),
        ]

    async def stream() -> AsyncIterator[TextPart | ImagePart]:
        yield TextPart("a")
        yield TextPart("b")
        yield ImagePart(url="x")

    assert await result_of(show) == (
        TextPart("see"),
        ImagePart(data=b"\x89PNG"),
        FilePart(name="a.txt", data=b"a"),
        JsonPart({"n": 1}),
    )
    assert await result_of(stream) == (TextPart("ab"), ImagePart(url="x"))
    assert (as_tool(show).kind, as_tool(stream).kind) == (ToolKind.RICH, ToolKind.RICH_STREAM)


@pytest.mark.spec("AG-603", "AG-108")
async def test_an_object_with_its_own_schema_is_a_tool() -> None:
    class Lookup:
        info = ToolInfo(
            "lookup",
            "Look up.",
            {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        )
        idempotent = True

        async def call(self, arguments: dict[str, Any]) -> str:
            return f"found {arguments['q']}"

    assert as_tool(Lookup()).idempotent
    assert await result_of(Lookup(), q="x") == "found x"
    assert "`q`" in await result_of(Lookup(), q=1)
    assert "`q`" in await result_of(Lookup())


@pytest.mark.spec("AG-603")
async def test_data_becomes_json_and_nothing_becomes_nothing() -> None:
    async def data() -> dict[str, list[int]]:
        return {"a": [1]}

    async def nothing() -> None:
        return None

    assert await result_of(data) == '{"a":[1]}'
    assert await result_of(nothing) == ""


async def test_what_cannot_be_a_tool_is_refused_when_the_agent_is_made() -> None:
    def untyped(x: str) -> str:
        return x

    del untyped.__annotations__["x"]

    def star(*x: str) -> str:
        return ""

    def odd(x: threading.Thread) -> str:
        return ""

    class Empty:
        info = ToolInfo("empty", "", {})

    wrong: list[tuple[Any, str]] = [
        (untyped, "annotation"),
        (star, "by name"),
        (odd, "JSON"),
        (lambda: "", "no name"),
        (Empty(), "no method; add one of"),
        (7, "is not a tool"),
    ]
    for thing, word in wrong:
        with pytest.raises(InvalidToolError, match=word):
            Agent(ScriptedModel([]), [thing])
    with pytest.raises(InvalidToolError, match="Two tools"):
        Agent(ScriptedModel([]), [add, add])


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "s": {"type": ["string", "null"], "maxLength": 3},
        "mode": {"enum": ["a", "b"]},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "fixed": {"const": 1},
    },
    "required": ["n"],
    "additionalProperties": False,
    "$defs": {
        "item": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}
    },
}


@pytest.mark.spec("AG-108")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "missing argument `n`"),
        ({"n": "1"}, "argument `n`: expected integer, got string"),
        ({"n": True}, "argument `n`: expected integer, got boolean"),
        ({"n": 0}, "argument `n`: must be at least 1"),
        ({"n": 10}, "argument `n`: must be at most 9"),
        ({"n": 1, "s": "long"}, "argument `s`: must be at most 3 characters"),
        ({"n": 1, "mode": "c"}, "argument `mode`: must be one of ['a', 'b']"),
        ({"n": 1, "list": [{"x": True}, {}]}, "missing argument `list[1].x`"),
        (
            {"n": 1, "either": []},
            "argument `either`: expected string, got array; or "
            "argument `either`: expected number, got array",
        ),
        ({"n": 1, "fixed": 2}, "argument `fixed`: must be 1"),
        (
            {"n": 1, "zz": 1},
            "unknown argument `zz`; the arguments are: `n`, `s`, `mode`, `list`, `either`, `fixed`",
        ),
    ],
)
def test_a_foreign_schema_names_the_argument_and_the_reason(
    arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(ToolArgumentsError) as wrong:
        check_schema(SCHEMA)(arguments)
    assert str(wrong.value) == reason


@pytest.mark.spec("AG-108")
def test_what_fits_a_foreign_schema_passes() -> None:
    fine = {"n": 2.0, "s": None, "mode": "a", "list": [{"x": False}], "either": 1, "fixed": 1}
    assert check_schema(SCHEMA)(fine) == fine


async def test_the_text_of_a_message_is_that_of_its_text_parts() -> None:
    message = Message.user((TextPart("a"), ImagePart(url="x"), FilePart(url="y"), TextPart("b")))
    assert message.text == "ab"


async def test_a_result_that_has_no_json_is_shown_as_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "an odd thing"

    async def odd() -> object:
        return Odd()

    result = await Agent(ScriptedModel([call_tool("odd"), "ok"]), [odd]).invoke("go")
    assert result.messages[2].text == "an odd thing"
