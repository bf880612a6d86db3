"""A class of `@define` is a data class with slots in everything but the way it is made."""

import copy
import dataclasses
import inspect
import pickle
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
import pytest

from taskloom.define import define


@define(frozen=True, kw_only=True)
class Point:
    """A point."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")

    @property
    def total(self) -> int:
        return self.x + self.y


@define()
class Note:
    """A note."""

    at: datetime
    text: str = ""
    tags: list[str] = dataclasses.field(default_factory=list[str])


@define(eq=False)
class Holder:
    """Equal to itself alone."""

    value: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlainPoint:
    """The same as `Point`, made by the standard library."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 0
    names: tuple[str, ...] = ()


ANY_POINT: Any = Point
"""For calls that a type checker would refuse."""
AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_is_made_with_its_parameters_and_defaults_and_checked_afterwards() -> None:
    assert (Point(x=1).x, Point(x=1, y=2).total, Point.kind) == (1, 3, "point")
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'x'"):
        ANY_POINT()
    with pytest.raises(TypeError):
        ANY_POINT(1)
    with pytest.raises(ValueError, match="negative"):
        Point(x=-1)
    assert Note(AT, "a").text == "a"


def test_it_has_the_signature_and_the_fields_of_the_standard_one() -> None:
    assert inspect.signature(Point) == inspect.signature(PlainPoint)
    described = [
        [(each.name, each.type, each.default) for each in dataclasses.fields(kind)]
        for kind in (Point, PlainPoint)
    ]
    assert described[0] == described[1]
    assert (Point.__match_args__, Note.__match_args__) == ((), ("at", "text", "tags"))
    assert (Point.__name__, Point.__doc__, Point.__module__) == ("Point", "A point.", __name__)


def test_each_instance_gets_a_default_of_its_own_where_a_factory_makes_it() -> None:
    one, other = Note(AT), Note(AT)
    one.tags.append("x")
    assert other.tags == []


def test_it_has_slots_and_nothing_else() -> None:
    note: Any = Note(AT)
    assert not hasattr(note, "__dict__")
    with pytest.raises(AttributeError):
        note.another = 1


def test_a_frozen_one_cannot_be_changed() -> None:
    point: Any = Point(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point == Point(x=1)


def test_equality_compares_classes_and_values() -> None:
    assert Point(x=1, y=2) == Point(x=1, y=2) != Point(x=1, y=3)
    assert ANY_POINT(x=1) != PlainPoint(x=1)
    assert {Point(x=1), Point(x=1)} == {Point(x=1)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(Note(AT))
    assert Holder(1) != Holder(1)
    assert len({Holder(1), Holder(1)}) == 2


def test_it_shows_and_copies_itself_like_the_standard_one() -> None:
    point = Point(x=1, names=("a",))
    assert repr(point) == "Point(x=1, y=0, names=('a',))"
    assert dataclasses.replace(point, y=5) == Point(x=1, y=5, names=("a",))
    assert dataclasses.asdict(point) == {"x": 1, "y": 0, "names": ("a",)}
    for again in (
        copy.copy(point),
        copy.deepcopy(point),
        pickle.loads(pickle.dumps(point)),
    ):
        assert again == point
    note = Note(AT, "a", ["b"])
    assert copy.deepcopy(note) == note


def test_msgspec_reads_and_writes_it() -> None:
    text = msgspec.json.encode(Note(AT, "a"))
    assert text == b'{"at":"2026-01-01T00:00:00Z","text":"a","tags":[]}'
    assert msgspec.json.decode(text, type=Note) == Note(AT, "a")
    assert msgspec.json.decode(b'{"x":3}', type=Point) == Point(x=3)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"x":-3}', type=Point)
