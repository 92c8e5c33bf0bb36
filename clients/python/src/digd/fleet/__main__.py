"""python -m digd.fleet: see --help."""

from __future__ import annotations

import sys

MISSING = 3


def run() -> int:
    try:
        from .commands import main
    except ImportError as error:
        advice = "pip install 'WHEEL[fleet]', where WHEEL is the file of digd's wheel"
        print(f"digd.fleet: {error}; install the extra: {advice}", file=sys.stderr)
        return MISSING
    return main()


if __name__ == "__main__":
    sys.exit(run())
