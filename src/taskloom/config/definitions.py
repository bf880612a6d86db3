"""Agent definitions: Markdown files of the project, and two built-in ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from taskloom.agent import Language
from taskloom.config.config import (
    DEFAULT_ORCHESTRATOR,
    DEFAULT_WORKER,
    FILE_NAME,
    AgentsConfig,
    Config,
)
from taskloom.config.front_matter import (
    FrontMatter,
    FrontMatterError,
    Value,
    split_front_matter,
    split_list,
)
from taskloom.config.hints import suggest
from taskloom.config.load import read_text, resolve_script
from taskloom.errors import ConfigError
from taskloom.ids import ID_CHARS_MAX, is_safe_id
from taskloom.orchestrator import AgentDefinition, built_in_agent

FILE_BYTES_MAX: Final = 262_144
"""A longer file is not a prompt."""

_REQUIRED: Final = ("id", "name", "description")
_TEXTS: Final = (*_REQUIRED, "model", "executor")
_LISTS: Final = ("tools", "tags")
_IGNORED: Final = "README.md"
"""The directory may have a page for people."""


def load_definitions(project: Path, config: Config) -> dict[str, AgentDefinition]:
    """Return all definitions by id; one of the project overrides a built-in one.

    Raises:
        ConfigError: a file is not valid, or two have the same id.
    """
    definitions = {each.id: each for each in built_in_definitions(config.run.language)}
    own: dict[str, str] = {}
    for path in _files(project, config.agents):
        definition = read_definition(path, project)
        if definition.id in own:
            raise ConfigError(
                f"{path}: {own[definition.id]} has the same id {definition.id!r}; "
                "change one of them.",
                path=str(path),
            )
        own[definition.id] = str(path)
        definitions[definition.id] = definition
    return definitions


def find_definition(
    definitions: Mapping[str, AgentDefinition], name: str, where: str
) -> AgentDefinition:
    """Return the definition of this id.

    Raises:
        ConfigError: there is none; the message suggests similar names.
    """
    if name not in definitions:
        raise ConfigError(
            f"{FILE_NAME}: {where} names an unknown definition {name!r}. "
            f"{suggest(name, definitions)}"
        )
    return definitions[name]


def built_in_definitions(language: Language) -> tuple[AgentDefinition, ...]:
    """Return the definitions that come with Taskloom."""
    return (
        built_in_agent("worker", language, DEFAULT_WORKER),
        built_in_agent("orchestrator", language, DEFAULT_ORCHESTRATOR),
    )


def read_definition(path: Path, project: Path | None = None) -> AgentDefinition:
    """Return the definition in a file.

    Raises:
        ConfigError: it is not valid; the message names the line.
    """
    text = read_text(path, FILE_BYTES_MAX)
    if text is None:
        raise ConfigError(f"There is no definition file {path}.", path=str(path))
    return parse_definition(text, str(path), project)


def parse_definition(text: str, source: str, project: Path | None = None) -> AgentDefinition:
    """Return the definition in a text; `source` names it in messages.

    Raises:
        ConfigError: it is not valid.
    """
    try:
        head, body = split_front_matter(text)
        _check(head)
        lists = {key: _list(head, key) for key in _LISTS}
    except FrontMatterError as error:
        raise ConfigError(f"{source}, {error.message}.", path=source, line=error.line) from error
    texts = {key: cast("str", head.values.get(key, "")) for key in _TEXTS}
    model = resolve_script(project, texts["model"]) if project else texts["model"]
    return AgentDefinition(
        id=texts["id"],
        name=texts["name"],
        description=texts["description"],
        body=body,
        model=model,
        tools=lists["tools"],
        tags=lists["tags"] or (),
        executor={"name": texts["executor"]} if texts["executor"] else None,
        source=source,
    )


def _check(head: FrontMatter) -> None:
    known = (*_TEXTS, *_LISTS)
    for key, value in head.values.items():
        if key not in known:
            raise FrontMatterError(head.lines[key], f"unknown key `{key}`. {suggest(key, known)}")
        if key in _TEXTS and not isinstance(value, str):
            raise FrontMatterError(head.lines[key], f"`{key}` must be a text, not a list")
    for key in _REQUIRED:
        if not head.values.get(key):
            raise FrontMatterError(head.lines.get(key, 1), f"`{key}` is missing; write `{key}: …`")
    name = cast("str", head.values["id"])
    if not is_safe_id(name):
        raise FrontMatterError(
            head.lines["id"],
            f"`id` must be 1 to {ID_CHARS_MAX} characters of a-z, 0-9, - and _; got {name[:100]!r}",
        )


def _list(head: FrontMatter, key: str) -> tuple[str, ...] | None:
    """Return a list, which may also be written as `a, b`; None if the key is missing."""
    value: Value | None = head.values.get(key)
    if isinstance(value, str):
        return split_list(head.lines[key], value)
    return value


def _files(project: Path, agents: AgentsConfig) -> list[Path]:
    folder = project / agents.definitions_dir
    try:
        return sorted(
            path for path in folder.iterdir() if path.suffix == ".md" and path.name != _IGNORED
        )
    except FileNotFoundError:
        if agents.definitions_dir == AgentsConfig().definitions_dir:
            return []
        raise ConfigError(
            f"{FILE_NAME}: `agents.definitions_dir` is {agents.definitions_dir!r}, but there is no "
            f"directory {folder}.",
            path=str(folder),
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be read: {error.strerror}.", path=str(folder)
        ) from error
