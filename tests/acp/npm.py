"""Programs from npm for the tests: installed once into a cache, or a reason why they are not."""

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

INSTALL_S = 240
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "taskloom" / "test-npm"


@cache
def installed(*packages: str) -> Path:
    """Where packages are installed; without npm or a network the test is skipped."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there: the clients written in JavaScript are left out")
    name = "-".join(package.replace("/", "_").replace("@", "_") for package in packages)
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            (folder / "package.json").write_text('{"private": true, "type": "module"}')
            _install(npm, folder, packages)
            (folder / "ready").touch()
    return folder


def _install(npm: str, folder: Path, packages: tuple[str, ...]) -> None:
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *packages]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PATH": f"{node_folder(packages)}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm took more than {INSTALL_S} s to install {', '.join(packages)}")
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["it gave no reason"]
        pytest.skip(f"npm could not install {', '.join(packages)}: {reason[0][:200]}")


def node_folder(packages: tuple[str, ...]) -> str:
    """The directory of a node that is new enough for the packages."""
    if any(package.startswith("acpx@") for package in packages):
        return str(installed("node@24") / "node_modules" / "node" / "bin")
    return str(Path(shutil.which("node") or "node").parent)
