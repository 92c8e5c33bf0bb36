"""The limit of open files: digd raises it to what its connections need, and warns if it gets less."""

import signal
import subprocess
from pathlib import Path

import pytest

from live import Daemon, wait_until


def open_files_allowed(process):
    line = next(
        line
        for line in Path(f"/proc/{process.pid}/limits").read_text().splitlines()
        if line.startswith("Max open files")
    )
    return int(line.split()[3])


@pytest.mark.parametrize("hard, allowed, complains", [(4096, 1164, False), (600, 600, True)])
def test_it_raises_the_file_limit_and_warns_if_that_fails(tmp_path, hard, allowed, complains):
    daemon = Daemon(tmp_path, "threads = 1\n[connections]\nmost = 1000\n")
    launched = subprocess.Popen(
        ["/bin/sh", "-c", f'ulimit -S -n 256; ulimit -H -n {hard}; exec "$@"', "sh", *daemon.command()],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until(lambda: (daemon.data / "digd.address").exists(), "digd to listen")
        assert open_files_allowed(launched) == allowed
        daemon.config.write_text("threads = 1\n[connections]\nmost = 1100\n")
        launched.send_signal(signal.SIGHUP)
        wait_until(
            lambda: open_files_allowed(launched) == (allowed if complains else allowed + 100),
            "the reload to raise the limit again",
        )
    finally:
        launched.terminate()
        log = launched.communicate()[1]
    assert ("few_files" in log) == complains
