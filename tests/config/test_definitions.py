"""Agent definitions: Markdown with front matter, read strictly."""

import os
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs

from taskloom.agent import Language
from taskloom.config import (
    DEFAULT_ORCHESTRATOR,
    DEFAULT_WORKER,
    AgentsConfig,
    Config,
    RunConfig,
    built_in_definitions,
    find_definition,
    load_definitions,
    read_definition,
)
from taskloom.config.definitions import FILE_BYTES_MAX
from taskloom.errors import ConfigError
from taskloom.orchestrator import AgentDefinition

HEAD = "---\nid: coder\nname: Coder\ndescription: Writes code.\n"


def write(folder: Path, text: str | bytes, name: str = "coder.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_definition_is_read_whole(tmp_path: Path) -> None:
    text = (
        "---\n# a comment\nid: coder\nname: 'The \"coder\"'\n"
        'description: "Writes: code, and \\"tests\\""  \n'
        "model: openai:gpt-x # not the big one\n\n"
        'tools: [read_file, "a, b", write_file]\ntags: fast, cheap\n---\n\n'
        "Write code.\n\n---\n\nAnd tests.\n"
    )
    path = write(tmp_path, text)
    assert read_definition(path) == AgentDefinition(
        id="coder",
        name='The "coder"',
        description='Writes: code, and "tests"',
        body="Write code.\n\n---\n\nAnd tests.",
        model="openai:gpt-x",
        tools=("read_file", "a, b", "write_file"),
        tags=("fast", "cheap"),
        source=str(path),
    )


def test_omitted_keys_have_defaults(tmp_path: Path) -> None:
    plain = read_definition(write(tmp_path, HEAD + "---"))
    assert (plain.tools, plain.tags, plain.model, plain.executor) == (None, (), "", None)
    none = read_definition(write(tmp_path, HEAD + "tools: []\nexecutor: tests\n---\n"))
    assert (none.tools, none.executor) == ((), {"name": "tests"})
    windows = (HEAD + "---\nBody").replace("\n", "\r\n").encode("utf-8-sig")
    assert read_definition(write(tmp_path, windows)) == structs.replace(plain, body="Body")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["line 1", "starts with a line `---`"]),
        ("# Title", ["line 1", "starts with a line `---`"]),
        ("---\nid: x\n", ["line 1", "no end"]),
        ("---\nid: x\nname: X\n---\n", ["`description` is missing"]),
        ("---\nid:\nname: X\ndescription: d\n---\n", ["line 2", "`id` is missing"]),
        ("---\nid: A b\nname: X\ndescription: d\n---\n", ["line 2", "a-z, 0-9"]),
        (HEAD + "tool: [x]\n---\n", ["line 5", "unknown key `tool`", "Did you mean tools"]),
        (HEAD + "tags:\n- a\n---\n", ["line 6", "on one line"]),
        (HEAD + "model:\n  name: x\n---\n", ["line 6", "indented"]),
        (HEAD + "model: |\n---\n", ["line 5", "not supported"]),
        (HEAD + "model: {a: b}\n---\n", ["line 5", "not supported"]),
        (HEAD + "model: [a]\n---\n", ["line 5", "must be a text"]),
        (HEAD + "tags: [a\n---\n", ["line 5", "end with `]`"]),
        (HEAD + 'tags: ["a" b]\n---\n', ["line 5", "comma"]),
        (HEAD + 'model: "a\n---\n', ["line 5", "quotes"]),
        (HEAD + "just words\n---\n", ["line 5", "key: value"]),
        (HEAD + "id: other\n---\n", ["line 5", "twice"]),
        (b"\xff", ["not UTF-8"]),
        (b"---" + b"x" * FILE_BYTES_MAX, ["longer than"]),
    ],
)
def test_invalid_front_matter_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, parts: list[str]
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        read_definition(path)
    for part in (str(path), *parts):
        assert part in raised.value.message


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_built_in_definitions_exist_in_each_language(language: str) -> None:
    chosen = cast("Language", language)
    worker, orchestrator = built_in_definitions(chosen)
    assert (worker.id, orchestrator.id) == (DEFAULT_WORKER, DEFAULT_ORCHESTRATOR)
    for tool in ("task_query_steps", "task_claim_step", "task_update_step", "blocked", "failed"):
        assert tool in worker.body
    for tool in ("task_create", "dispatch_worker", "wait_workers", "cancel_worker", "task_update"):
        assert tool in orchestrator.body
    assert worker.body.isascii() is (language == "en")
    config = Config(run=RunConfig(language=chosen))
    assert load_definitions(Path("nowhere"), config)[DEFAULT_WORKER] == worker


def test_the_definitions_of_the_project_are_found(tmp_path: Path) -> None:
    write(tmp_path, HEAD + "model: script:replies.json\n---\nx", "agents/coder.md")
    write(tmp_path, HEAD.replace("coder", DEFAULT_WORKER) + "---\nmine", "agents/worker.md")
    write(tmp_path, "# About these", "agents/README.md")
    write(tmp_path, "no definition", "agents/notes.txt")
    found = load_definitions(tmp_path, Config())
    assert sorted(found) == ["coder", DEFAULT_ORCHESTRATOR, DEFAULT_WORKER]
    assert found[DEFAULT_WORKER].body == "mine"
    assert found["coder"].model == f"script:{tmp_path / 'replies.json'}"
    with pytest.raises(ConfigError, match="Did you mean coder"):
        find_definition(found, "coders", "pools[0]")


def test_a_pipe_is_refused_and_not_opened(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    os.mkfifo(tmp_path / "agents" / "pipe.md")
    with pytest.raises(ConfigError, match="is not a file"):
        load_definitions(tmp_path, Config())


def test_two_definitions_with_the_same_id_are_refused(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        write(tmp_path, HEAD + "---\n", f"agents/{name}")
    with pytest.raises(ConfigError, match=r"b\.md.*a\.md"):
        load_definitions(tmp_path, Config())


def test_a_configured_directory_must_exist(tmp_path: Path) -> None:
    config = Config(agents=AgentsConfig(definitions_dir="builders"))
    with pytest.raises(ConfigError, match="definitions_dir"):
        load_definitions(tmp_path, config)
    write(tmp_path, HEAD + "---\n", "builders/coder.md")
    assert "coder" in load_definitions(tmp_path, config)
