"""A disk that hangs: no sync returns. digd reports it, and still ends when it is asked to."""

import json
import re
import signal
import time

import pytest

from live import TIMEOUT_S
from preloaded import PreloadedDaemon

# Loaded before libc: a sync waits as long as the file named by HANG_FILE exists.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_disk(void) {
  while (access(getenv("HANG_FILE"), F_OK) == 0) usleep(1000);
}
int fsync(int fd) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int fdatasync(int fd) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
"""


class DaemonOnHangingDisk(PreloadedDaemon):
    SOURCE = SHIM
    VARIABLE = "HANG_FILE"

    def readiness(self):
        request = f"GET /readyz HTTP/1.1\r\nHost: {self.address}\r\nConnection: close\r\n\r\n"
        answer = self.http(request.encode())[1]
        return [reason["code"] for reason in json.loads(answer.split("\r\n\r\n", 1)[1])["reasons"]]


@pytest.fixture
def daemon(tmp_path):
    return DaemonOnHangingDisk(tmp_path)


def test_a_hanging_disk_is_logged_and_digd_continues_when_it_answers(daemon):
    with daemon:
        client = daemon.client()
        client.event("e1", ["a"])
        client.wait_acked()
        daemon.steered.touch()
        client.event("e2", ["a"])
        assert client.verdicts() == [{"event": "e2", "action": "deliver"}]  # verdicts do not wait for the disk
        daemon.wait_logged("archive_stalled entries=")
        assert "archive" in daemon.readiness()
        assert client.acked == 1
        daemon.steered.unlink()
        client.wait_acked()
        daemon.wait_logged("archive_moves_again")
        assert daemon.readiness() == []
        assert daemon.log_text().count("archive_stalled") == 1


def test_a_disk_that_hangs_from_the_start_is_logged_no_sooner_than_another(daemon):
    begun = time.monotonic()
    with daemon:
        daemon.steered.touch()
        client = daemon.client()
        client.event("e1", ["a"])
        daemon.wait_logged("archive_stalled entries=")
        stalled_ms = int(re.search(r"archive_stalled entries=\d+ for_ms=(\d+)", daemon.log_text())[1])
        assert stalled_ms <= 1000 * (time.monotonic() - begun)
        daemon.steered.unlink()
        client.wait_acked()


def test_digd_ends_although_the_disk_hangs_and_loses_nothing_acked(daemon):
    daemon.start()
    client = daemon.client()
    client.event("e1", ["a"])
    client.wait_acked()
    with daemon.client("r2") as ended:
        ended.tell("run_ended", outcome="success")
        ended.wait_acked()
    daemon.steered.touch()
    client.event("e2", ["a"])
    client.verdicts()
    with daemon.raw() as waits:  # for a deletion, which the disk keeps from its end
        waits.sendall(f"DELETE /v1/runs/r2 HTTP/1.1\r\nHost: {daemon.address}\r\n\r\n".encode())
        daemon.wait_logged("run_deleted run=")
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(3 * TIMEOUT_S) == 1
    assert "stop_gave_up" in daemon.log_text()
    assert "did not close in time" not in daemon.log_text()
    daemon.steered.unlink()
    with daemon:
        assert daemon.client(next_seq=2).acked >= 1
