"""How much time digd's hooks add to a session of the real Claude Code, with a scripted model: prints a ratio.

    python tests/hooks/measure_added_time.py [SESSIONS]

Sessions without and with hooks alternate. A scripted model answers at once, so a real session's ratio is far lower.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "daemon")]

from claude_code_test import THREE, Watched  # noqa: E402
from coding_agent import program, run_program, settings_with  # noqa: E402
from fake_model import Model  # noqa: E402
from live import Daemon  # noqa: E402


def seconds_of(settings: dict) -> float:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        run_program(Path(folder), Model(THREE), settings)
        return time.monotonic() - begun


def main() -> None:
    if program() is None:
        sys.exit("Claude Code is not installed")
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    plain, watched = [], []
    with tempfile.TemporaryDirectory() as folder, Daemon(Path(folder), "verdict_deadline_ms = 20000\n") as daemon:
        view = Watched(daemon)
        for _ in range(sessions):
            plain.append(seconds_of({}))
            watched.append(seconds_of(settings_with(view.url("enforce"))))
        calls = view.metric("digd_hook_calls_total") / sessions
    without, with_digd = statistics.median(plain), statistics.median(watched)
    print(f"{sessions} sessions of each kind with three subagents, {calls:.0f} hook calls a session")
    print(f"median without hooks {without:.2f} s, with digd {with_digd:.2f} s: {with_digd / without:.2f} times")
    print(f"added by each hook call: {(with_digd - without) / calls * 1000:.1f} ms")


if __name__ == "__main__":
    main()
