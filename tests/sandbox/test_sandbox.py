"""Programs in each sandbox of this system: what they reach, and that nothing of them stays."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from taskloom.errors import RefusedError
from taskloom.sandbox import (
    Bubblewrap,
    Landlock,
    Sandbox,
    SandboxedProcess,
    SandboxSpec,
    Unconfined,
    find_sandbox,
    start_process,
)
from taskloom.sandbox.bubblewrap import probe_bubblewrap
from taskloom.sandbox.landlock import all_but, probe_landlock

PROBES: dict[type[Bubblewrap] | type[Landlock], Callable[[], str | None]] = {
    Bubblewrap: probe_bubblewrap,
    Landlock: probe_landlock,
}


@pytest.fixture(params=[Bubblewrap, Landlock], ids=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest) -> Sandbox:
    missing = PROBES[request.param]()
    if missing is not None:
        pytest.skip(f"cannot be shown here: {missing}")
    made: Sandbox = request.param()
    return made


@pytest.fixture(params=[Bubblewrap, Landlock, Unconfined])
def any_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param is Unconfined:
        return Unconfined("the test wants none")
    missing = PROBES[request.param]()
    if missing is not None:
        pytest.skip(f"cannot be shown here: {missing}")
    made: Sandbox = request.param()
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / ".git" / "hooks").mkdir(parents=True)
    (tree / ".taskloom").mkdir()
    (tree / ".taskloom" / "transcript.jsonl").write_text("said in secret")
    (tree / ".env").write_text("KEY=secret")
    (tree / "src").mkdir()
    return tree


def spec_of(tree: Path, *, network: bool = False) -> SandboxSpec:
    return SandboxSpec(
        tree=tree,
        protected=(tree / ".git", tree / "taskloom.toml", tree / ".vscode"),
        hidden=(tree / ".taskloom", tree / ".env"),
        network=network,
    )


async def start(sandbox: Sandbox, spec: SandboxSpec, *command: str) -> SandboxedProcess:
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return await start_process(sandbox, command, spec, cwd=spec.tree, env=env)


async def run(sandbox: Sandbox, spec: SandboxSpec, *command: str) -> tuple[int | None, str]:
    """Run a command to its end; return its exit code and output."""
    with anyio.fail_after(60):
        started = await start(sandbox, spec, *command)
        output = await read(started)
        await started.process.wait()
        await started.end()
    return started.process.returncode, output


async def read(started: SandboxedProcess) -> str:
    assert started.process.stdout is not None
    output = b""
    try:
        while True:
            output += await started.process.stdout.receive()
    except anyio.EndOfStream:
        return output.decode()


async def shell(sandbox: Sandbox, tree: Path, line: str) -> tuple[int | None, str]:
    return await run(sandbox, spec_of(tree), "sh", "-c", line)


@pytest.mark.spec("SE-201")
async def test_a_program_writes_in_the_tree_and_in_a_temporary_directory_of_its_own(
    confined: Sandbox, tree: Path
) -> None:
    code, output = await shell(
        confined, tree, 'echo new > src/made && echo x > "$TMPDIR/t" && cat src/made "$TMPDIR/t"'
    )
    assert (code, output) == (0, "new\nx\n")
    assert (tree / "src" / "made").read_text() == "new\n"
    _, where = await shell(confined, tree, 'echo "$TMPDIR"')
    assert not (Path(where.strip()) / "t").exists()


OUTSIDE = [
    "echo x > ../outside",
    "rm ../victim",
    "mv ../victim src/taken",
    ": > ../victim",
    "ln ../victim src/link && echo x > src/link",
    "ln -s ../../victim src/link && echo x > src/link",
    "mkdir ../made",
]


@pytest.mark.spec("SE-201")
@pytest.mark.parametrize("line", OUTSIDE)
async def test_nothing_outside_the_tree_changes(confined: Sandbox, tree: Path, line: str) -> None:
    victim = tree.parent / "victim"
    victim.write_text("as it was")
    await shell(confined, tree, line)  # It may believe that it has: /tmp is another one inside.
    assert victim.read_text() == "as it was"
    assert sorted(path.name for path in tree.parent.iterdir()) == ["tree", "victim"]


@pytest.mark.spec("SE-201")
@pytest.mark.parametrize("line", OUTSIDE)
async def test_without_a_sandbox_the_same_lines_do_change_something(tree: Path, line: str) -> None:
    victim = tree.parent / "victim"
    victim.write_text("as it was")
    await shell(Unconfined("shows that the test can fail"), tree, line)
    names = sorted(path.name for path in tree.parent.iterdir())
    unchanged = names == ["tree", "victim"] and victim.read_text() == "as it was"
    assert not unchanged


PROTECTED = [
    "echo x > .git/hooks/pre-commit",
    "echo x > .git/config",
    "rm -r .git",
    "mv .git src/git",
    "mv src/.. src/x; mv .git/hooks src/hooks",
    "echo 'allow = true' > taskloom.toml",
    "echo x > src/f && mv src/f taskloom.toml",
    "mkdir .vscode && echo x > .vscode/tasks.json",
    "cp -r src .vscode",
    "ln -s src .vscode",
]


@pytest.mark.spec("SE-201", "SE-105")
@pytest.mark.parametrize("line", PROTECTED)
async def test_protected_paths_stay_as_they_are_and_missing_ones_stay_missing(
    confined: Sandbox, tree: Path, line: str
) -> None:
    code, _ = await shell(confined, tree, line)
    assert code != 0
    assert [path.name for path in (tree / ".git").iterdir()] == ["hooks"]
    assert list((tree / ".git" / "hooks").iterdir()) == []
    assert not (tree / "taskloom.toml").exists()
    assert not (tree / ".vscode").exists()


@pytest.mark.spec("SE-201", "SE-301")
async def test_hidden_files_and_directories_cannot_be_read(confined: Sandbox, tree: Path) -> None:
    _, output = await shell(
        confined,
        tree,
        "cat .env .taskloom/transcript.jsonl; cp .env src/e; grep -r secret . ; true",
    )
    assert "KEY=secret" not in output
    assert "said in secret" not in output
    copied = tree / "src" / "e"
    assert not copied.exists() or copied.read_text() == ""


def sleeper(**variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={**os.environ, **variables})


@pytest.mark.spec("SE-303")
async def test_the_environment_of_this_process_cannot_be_read(
    confined: Sandbox, tree: Path
) -> None:
    child = sleeper(A_TOKEN="let-nobody-see")
    try:
        _, output = await shell(
            confined,
            tree,
            f"cat /proc/{child.pid}/environ /proc/{os.getpid()}/environ /proc/*/environ; env",
        )
    finally:
        child.kill()
        child.wait()
    assert "let-nobody-see" not in output


CONNECT = """
import socket, sys
for family, kind in ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM)):
    try:
        with socket.socket(family, kind) as made:
            made.settimeout(5)
            made.connect(("127.0.0.1", int(sys.argv[1])))
            made.send(b"x")
        print("reached")
    except OSError as error:
        print("no", type(error).__name__)
"""


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def connect(sandbox: Sandbox, spec: SandboxSpec, port: int) -> list[str]:
    # The system's own python3: a virtual environment under /tmp is not there for bubblewrap.
    _, output = await run(sandbox, spec, sys.base_prefix + "/bin/python3", "-c", CONNECT, str(port))
    return [line.split()[0] for line in output.splitlines()]


@pytest.mark.spec("SE-201")
async def test_the_network_is_out_of_reach_unless_it_is_allowed(
    confined: Sandbox, tree: Path, listener: int
) -> None:
    assert "reached" not in (await connect(confined, spec_of(tree), listener))[:1]
    with_network = await connect(confined, spec_of(tree, network=True), listener)
    assert with_network == ["reached", "reached"]


@pytest.fixture
def socket_path() -> Iterator[str]:
    path = Path(f"/tmp/taskloom-test-{os.getpid()}.sock")  # where desktop buses and agents listen
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield str(path)
    path.unlink()


@pytest.mark.spec("SE-201")
async def test_a_socket_in_the_file_system_is_no_way_out(
    confined: Sandbox, tree: Path, socket_path: str
) -> None:
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({socket_path!r})"
    python = sys.base_prefix + "/bin/python3"
    assert (await run(Unconfined(""), spec_of(tree), python, "-c", connect))[0] == 0
    code, _ = await run(confined, spec_of(tree, network=True), python, "-c", connect)
    assert code != 0


def alive(marker: str) -> list[str]:
    """Return the processes of this machine whose arguments hold a marker."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker.encode() in arguments:
                found.append(entry.name)
    return found


async def until_gone(marker: str) -> None:
    with anyio.fail_after(20):
        while alive(marker):
            await anyio.lowlevel.checkpoint()


@pytest.mark.spec("SE-201")
async def test_nothing_that_a_program_started_outlives_it(any_sandbox: Sandbox, tree: Path) -> None:
    marker = f"300.{os.getpid()}1"
    code, output = await shell(
        any_sandbox,
        tree,
        f"setsid sleep {marker} & setsid -f sleep {marker}; "
        f"(setsid sh -c 'sleep {marker} & exit' &); nohup sleep {marker} >/dev/null & echo started",
    )
    assert (code, output) == (0, "started\n")
    assert alive(marker) == []


HOST = """
import os, sys, anyio
from pathlib import Path
from taskloom.sandbox import Bubblewrap, Landlock, SandboxSpec, Unconfined, start_process

async def main():
    sandbox = {"bubblewrap": Bubblewrap(), "landlock": Landlock()}.get(sys.argv[1], Unconfined(""))
    line = f"setsid sleep {sys.argv[3]} & sleep {sys.argv[3]} & echo started; wait"
    tree = Path(sys.argv[2])
    spec = SandboxSpec(tree=tree)
    started = await start_process(sandbox, ["sh", "-c", line], spec, cwd=tree, env=os.environ)
    await anyio.sleep_forever()

anyio.run(main)
"""


def start_host(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HOST, *arguments], stdout=subprocess.DEVNULL)


@pytest.mark.spec("SE-201")
async def test_nothing_outlives_a_host_that_is_killed(any_sandbox: Sandbox, tree: Path) -> None:
    marker = f"300.{os.getpid()}2"
    host = start_host(any_sandbox.name, str(tree), marker)
    with anyio.fail_after(60):
        while len(alive(marker)) < 2:
            await anyio.lowlevel.checkpoint()
    host.kill()
    host.wait()
    await until_gone(marker)


@pytest.mark.spec("SE-201")
async def test_a_program_that_is_asked_to_end_may_tidy_up(any_sandbox: Sandbox, tree: Path) -> None:
    line = "trap 'echo tidied > src/tidied; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    with anyio.fail_after(60):
        started = await start(any_sandbox, spec_of(tree), "sh", "-c", line)
        assert started.process.stdout is not None
        assert await started.process.stdout.receive() == b"ready\n"
        started.ask_to_end()
        assert await started.process.wait() == 3
        await started.end()
    assert (tree / "src" / "tidied").exists()


async def test_placeholders_of_two_programs_at_once_go_with_the_last(tree: Path) -> None:
    if (missing := probe_bubblewrap()) is not None:
        pytest.skip(f"cannot be shown here: {missing}")
    sandbox, spec = Bubblewrap(), spec_of(tree)
    with anyio.fail_after(60):
        first = await start(sandbox, spec, "sh", "-c", "echo ready; exec sleep 60")
        assert first.process.stdout is not None
        await first.process.stdout.receive()
        code, _ = await shell(sandbox, tree, "echo x > taskloom.toml")
        assert code != 0
        assert (tree / "taskloom.toml").exists(), "the first program is still held by it"
        await first.end()
    code, _ = await shell(sandbox, tree, "true")
    assert code == 0
    assert not (tree / "taskloom.toml").exists()


async def test_the_exit_code_of_a_program_and_of_a_missing_one(
    any_sandbox: Sandbox, tree: Path
) -> None:
    assert (await shell(any_sandbox, tree, "exit 7"))[0] == 7
    code, output = await run(any_sandbox, spec_of(tree), "no-such-program")
    assert code != 0
    assert "no-such-program" in output


def test_everything_but_the_kept_paths_is_listed(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()
    assert all_but(tmp_path, {tmp_path / "a" / "b"}) == [
        tmp_path / "a" / "d",
        tmp_path / "e",
        tmp_path / "file",
    ]
    assert all_but(tmp_path, {tmp_path}) == []
    assert all_but(tmp_path / "e", {tmp_path / "a"}) == [tmp_path / "e"]


@pytest.mark.spec("SE-201", "SE-202")
def test_a_sandbox_that_is_required_and_missing_refuses_to_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_sandbox("off").name == "none"
    monkeypatch.setattr("taskloom.sandbox.choose.probe_bubblewrap", lambda: "no bubblewrap")
    monkeypatch.setattr("taskloom.sandbox.choose.probe_landlock", lambda: "no Landlock")
    found = find_sandbox("auto")
    assert isinstance(found, Unconfined)
    assert found.reason == "no bubblewrap; no Landlock"
    with pytest.raises(RefusedError, match="Install bubblewrap"):
        find_sandbox("require")
