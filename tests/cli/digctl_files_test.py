"""How digctl reads and writes files: pipes, lost outputs, and permissions."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from slow_daemon import SlowDaemon  # noqa: E402
from tail_helpers import DIGCTL  # noqa: E402


def run_into_full_device(*args):
    with open("/dev/full", "w") as full:
        return subprocess.run([DIGCTL, *map(str, args)], stdout=full, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "args", [["replay", "TRACE"], ["replay", "TRACE", "--format", "json"], ["check", "TRACE"], ["rules"], ["--help"]]
)
def test_a_lost_standard_output_is_an_error(trace, args):
    got = run_into_full_device(*(trace if word == "TRACE" else word for word in args))
    assert got.returncode == 2
    assert got.stderr.splitlines()[-1] == "digctl: standard output cannot be written to"


def test_a_lost_output_is_not_called_standard_input(trace):
    got = run_into_full_device("show", trace)
    assert got.returncode == 2 and got.stderr == "digctl show: standard output cannot be written to\n"


def test_a_hook_whose_output_is_lost_fails_open(tmp_path):
    call = '{"hook_event_name":"Stop","session_id":"s"}'
    with SlowDaemon([b"{}"]) as daemon:
        daemon.release()
        got = run_into_full_device("hook", "claude-code", "--to", daemon.address, call)
    assert got.returncode == 0 and "continues without digd" in got.stderr


@pytest.mark.parametrize("command", ["replay", "show", "check"])
def test_a_named_pipe_is_opened_only_once(digctl, trace, tmp_path, command):
    pipe, failed = tmp_path / "pipe", []
    os.mkfifo(pipe)

    def write():
        try:
            pipe.write_text(trace.read_text())
        except BrokenPipeError as lost:
            failed.append(lost)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    expected = digctl(command, trace)
    got = digctl(command, pipe, timeout=20)
    writer.join(20)
    assert not failed and got.returncode == expected.returncode
    assert got.stdout == expected.stdout.replace(str(trace), str(pipe))


def test_a_private_file_stays_private_while_it_is_replaced(tmp_path):
    to = tmp_path / "trace.jsonl"
    to.write_text("old")
    to.chmod(0o600)
    with SlowDaemon([b'{"type":"hello"}\n', b"rest\n"]) as daemon:
        process = subprocess.Popen([DIGCTL, "export", "r1", "--to", daemon.address, "-o", to])
        daemon.wait_for_first_piece()
        while not (parts := list(tmp_path.glob("trace.jsonl.part*"))) and process.poll() is None:
            pass
        modes = [part.stat().st_mode & 0o777 for part in parts]
        daemon.release()
        assert process.wait(20) == 0
    assert modes == [0o600]
    assert to.read_text() == '{"type":"hello"}\nrest\n' and to.stat().st_mode & 0o777 == 0o600
