"""The logs of the crash tests are what they are said to be."""

from collections import Counter

import msgspec

from taskloom.board import EventType
from tests.crash.known_logs import SCENARIO_NAMES, scenario


def test_the_scenarios_hold_every_event_type_and_decisions_of_1_3_and_64_events() -> None:
    kinds: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    for name in SCENARIO_NAMES:
        one = scenario(name)
        lines = one.data.splitlines()
        assert one.decisions[-1].seq == len(lines) >= 30
        kinds.update(msgspec.json.decode(line)["event_type"] for line in lines)
        sizes.update(one.sizes)
    assert kinds.keys() == {kind.value for kind in EventType}
    assert sizes.keys() >= {1, 3, 64}
    assert any(
        len(scenario(name).writes) < len(scenario(name).decisions) for name in SCENARIO_NAMES
    )
