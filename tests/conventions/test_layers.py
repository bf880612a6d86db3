"""Imports go downward only: import-linter checks the contracts of pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conventions.tree import ROOT


def lint_imports(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of pyproject.toml on the taskloom found first on these paths."""
    return subprocess.run(
        [
            *(str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"),
            *("--config", str(ROOT / "pyproject.toml")),
        ],
        cwd=paths[0],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def package(folder: Path, files: dict[str, str]) -> Path:
    """Write a small taskloom with a board and a codec, so that every contract has its source."""
    every = {"__init__.py": "", "board/__init__.py": "", "codec/__init__.py": "", **files}
    for name, text in every.items():
        path = folder / "taskloom" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        (path.parent / "__init__.py").touch()
    return folder


def test_imports_go_downward_only() -> None:
    result = lint_imports(ROOT / "src")
    assert result.returncode == 0, result.stdout + result.stderr


def test_correct_imports_pass(tmp_path: Path) -> None:
    codec = {"codec/line.py": "import json, zlib, datetime, msgspec\nimport taskloom.board\n"}
    result = lint_imports(package(tmp_path, codec))
    assert result.returncode == 0, result.stdout + result.stderr


WRONG = {
    "board/upward.py": "import taskloom.log",
    "board/clock.py": "import time",
    "board/party.py": "import msgspec",
    "board/wire.py": "import json",
    "codec/disk.py": "from pathlib import Path",
    "codec/party.py": "import anyio",
    "runtime/sideways.py": "import taskloom.agent",
    "acp/sideways.py": "import taskloom.mcp",
    "orchestrator/upward.py": "import taskloom.config",
}


def test_wrong_imports_and_a_package_without_a_layer_are_reported(tmp_path: Path) -> None:
    names = ("log", "agent", "mcp", "config", "unknown")
    packages = {f"{name}/__init__.py": "" for name in names}
    result = lint_imports(package(tmp_path, {**packages, **WRONG}))
    assert result.returncode == 1
    for file, text in WRONG.items():
        module = "taskloom." + file.removesuffix(".py").replace("/", ".")
        assert f"{module} -> {text.split()[1]}" in result.stdout
    assert "taskloom.unknown" in result.stdout
