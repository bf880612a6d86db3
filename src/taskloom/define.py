"""`@define`: a data class with slots that costs a tenth of `@dataclass` to define.

`@dataclass` writes the source of up to six methods for each class and compiles it when the module
is imported: for the sixty small classes of the board that took a third of the time to import
Taskloom. `@define` shares the methods that need not be fast and compiles `__init__` alone, when
the class is first instantiated. What it makes is a data class in every other respect: `fields`,
`replace` and `asdict` of `dataclasses` work with it, and so does msgspec.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from inspect import get_annotations
from operator import attrgetter
from types import FunctionType
from typing import (
    Any,
    ClassVar,
    Final,
    NoReturn,
    Protocol,
    TypeVar,
    cast,
    dataclass_transform,
    get_origin,
)

_T = TypeVar("_T")

_FIELD: Final = vars(dataclasses)["_FIELD"]
"""What `fields` and msgspec know a field by; `dataclasses` keeps it to itself."""


@dataclass_transform(field_specifiers=(field,))
def define(
    *, frozen: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[_T]], type[_T]]:
    """Make a data class with slots out of a class; the options are those of `@dataclass`.

    Base classes bring no fields, and there is no `init=False`: nothing here needs them.
    """

    def make(cls: type[_T]) -> type[_T]:
        inside = dict(vars(cls))
        found = _fields(cls)
        for name in (*found, "__dict__", "__weakref__"):
            inside.pop(name, None)
        inside["__slots__"] = tuple(found)
        inside["__dataclass_fields__"] = found
        inside["__match_args__"] = () if kw_only else tuple(found)
        inside["__init__"] = _LazyInit(frozen=frozen, kw_only=kw_only)
        inside["__values__"] = attrgetter(*found)
        shared: dict[str, object] = {"__repr__": _repr, "__getstate__": _getstate}
        shared["__setstate__"] = _setstate
        if eq:
            shared |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        if frozen:
            shared |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        # A class cannot get slots later, so this makes it again, as `@dataclass` does.
        return cast("type[_T]", type(cls.__name__, cls.__bases__, shared | inside))

    return make


def _fields(cls: type) -> dict[str, "Field[Any]"]:
    found: dict[str, Field[Any]] = {}
    for name, kind in get_annotations(cls).items():
        origin: object = get_origin(kind)
        if origin is ClassVar:
            continue
        default = vars(cls).get(name, MISSING)
        given = isinstance(default, Field)
        one = cast("Field[Any]", default if given else field(default=default))
        one.name, one.type = name, kind
        object.__setattr__(one, "_field_type", _FIELD)
        found[name] = one
    return found


class _LazyInit:
    """The `__init__` of a class until it is first used: then it puts a compiled one in its place.

    A descriptor, so that `inspect.signature` and `help`, too, find the compiled one.
    """

    def __init__(self, *, frozen: bool, kw_only: bool) -> None:
        self._frozen = frozen
        self._kw_only = kw_only
        self._owner: type = type(self)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, instance: object, owner: type) -> object:
        init = self._compiled()
        type.__setattr__(self._owner, "__init__", init)
        return init if instance is None else init.__get__(instance, owner)

    def _compiled(self) -> FunctionType:
        names: dict[str, object] = {"MISSING": MISSING}
        parameters = ["self", "*"] if self._kw_only else ["self"]
        body: list[str] = []
        found: dict[str, Field[Any]] = vars(self._owner)["__dataclass_fields__"]
        for name, one in found.items():
            value = name
            if one.default_factory is not MISSING:
                names[f"new_{name}"] = one.default_factory
                parameters.append(f"{name}=MISSING")
                value = f"new_{name}() if {name} is MISSING else {name}"
            elif one.default is not MISSING:
                names[f"default_{name}"] = one.default
                parameters.append(f"{name}=default_{name}")
            else:
                parameters.append(name)
            if self._frozen:
                # The slot itself knows nothing of `__setattr__`, and is quicker to call.
                names[f"set_{name}"] = vars(self._owner)[name].__set__
                body.append(f"set_{name}(self, {value})")
            else:
                body.append(f"self.{name} = {value}")
        if hasattr(self._owner, "__post_init__"):
            body.append("self.__post_init__()")
        source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body)
        exec(source, names)  # noqa: S102  # the names of fields, from our own classes
        init = names["__init__"]
        assert isinstance(init, FunctionType)
        init.__qualname__ = f"{self._owner.__qualname__}.__init__"
        init.__annotations__ = {name: one.type for name, one in found.items()} | {"return": None}
        return init


# What the classes share.


class _Defined(Protocol):
    """An instance of any of them."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def __values__(self) -> Callable[[object], object]: ...


def _repr(self: _Defined) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: _Defined, other: object) -> object:
    if type(other) is not type(self):
        return NotImplemented
    return self.__values__(self) == self.__values__(other)


def _hash(self: _Defined) -> int:
    return hash(self.__values__(self))


def _getstate(self: _Defined) -> list[object]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: _Defined, state: list[object]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
