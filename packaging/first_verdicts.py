#!/usr/bin/env python3
"""Prints the seconds from a clean machine to the first verdict for each way to install digd, as a Markdown table.

    packaging/first_verdicts.py LOG...

The logs are those of scripts/test-packages and scripts/test-package, which print lines like `wheel: seconds to the
first verdict: 3.5`. The part before a comma is the way. A way that no log has is listed as not measured.
scripts/check-release ends with this table.
"""

import re
import sys
from pathlib import Path

WAYS = ("wheel", "npm", "deb", "image", "source")
LINE = re.compile(r"^([a-z][^:\n]*): seconds to the first verdict: ([0-9.]+)$", re.MULTILINE)


def measured(logs):
    """Of each way, the pairs of a name and its seconds, in the order of the logs."""
    found = {way: [] for way in WAYS}
    for log in logs:
        for name, seconds in LINE.findall(log):
            way = name.split(",")[0]
            if way not in found:
                raise ValueError(f"{name}: not one of the ways {', '.join(WAYS)}")
            found[way].append((name, seconds))
    return found


def table(logs):
    lines = ["| way | seconds to the first verdict |", "|---|---|"]
    for way, rows in measured(logs).items():
        lines += [f"| {name} | {seconds} |" for name, seconds in rows or [(way, "not measured")]]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(table(Path(name).read_text(errors="replace") for name in sys.argv[1:]))
