"""The wall clock is set back while digd runs: windows end, stamps do not fall, and digd logs it."""

import sqlite3

from preloaded import PreloadedDaemon
from span_sender import QUICK, App, team, wait_for_end
from watching import get

# Loaded before libc: the wall clock differs by as many seconds as the file named by CLOCK_FILE has bytes.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, out);
  struct stat by;
  if (id == CLOCK_REALTIME && stat(getenv("CLOCK_FILE"), &by) == 0) out->tv_sec -= by.st_size;
  return result;
}
"""


class DaemonWithSetClock(PreloadedDaemon):
    SOURCE = SHIM
    VARIABLE = "CLOCK_FILE"

    def stamps(self):
        with sqlite3.connect(f"file:{self.data / 'digd.sqlite'}?mode=ro", uri=True) as db:
            return [ts for (ts,) in db.execute("SELECT ts FROM entries WHERE n > 2 ORDER BY id")]


def test_windows_end_and_stamps_never_decrease_when_the_clock_is_set_back(tmp_path):
    with DaemonWithSetClock(tmp_path) as daemon:
        rules = {"deadlock": {"window_ms": 400}}
        with daemon.client(clock="wall", agents=["a"], rules=rules) as client:
            client.event("e1", ["a"])
            client.wait_acked()
            daemon.steered.write_bytes(b"x" * 3600)
            found = client.wait_for("intervention")["detections"][0]
            assert found["rule"] == "deadlock"
            client.event("e2", ["a"])
            client.wait_acked()
            daemon.wait_logged("clock_set_back by_ms=")
            stamps = daemon.stamps()
            assert stamps == sorted(stamps) and stamps[-1] - stamps[0] < 60_000
            daemon.kill()
            daemon.start()  # with a clock that is an hour behind the run
        with daemon.client(clock="wall", agents=["a"]) as client:
            client.event("e3", ["a"])
            client.wait_acked()
            client.wait_for("intervention")
            stamps = daemon.stamps()
            assert stamps == sorted(stamps) and stamps[-1] - stamps[0] < 120_000
            assert get(daemon, "/v1/runs/r1")["state"] == "open"


def test_a_run_made_of_spans_ends_in_time_although_the_clock_is_set_back(tmp_path):
    daemon = DaemonWithSetClock(tmp_path)
    daemon.config.write_text(QUICK.replace("settle_ms = 50", "settle_ms = 400"))
    with daemon:
        run = team(App(daemon))
        daemon.steered.write_bytes(b"x" * 3600)
        wait_for_end(daemon, run)
