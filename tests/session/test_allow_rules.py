"""Rules for commands: each allows what its words say and nothing else."""

import pytest

from taskloom.errors import ConfigError
from taskloom.session.allow_rules import AllowRules, read_rule

EXAMPLES = AllowRules(
    commands=tuple(
        read_rule(words, "run.allow")
        for words in (["make", "test"], ["git", "diff"], "git log --oneline", ["ls", "*"])
    ),
    writes=("src/**", "*.md"),
)


@pytest.mark.spec("SE-106")
@pytest.mark.parametrize("command", ["make test", "git diff", "git log --oneline", "ls src"])
def test_a_rule_allows_its_command(command: str) -> None:
    assert EXAMPLES.allows_command(tuple(command.split(" ")), ".")


TRICKS = [
    "git diff --output=/outside/file",
    "git diff --no-index /dev/null .env",
    "git -c alias.x=!id x",
    "git --exec-path=/tmp diff",
    "git diff --ext-diff",
    "make test --eval=$(shell id)",
    "make test SHELL=/tmp/x",
    "make",
    "make test install",
    "make -f other test",
    "make TEST",
    "test",
    "sh -c make test",
    "env make test",
    "timeout 5 make test",
    "/tmp/make test",
    "./make test",
    "ls -la",
    "ls --color=always",
    "ls src docs",
    "ls",
    "git log --oneline --output=x",
]


@pytest.mark.spec("SE-104", "SE-106")
@pytest.mark.parametrize("command", TRICKS)
def test_no_trick_with_arguments_gets_past_a_rule(command: str) -> None:
    assert not EXAMPLES.allows_command(tuple(command.split(" ")), ".")


@pytest.mark.spec("SE-106")
def test_the_directory_is_part_of_a_rule() -> None:
    assert not EXAMPLES.allows_command(("make", "test"), "vendor")
    below = AllowRules(
        (read_rule({"command": ["make", "test"], "directory": "web/"}, "run.allow"),)
    )
    assert below.allows_command(("make", "test"), "web")
    assert not below.allows_command(("make", "test"), ".")


@pytest.mark.spec("SE-106")
def test_two_stars_allow_any_further_arguments() -> None:
    rules = AllowRules((read_rule(["pytest", "**"], "run.allow"),))
    assert rules.allows_command(("pytest",), ".")
    assert rules.allows_command(("pytest", "-x", "tests"), ".")
    assert not rules.allows_command(("pytest-watch",), ".")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ([], "list of words"),
        ("", "list of words"),
        (["git", 3], "list of words"),
        ("git 'diff", "open quote"),
        (["**"], "name the program"),
        (["*", "test"], "name the program"),
        (["git", "**", "diff"], "at the end"),
        ({"command": ["make"], "directory": "../up"}, "inside the project"),
        ({"command": ["make"], "dir": "web"}, "no 'dir'"),
        (7, "list of words"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(written: object, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_rule(written, "run.allow.run[0]")


def test_writes_are_allowed_by_pattern() -> None:
    assert EXAMPLES.allows_write("src/a/b.py")
    assert EXAMPLES.allows_write("notes.md")
    assert not EXAMPLES.allows_write("docs/notes.md")
    assert not EXAMPLES.allows_write("setup.py")
