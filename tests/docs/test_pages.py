"""Every block of the README and the docs that a reader would run does run."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conventions.tree import ROOT, files
from tests.docs.blocks import CONSOLE, Story, blocks, stories
from tests.docs.commands import commands, fits

PAGES = [str(p) for p in files() if p.suffix == ".md" and p.parts[0] in {p.name, "docs"}]
"""The pages at the top of the tree, and those of docs."""

MAKE = re.compile(r"(?:^|`)(?:\$ )?make ((?:[A-Z_]+=\S+ )*)(?P<target>[a-z][a-z-]*)", re.MULTILINE)
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def run(story: Story, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "tests" / "docs" / "play.py")],
        input=json.dumps(story.as_data()),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def unknown_targets(page: str, text: str, makefile: str) -> Iterator[str]:
    """Each `make …` in code that the Makefile does not have."""
    code = [block.text for block in blocks(text) if block.language in CONSOLE]
    code += re.findall(r"`[^`\n]+`", text)
    for found in MAKE.finditer("\n".join(code)):
        if found["target"] not in TARGET.findall(makefile):
            yield f"{page}: make {found['target']} is not in the Makefile"


def unprompted(page: str, text: str) -> Iterator[str]:
    """Commands that escape being run because their `$ ` is missing."""
    for block in blocks(text):
        if block.language in CONSOLE and block.text.startswith("taskloom "):
            yield f"{page}:{block.line}: write `$ taskloom …`, so that it is run"


@pytest.mark.spec("LB-401")
@pytest.mark.parametrize("story", [s for page in PAGES for s in stories(page, read(page))], ids=str)
def test_what_the_pages_show_works(story: Story, tmp_path: Path) -> None:
    is_program = story.blocks[0].language == "python"
    for _ in range(2 if is_program else 1):  # A program works again where it has run before.
        result = run(story, tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.spec("LB-402")
def test_the_board_program_of_the_readme_is_short() -> None:
    programs = [block.text for block in blocks(read("README.md")) if block.language == "python"]
    (program,) = [text for text in programs if "open_board(" in text and "task.claims(" in text]
    assert len(program.splitlines()) <= 20


def test_every_make_command_on_the_pages_is_in_the_makefile() -> None:
    makefile = read("Makefile")
    assert [c for page in PAGES for c in unknown_targets(page, read(page), makefile)] == []


def test_every_taskloom_command_on_the_pages_is_run() -> None:
    assert [c for page in PAGES for c in unprompted(page, read(page))] == []


GOOD = """
```python
x = 1
open("left", "w").close()
```

Words between.

<!-- continued -->
```python
import os
assert x == 1 and os.path.exists("left")
```

```python
assert "x" not in globals()
```

````markdown
```python
this is shown, not run
```
````

<!-- not run: it waits for a client -->
```console
$ taskloom acp
```
"""


def test_a_story_shares_names_and_directory_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    first, second = stories("a.md", GOOD)
    assert [block.line for block in first.blocks] == [3, 11]
    assert run(first, tmp_path).returncode == 0
    assert run(second, tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("\n```python\nassert 1 == 2\n```\n", 'File "a.md", line 3'),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", "UserWarning: old"),
        ("```console\n$ taskloom --no-such-option\n```\n", "not 0"),
    ],
)
def test_a_block_that_does_not_work_is_reported(tmp_path: Path, page: str, complaint: str) -> None:
    (story,) = stories("a.md", page)
    result = run(story, tmp_path)
    assert result.returncode == 1
    assert complaint in result.stderr


def test_commands_are_read_with_their_output_and_exit_code() -> None:
    text = "$ taskloom a \\\n    --b\none\ntwo\n$ ls\n$ taskloom c  # exits 3\n"
    first, second, third = commands(text, first_line=10)
    assert (first.line, first.number, first.output) == ("taskloom a --b", 10, ["one", "two"])
    assert (first.program, first.exit_code, second.program) == ("taskloom", 0, "ls")
    assert (third.program, third.exit_code, third.output) == ("taskloom", 3, [])


@pytest.mark.parametrize(
    ("said", "printed", "fit"),
    [
        ([], "anything\n", True),
        (["one", "two"], "one\ntwo  \n", True),
        (["one"], "one\ntwo\n", False),
        (["one", "two"], "one\n", False),
        (["one", "..."], "one\ntwo\nthree\n", True),
        (["...", "three"], "one\ntwo\nthree\n", True),
        (["seq ... of 9"], "seq 4 of 9\n", True),
        (["seq ... of 9"], "seq 4\n of 9\n", False),
        (["a.c"], "abc\n", False),
    ],
)
def test_output_is_compared_line_by_line_with_gaps(
    said: list[str], printed: str, fit: bool
) -> None:
    assert fits(said, printed) is fit


def test_an_unknown_make_target_is_reported() -> None:
    page = "Run `make test` or `make nothing`.\n```bash\n$ make setup\nmake X=1 gone\n```\n"
    found = list(unknown_targets("a.md", page, "setup: x\ntest:\n"))
    assert found == [
        "a.md: make gone is not in the Makefile",
        "a.md: make nothing is not in the Makefile",
    ]


def test_a_command_without_its_prompt_is_reported() -> None:
    assert len(list(unprompted("a.md", "```bash\ntaskloom demo\n```\n"))) == 1
    assert list(unprompted("a.md", "```bash\n$ taskloom demo\n```\n")) == []
