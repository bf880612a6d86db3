"""Run programs where they can change the working tree and little else.

`find_sandbox` picks what this system has: bubblewrap, else Landlock with seccomp, else nothing.
A sandbox turns a command into another one, which starts it through the launcher: it confines the
program, ends everything the program started when it ends, and ends it when this process dies.
"""

from taskloom.sandbox.bubblewrap import Bubblewrap
from taskloom.sandbox.choose import Mode, Sandbox, find_sandbox
from taskloom.sandbox.landlock import Landlock
from taskloom.sandbox.process import SandboxedProcess, start_process
from taskloom.sandbox.spec import LaunchPlan, SandboxSpec
from taskloom.sandbox.unconfined import Unconfined

__all__ = [
    "Bubblewrap",
    "Landlock",
    "LaunchPlan",
    "Mode",
    "Sandbox",
    "SandboxSpec",
    "SandboxedProcess",
    "Unconfined",
    "find_sandbox",
    "start_process",
]
