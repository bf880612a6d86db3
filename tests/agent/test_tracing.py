"""Spans: the right names with a trace provider, and none without."""

import subprocess
import sys

PROGRAM = """
import sys, anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from taskloom.agent import Agent, ScriptedModel, Say, ToolCall, Usage

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

async def add(a: int, b: int) -> int:
    return a + b

call = ToolCall("c1", "add", '{"a":1,"b":2}')
model = ScriptedModel([Say(calls=(call,), usage=Usage(10, 2)), "secret words"])
result = Agent(model, [add], name="adder").invoke_sync("go")
spans = exporter.get_finished_spans()
root = spans[-1]
for span in spans:
    inside = span.parent is not None and span.parent.span_id == root.context.span_id
    print("child" if inside else "root", span.name, sorted(span.attributes.items()))
assert "secret" not in str([dict(s.attributes) for s in spans])
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_a_model_call_and_a_tool_call_are_spans() -> None:
    lines = run(PROGRAM).splitlines()
    assert [line.split(" [")[0] for line in lines] == [
        "child chat scripted",
        "child execute_tool add",
        "child chat scripted",
        "root invoke_agent adder",
    ]
    assert "('gen_ai.usage.input_tokens', 10)" in lines[0]
    assert "('gen_ai.request.model', 'scripted')" in lines[0]
    assert "('gen_ai.tool.call.id', 'c1')" in lines[1]
    assert "('gen_ai.operation.name', 'invoke_agent')" in lines[3]


def test_without_a_trace_provider_no_optional_library_is_imported() -> None:
    loaded = run(
        "import sys; from taskloom.agent import *; "
        "Agent(ScriptedModel(['hi'])).invoke_sync('go'); print(sorted(sys.modules))"
    )
    for name in ("opentelemetry", "pydantic", "openai", "anthropic", "httpx2"):
        assert f"'{name}'" not in loaded
