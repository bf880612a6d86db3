"""Checks messages against the protocol's JSON schemas: every one that a test puts on a wire."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parent / "schema"


class Schema:
    """One version of the protocol: which definition belongs to which method."""

    def __init__(self, path: Path) -> None:
        self._definitions: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["$defs"]
        self._validators: dict[str, Any] = {}
        self.requests: dict[str, str] = {}
        self.responses: dict[str, str] = {}
        for name, definition in self._definitions.items():
            method = definition.get("x-method")
            if method:
                by_method = self.responses if name.endswith("Response") else self.requests
                by_method[method] = name

    def errors(self, name: str, value: object) -> list[str]:
        """What is wrong with a value of this definition, one sentence each."""
        if name not in self._validators:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self._definitions}
            self._validators[name] = Draft202012Validator(schema)
        return [
            f"{name}: {error.message[:300]}" for error in self._validators[name].iter_errors(value)
        ]


@cache
def stable() -> Schema:
    """The protocol as every client knows it."""
    return Schema(SCHEMAS / "v1.json")


@cache
def unstable() -> Schema:
    """The protocol with what is still being tried out, plan operations among it."""
    return Schema(SCHEMAS / "v1.unstable.json")


class WireCheck:
    """Follows one connection; `from_agent` and `from_client` take messages in their order."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.wrong: list[str] = []
        self.seen = 0
        self._asked: dict[tuple[str, object], str] = {}

    def from_agent(self, message: dict[str, Any]) -> None:
        self._check("agent", "client", message)

    def from_client(self, message: dict[str, Any]) -> None:
        """Note what the client asked; what it says is its own affair."""
        if "method" in message and "id" in message:
            self._asked["client", json.dumps(message["id"])] = message["method"]

    def _check(self, side: str, other: str, message: dict[str, Any]) -> None:
        self.seen += 1
        if message.get("jsonrpc") != "2.0":
            self.wrong.append(f"no jsonrpc 2.0: {message}")
        if set(message) - {"jsonrpc", "id", "method", "params", "result", "error"}:
            self.wrong.append(f"root fields of its own: {message}")
        if "method" in message:
            if "id" in message:
                self._asked[side, json.dumps(message["id"])] = message["method"]
            name = self.schema.requests.get(message["method"])
            if name is None:
                self.wrong.append(f"unknown method: {message['method']}")
            else:
                self.wrong += self.schema.errors(name, message.get("params"))
        elif "error" in message:
            if "result" in message:
                self.wrong.append(f"both result and error: {message}")
            self.wrong += self.schema.errors("Error", message["error"])
        else:
            method = self._asked.get((other, json.dumps(message.get("id"))))
            name = self.schema.responses.get(method or "")
            if name is not None:
                self.wrong += self.schema.errors(name, message["result"])


def session_update_errors(updates: Iterable[dict[str, Any]], schema: Schema) -> list[str]:
    """What is wrong with updates of a session."""
    return [
        error
        for update in updates
        for error in schema.errors("SessionNotification", {"sessionId": "s", "update": update})
    ]
