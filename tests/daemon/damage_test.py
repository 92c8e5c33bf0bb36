"""Damage to the archive file while digd runs: /readyz and the log report it in seconds, although nothing is sent."""

import time

from live import Daemon, wait_until
from watching import ask, get

PAGE = 4096
MAX_S = 5.0


def filled(daemon, runs=3):
    """Some runs in the file itself: a stop moves the log into it."""
    for i in range(runs):
        with daemon.client(f"r{i}") as c:
            for k in range(200):
                c.event(f"e{k}", ["a"], event={"payload": "x" * 2000})
            c.wait_acked()
    daemon.stop()


def reasons(daemon):
    status, body, _ = ask(daemon, "GET", "/readyz")
    return body.decode() if status == 503 else ""


def overwrite(daemon, first_page):
    file = daemon.data / "digd.sqlite"
    with open(file, "r+b") as f:
        f.seek(first_page * PAGE)
        f.write(b"\xff" * (file.stat().st_size - first_page * PAGE))


def test_a_file_that_is_overwritten_under_way_is_reported_within_seconds(tmp_path):
    with Daemon(tmp_path) as daemon:
        filled(daemon)
        daemon.start()
        assert get(daemon, "/readyz")["ready"]
        overwrite(daemon, first_page=20)
        begun = time.monotonic()
        wait_until(lambda: '"archive"' in reasons(daemon), "the report")
        assert time.monotonic() - begun < MAX_S
        assert "a check of the file found damage" in reasons(daemon)
        daemon.wait_logged("archive_failing a check of the file found damage")
