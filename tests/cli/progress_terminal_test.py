"""Long commands show their progress on standard error if that is a terminal, and nowhere else.

Each command waits for the rest of its input until its progress has appeared, so no test depends on a command's speed.
"""

import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import Daemon, wait_until  # noqa: E402
from sample_logs import LOG  # noqa: E402
from tail_helpers import DIGCTL  # noqa: E402

CLEARED = "\r\x1b[K"


class Command:
    """digctl with pipes, except for standard error, which is a terminal if `terminal`."""

    def __init__(self, *args, terminal=True, env=None):
        self.shown = b""
        here, there = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            [DIGCTL, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=there,
            env={**os.environ, **(env or {})},
        )
        os.close(there)
        self.reader = threading.Thread(target=self._read, args=(here,), daemon=True)
        self.reader.start()

    def _read(self, here):
        with open(here, "rb", buffering=0) as file:
            try:
                while piece := file.read(4096):
                    self.shown += piece
            except OSError:  # Linux: the other end of a terminal is closed
                pass

    def feed(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def wait_for(self, text):
        wait_until(lambda: text in self.text(), f"{text!r} on the terminal")

    def text(self):
        return self.shown.decode(errors="replace")

    def finish(self):
        """Ends the input; returns standard output and the exit status."""
        out, _ = self.process.communicate()
        self.reader.join()
        return out.decode(), self.process.returncode


def compare(args, text, shown, halves=True):
    """Progress appears on the terminal alone, and standard output is the same as without one."""
    first, rest = (text[: len(text) // 2], text[len(text) // 2 :]) if halves else ("", text)
    with_terminal, without = Command(*args), Command(*args, terminal=False)
    for command in (with_terminal, without):
        command.feed(first)
    with_terminal.wait_for(shown)
    for command in (with_terminal, without):
        command.feed(rest)
    out, status = with_terminal.finish()
    assert (out, status) == without.finish()
    assert shown not in out and "\x1b" not in out
    assert CLEARED not in without.text() and shown not in without.text()
    # The line is cleared before the last words, and these are the same.
    assert with_terminal.text().replace("\r\n", "\n").endswith(CLEARED + without.text())
    return out


@pytest.mark.parametrize(
    "args, shown",
    [
        (("replay", "-"), "replaying: "),
        (("replay", "-", "--output", "messages", "--format", "jsonl"), "replaying: "),
        (("check", "-"), "checking: "),
        (("show", "-"), "reading the run: "),
        (("report", "-", "--format", "md", "--budget", "0"), "reading the run: "),
    ],
)
def test_reading_a_trace_shows_how_much_was_read(trace, args, shown):
    assert compare(args, trace.read_text(), shown)


@pytest.mark.parametrize("method", ["chief", "shapley"])
def test_attribution_says_that_it_is_reading(trace, method):
    args = ["attribute", method, "-", *(["--no-cache", "--format", "json"] if method == "shapley" else [])]
    first, rest = trace.read_text()[:200], trace.read_text()[200:]
    command = Command(*args)
    command.feed(first)
    command.wait_for("reading the run: ")
    command.feed(rest)
    out, status = command.finish()
    assert status == 0, command.text()
    assert out and "reading" not in out and CLEARED in command.text()


def test_an_import_and_a_causal_explanation_say_that_they_work():
    compare(["import", "whowhen", "-"], json.dumps(LOG), "importing: ")
    rows = "".join(f"{i % 2},{i % 3},{i % 2}\n" for i in range(60))
    assert compare(["causal", "explain", "--csv", "-"], "a,b,success\n" + rows, "reading the runs: ")


def test_quiet_commands_show_nothing_on_a_terminal(trace):
    args = ("report", "-", "--format", "md", "--budget", "0")
    loud, quiet = Command(*args), Command(*args, "--quiet")
    loud.wait_for("reading the run: ")  # a second has passed for both: the quiet one began together with it
    for command in (loud, quiet):
        command.feed(trace.read_text())
        command.finish()
    assert quiet.text() == ""


def test_an_export_shows_how_much_was_written_while_its_reader_waits(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client(agents=["a"]) as c:
            for i in range(1_000):
                c.event(f"e{i}" + "x" * 200, ["a"])
            c.wait_acked()
        command = Command("export", "r1", "--data-dir", daemon.data)  # a pipe holds 64 kB
        command.wait_for("exporting: ")
        assert " kB, " in command.text()
        out, status = command.finish()
    assert status == 0 and len(out) > 200_000 and command.text().endswith(CLEARED)
