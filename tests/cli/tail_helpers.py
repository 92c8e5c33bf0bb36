"""Helpers of the tests that watch a daemon with digctl."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import TIMEOUT_S  # noqa: E402

DIGCTL = os.environ.get("DIGCTL_BIN", "build/release/bin/digctl")


def is_harmless(text):
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)


class Tail:
    """`digctl tail` in a process of its own."""

    def __init__(self, daemon, *args, to=None):
        self.process = subprocess.Popen(
            [DIGCTL, "tail", "--to", to or daemon.address, *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def take(self, n):
        return [self.process.stdout.readline() for _ in range(n)]

    def until(self, text):
        got = []
        while not got or text not in got[-1]:
            line = self.process.stdout.readline()
            assert line, (got, self.process.stderr.read())
            got.append(line)
        return got

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        self.process.stdout.close()
        self.process.stderr.close()
