"""Running async code where there is no event loop, on one loop per thread.

One and the same loop for every call: connections that a model keeps open belong to the loop
they were made on, and would be dead on the next.
"""

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from taskloom.agent.errors import AgentError

T = TypeVar("T")

_LOCAL: Final = threading.local()


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result.

    Raises:
        AgentError: an event loop is running here already.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        coroutine.close()
        raise AgentError("An event loop is running here: use `await agent.invoke(...)` instead.")
    runner: asyncio.Runner | None = getattr(_LOCAL, "runner", None)
    if runner is None:
        runner = _LOCAL.runner = asyncio.Runner()
        atexit.register(runner.close)
    return runner.run(coroutine)
