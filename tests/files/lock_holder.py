"""A program for test_local: holds a directory's lock, or counts in a file under the lock.

Usage: lock_holder.py hold ROOT          prints `held`, then waits to be killed
       lock_holder.py count ROOT TIMES   adds one to the number in `d/count`, TIMES times
       lock_holder.py write ROOT         replaces `d/a.txt` for ever; prints `begun`
"""

import sys

import anyio

from taskloom.files import LocalFiles

FILES = LocalFiles(sys.argv[2])


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def hold() -> None:
    async with FILES.lock("d"):
        print_line("held")
        await anyio.sleep_forever()


async def count() -> None:
    for _ in range(int(sys.argv[3])):
        async with FILES.lock("d"):
            try:
                before = int(await FILES.read("d/count"))
            except FileNotFoundError:
                before = 0
            await FILES.write("d/count", str(before + 1))


async def write() -> None:
    number = 0
    while True:
        number += 1
        await FILES.write("d/a.txt", f"{number:09}" * 5000)
        if number == 1:
            print_line("begun")


if __name__ == "__main__":
    anyio.run({"hold": hold, "count": count, "write": write}[sys.argv[1]])
