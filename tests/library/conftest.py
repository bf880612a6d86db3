"""The board of a test, once as the asynchronous twin and once as the blocking one."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from taskloom.runtime import Board
from tests.library.boards import LONG_S, TWINS, open_twin


@pytest.fixture(params=TWINS)
def twin(request: pytest.FixtureRequest) -> str:
    """Which of the two boards the test is about."""
    return str(request.param)


@pytest.fixture
async def board(twin: str, tmp_path: Path) -> AsyncGenerator[Board]:
    """An open board with no Task."""
    with anyio.fail_after(LONG_S):
        async with open_twin(twin, tmp_path) as opened:
            yield opened
