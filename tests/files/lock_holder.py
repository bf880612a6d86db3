"""A program for test_local: holds a directory's lock, or counts in a file under it.

Usage: lock_holder.py hold ROOT          says `held`, then waits to be killed
       lock_holder.py count ROOT TIMES   adds one to the number in `d/count`, so many times
       lock_holder.py write ROOT         replaces `d/a.txt` for ever, saying `begun` first
"""

import sys

import anyio

from taskloom.files import LocalFiles

FILES = LocalFiles(sys.argv[2])


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def hold() -> None:
    async with FILES.lock("d"):
        say("held")
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
            say("begun")


if __name__ == "__main__":
    anyio.run({"hold": hold, "count": count, "write": write}[sys.argv[1]])
