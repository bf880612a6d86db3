"""`python -m bench.peers [name …]`: the agent loop of other frameworks beside ours.

Each is installed into an environment of its own under `.peers`, which is kept for the next time.
The figures are CPU microseconds per iteration (one model call, one tool call), best of several.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path

from bench.peers_scripts import ENDING, OPENING, OURS, PEERS

PLACE = Path(".peers")


def python_of(name: str, package: str) -> Path:
    """Return the interpreter of a peer's environment, made if it is missing."""
    place = PLACE / name
    python = place / "bin" / "python"
    ready = place / "ready"
    if not ready.exists():
        print(f"installing {package} …", file=sys.stderr, flush=True)
        venv.create(place, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
        subprocess.run([*pip, package], check=True, capture_output=True)
        ready.touch()
    return python


def measure(python: Path, script: str) -> dict[str, float]:
    """Run one script and return its figures."""
    done = subprocess.run(
        [str(python), "-c", OPENING + script + ENDING],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("FIGURES "):
            figures: dict[str, float] = json.loads(line.removeprefix("FIGURES "))
            return figures
    raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "no figures")


def main() -> None:
    """Print the table; a peer that cannot be measured is named with the reason."""
    names = sys.argv[1:] or list(PEERS)
    ours = measure(Path(sys.executable), OURS)
    print(f"{'':<16} {'N=10':>10} {'N=200':>10} {'last/first':>11} {'against us':>11}")
    rows = [("taskloom", ours)]
    for name in names:
        package, script = PEERS[name]
        try:
            rows.append((name, measure(python_of(name, package), script)))
        except (subprocess.SubprocessError, RuntimeError) as error:
            print(f"{name:<16} not measured: {error}")
    for name, figures in rows:
        times = figures["200"] / ours["200"]
        print(
            f"{name:<16} {figures['10']:>7.0f} us {figures['200']:>7.0f} us "
            f"{figures['growth']:>9.1f} x {times:>9.0f} x"
        )


if __name__ == "__main__":
    main()
