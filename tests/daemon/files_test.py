"""Files: digd raises the limit of open ones to what its connections need, and follows no link in its data folder."""

import signal
import subprocess
from pathlib import Path

import pytest

from live import Daemon, wait_until
from preloaded import PreloadedDaemon


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


class DaemonWithALink(PreloadedDaemon):
    """Another user wins the race: the name that digd is about to create is a link to a file that digd may create."""

    VARIABLE = "DIGD_TEST_LINK"
    SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_as(const char* name, const char* path, int flags, mode_t mode) {
  size_t length = strlen(path), suffix = strlen("/.digd-probe");
  if (length > suffix && strcmp(path + length - suffix, "/.digd-probe") == 0) {
    if (symlink(getenv("DIGD_TEST_LINK"), path) != 0) abort();
  }
  return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name))(path, flags, mode);
}
static mode_t mode_in(int flags, va_list more) { return flags & O_CREAT ? va_arg(more, mode_t) : 0; }
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_in(flags, more);
  va_end(more);
  return open_as("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_in(flags, more);
  va_end(more);
  return open_as("open64", path, flags, mode);
}
int __open_2(const char* path, int flags) { return open_as("__open_2", path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_as("__open64_2", path, flags, 0); }
"""


def test_the_probe_of_the_data_folder_follows_no_link(tmp_path):
    daemon = DaemonWithALink(tmp_path)
    daemon.launch()
    assert daemon.process.wait(20) != 0
    assert "is not writable" in daemon.log_text()
    assert not daemon.steered.exists()


def test_the_probe_replaces_what_an_earlier_one_left_and_writes_to_no_other_file(tmp_path):
    daemon = Daemon(tmp_path)
    daemon.data.mkdir()
    other = tmp_path / "other"
    other.write_text("kept")
    (daemon.data / ".digd-probe").symlink_to(other)
    with daemon:
        assert other.read_text() == "kept"
        assert not (daemon.data / ".digd-probe").is_symlink()
