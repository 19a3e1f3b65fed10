"""The search of `grep` where there is no ripgrep: a script of its own, in a process that can be killed.

A pattern comes from a model, and Python's `re` can take for ever over a bad one; a thread could not be stopped.
Run as `python -I -S matcher.py OPTIONS FILE...`; OPTIONS is a JSON object with pattern, ignore_case, context, most
(matches in a file) and longest (bytes of a line). It writes `file NUL number mark line`; the mark is ':' for a
match and '-' for a line around one. Exit code 2: the pattern cannot be read.
"""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from typing import BinaryIO


def search(file: BinaryIO, name: bytes, pattern: re.Pattern[str], options: dict[str, int]) -> None:
    """Write what matches in one file, and the lines around it."""
    out = sys.stdout.buffer
    before: deque[tuple[int, bytes]] = deque(maxlen=options["context"])
    after = matches = 0
    for number, raw in enumerate(file, 1):
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        if matches < options["most"] and pattern.search(line.decode("utf-8", "surrogateescape")):
            matches, after = matches + 1, options["context"]
            for earlier, text in before:
                out.write(b"%s\0%d-%s\n" % (name, earlier, text))
            before.clear()
            out.write(b"%s\0%d:%s\n" % (name, number, line[: options["longest"]]))
            out.flush()  # what was found should outlive a kill
        elif after:
            after -= 1
            out.write(b"%s\0%d-%s\n" % (name, number, line[: options["longest"]]))
        elif matches >= options["most"]:
            return
        else:
            before.append((number, line[: options["longest"]]))


def main(options: str, *files: str) -> int:
    """Search the files; gives the exit code."""
    asked = json.loads(options)
    try:
        pattern = re.compile(asked.pop("pattern"), re.IGNORECASE if asked.pop("ignore_case") else 0)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(str(error))
        return 2
    for name in files:
        with open(name, "rb") as file:
            search(file, name.encode(), pattern, asked)
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
