"""A program for test_host_lock: takes the host lock of a session and keeps it until it is killed.

Usage: lock_holder.py PROJECT SESSION_ID. It prints `held` when it has the lock.
"""

import sys
from pathlib import Path

from taskloom.session import SessionStore

if __name__ == "__main__":
    with SessionStore(Path(sys.argv[1])).open(sys.argv[2]).host_lock("taskloom acp"):
        sys.stdout.write("held\n")
        sys.stdout.flush()
        sys.stdin.read()
