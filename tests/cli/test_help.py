"""Help lists what can be typed; anything else is refused with exit code 2."""

import subprocess
import sys
from pathlib import Path

import pytest

import taskloom as product
from taskloom.cli.main import main
from tests.cli.run_taskloom import environment, taskloom
from tests.view.sample_boards import SampleBoard, diamond

COMMANDS = ["list", "show", "log", "replay", "verify", "diff"]


def test_help_and_version_are_printed(tmp_path: Path) -> None:
    printed = taskloom("--help", cwd=tmp_path)
    assert (printed.code, printed.err) == (0, "")
    assert "board" in printed.out
    assert "demo" in printed.out
    version = taskloom("--version", cwd=tmp_path)
    assert (version.code, version.out) == (0, f"taskloom {product.__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_lists_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["board", command, "--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    for option in ("--project", "--state-dir", "--session", "--json"):
        assert option in printed


@pytest.mark.parametrize(
    "words",
    [
        ["board", "dance"],
        ["board", "show"],
        ["board", "show", "t", "--sess", "x"],
        ["board", "replay", "t"],
        ["board", "replay", "t", "--at", "0"],
        ["board", "replay", "t", "--at", "soon"],
        ["board", "diff", "t", "1"],
        ["board", "list", "--limit", "-1"],
        ["--no-such-option"],
    ],
)
def test_wrong_arguments_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert "usage: taskloom" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["board"]])
def test_half_a_command_prints_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "commands:" in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from taskloom.cli.main import main\n"
        "try:\n    main(['board', 'show', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'rich', 'msgspec', 'anyio', 'asyncio', 'taskloom.runtime', 'taskloom.board'}\n"
        "sys.exit(', '.join(sorted(heavy & sys.modules.keys())) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_needs_no_rich(tmp_path: Path) -> None:
    """The tables come with an extra; a program that installed only the library still gets JSON."""
    diamond(SampleBoard(tmp_path))
    code = (
        "import sys\nsys.modules['rich'] = None\n"
        "from taskloom.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    looks = [["list"], ["show", "diamond"], ["diff", "diamond", "1", "9"], ["verify"]]
    for words in (*looks, ["log", "diamond"], ["replay", "diamond", "--at", "2"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "board", *words, "--json", "--project", str(tmp_path)],
            env=environment(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), words
    done = subprocess.run(
        [sys.executable, "-c", code, "board", "list", "--project", str(tmp_path)],
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"taskloom[cli]" in done.stderr
