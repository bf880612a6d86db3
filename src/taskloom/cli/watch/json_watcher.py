"""A run for programs: one JSON object a line, the result last. docs/guide names the fields."""

import sys

from taskloom.agent import Result
from taskloom.app.session_host import Host
from taskloom.cli.output import encode
from taskloom.cli.watch.banners import resume
from taskloom.cli.watch.json_events import said, session, session_event
from taskloom.cli.watch.shutdown import Work
from taskloom.cli.watch.watch_session import watching
from taskloom.ids import RunId
from taskloom.orchestrator import RunOutput, SessionEvent
from taskloom.session import Asker


class JsonWatcher:
    """Tells everything. Nobody can be asked: what is not allowed beforehand is refused."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """Nobody."""
        return None

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and tell it."""
        sys.stdout.flush()
        async with watching(host, sys.stdout.fileno()) as watch:
            try:
                result = await watch.tell(work, _lines([session(host)]), _telling)
            finally:
                self.was_quit = watch.leaving.is_wanted
            await watch.output.write(_lines([self._result(result, host)]))
            return result

    def _result(self, result: Result, host: Host) -> dict[str, object]:
        error = result.error
        return {
            "type": "result",
            "session_id": host.session.session_id,
            "stop_reason": result.stop_reason,
            "was_quit": self.was_quit,
            "text": result.text,
            "error": None if error is None else f"{type(error).__name__}: {error}",
            "iterations": result.iterations,
            "usage": {
                "input_tokens": result.usage.input_tokens,
                "output_tokens": result.usage.output_tokens,
                "cache_read_tokens": result.usage.cache_read_tokens,
            },
            "resume": resume(host),
        }


def _telling(happened: list[SessionEvent], spoken: list[tuple[RunId, RunOutput]]) -> str:
    return _lines([*map(session_event, happened), *(said(*each) for each in spoken)])


def _lines(objects: list[dict[str, object]]) -> str:
    return "".join(f"{encode(each).decode()}\n" for each in objects)
