"""A disk that hangs: no sync returns. digd reports it, and still ends when it is asked to."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from live import DIGD, TIMEOUT_S, Daemon, wait_until

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


class DaemonOnHangingDisk(Daemon):
    def __init__(self, folder):
        super().__init__(folder)
        self.hang = self.folder / "hang"
        source = self.folder / "shim.c"
        source.write_text(SHIM)
        self.shim = self.folder / "shim.so"
        compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.shim, source, "-ldl"], check=True)

    def command(self):
        return ["env", f"LD_PRELOAD={self.shim}", f"HANG_FILE={self.hang}", *super().command()]

    def readiness(self):
        request = f"GET /readyz HTTP/1.1\r\nHost: {self.address}\r\nConnection: close\r\n\r\n"
        answer = self.http(request.encode())[1]
        return [reason["code"] for reason in json.loads(answer.split("\r\n\r\n", 1)[1])["reasons"]]


@pytest.fixture
def daemon(tmp_path):
    with open(DIGD, "rb") as binary:
        if b"__asan_init" in binary.read():
            pytest.skip("a sanitizer must be the first library")
    return DaemonOnHangingDisk(tmp_path)


def test_a_hanging_disk_is_logged_and_digd_continues_when_it_answers(daemon):
    with daemon:
        client = daemon.client()
        client.event("e1", ["a"])
        client.wait_acked()
        daemon.hang.touch()
        client.event("e2", ["a"])
        assert client.verdicts() == [{"event": "e2", "action": "deliver"}]  # verdicts do not wait for the disk
        wait_until(lambda: "archive_stalled entries=" in daemon.log_text(), "the line in the log")
        assert "archive" in daemon.readiness()
        assert client.acked == 1
        daemon.hang.unlink()
        client.wait_acked()
        wait_until(lambda: "archive_moves_again" in daemon.log_text(), "the line in the log")
        assert daemon.readiness() == []
        assert daemon.log_text().count("archive_stalled") == 1


def test_digd_ends_although_the_disk_hangs_and_loses_nothing_acked(daemon):
    daemon.start()
    client = daemon.client()
    client.event("e1", ["a"])
    client.wait_acked()
    daemon.hang.touch()
    client.event("e2", ["a"])
    client.verdicts()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(3 * TIMEOUT_S) == 1
    assert "stop_gave_up" in daemon.log_text()
    daemon.hang.unlink()
    with daemon:
        assert daemon.client(next_seq=2).acked >= 1
