"""How many files digd may have open: it asks for what its connections need, and says so if it gets fewer."""

import signal
import subprocess
from pathlib import Path

import pytest

from live import Daemon, wait_until


def open_files_allowed(process):
    line = next(one for one in Path(f"/proc/{process.pid}/limits").read_text().splitlines() if one.startswith("Max open files"))
    return int(line.split()[3])


@pytest.mark.parametrize("hard, allowed, complains", [(4096, 1164, False), (600, 600, True)])
def test_files_for_all_connections_are_asked_for_and_too_few_are_told(tmp_path, hard, allowed, complains):
    daemon = Daemon(tmp_path, "threads = 1\n[connections]\nmost = 1000\n")
    launched = subprocess.Popen(["/bin/sh", "-c", f"ulimit -S -n 256; ulimit -H -n {hard}; exec \"$@\"", "sh", *daemon.command()],
                                stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        wait_until(lambda: (daemon.data / "digd.address").exists(), "digd listens")
        assert open_files_allowed(launched) == allowed
        daemon.config.write_text("threads = 1\n[connections]\nmost = 1100\n")
        launched.send_signal(signal.SIGHUP)
        wait_until(lambda: open_files_allowed(launched) == (allowed if complains else allowed + 100), "a reload asks anew")
    finally:
        launched.terminate()
        log = launched.communicate()[1]
    assert ("few_files" in log) == complains
