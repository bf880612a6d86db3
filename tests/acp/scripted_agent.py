"""A program: the door on standard streams, with a model that follows what the prompt says.

    python -m tests.acp.scripted_agent INDEX_DIR

A prompt is answered by its own words, so that one program serves every test:

    say TEXT                 answer with TEXT
    think TEXT               think TEXT, then answer "thought"
    call NAME JSON           call a tool, then say "called"
    calls NAME JSON; …       call several, one after the other
    wait                     answer after a minute
    fail TEXT                fail
    print TEXT               print TEXT on standard output, as a careless library would
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from taskloom.acp import AcpOptions, serve_stdio
from taskloom.agent import Message, ModelError, Say, ScriptedModel, call_tool
from taskloom.agent.scripted import Reply


def answer(messages: Sequence[Message]) -> Reply:
    """Follow the last prompt."""
    asked = max(place for place, message in enumerate(messages) if message.role == "user")
    done = sum(message.role == "tool" for message in messages[asked:])
    verb, _, rest = messages[asked].text.partition(" ")
    if verb in ("call", "calls"):
        calls = rest.split("; ")
        if done == len(calls):
            return "called"
        name, _, arguments = calls[done].partition(" ")
        return call_tool(name, **json.loads(arguments or "{}"))
    match verb:
        case "think":
            return Say(thinking=rest, text="thought")
        case "wait":
            return Say(text="at last", delay_s=60)
        case "fail":
            return ModelError(rest, retryable=False)
        case "print":
            print(rest, flush=True)  # noqa: T201 - it is what must not reach the wire
            os.write(1, rest.encode())
            return "printed"
        case _:
            return rest or "hello"


def main() -> None:
    """Serve."""
    model = ScriptedModel(answer)
    setup = AcpOptions(make_model=lambda _: model, index_dir=Path(sys.argv[1]), version="0.1.0")
    anyio.run(serve_stdio, setup)


if __name__ == "__main__":
    main()
