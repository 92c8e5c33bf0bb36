"""Processes of the work queue for tests: workers and askers, which end with the block that began them."""

import subprocess
import sys

from digctl_fleet_test import environment
from live import DIGCTL, TIMEOUT_S, wait_until


class Worker:
    """A process of `digd.fleet work`; `program` is its digctl. Its log is a file, so it never waits for a reader.

    `must_wait`: the block begins once it waits for tasks.
    """

    def __init__(self, nats, root, *options, program=DIGCTL, must_wait=True):
        self.command = [sys.executable, "-m", "digd.fleet", "work", f"--fleet={root}", f"--fleet={nats.url}"]
        self.command += [f"--digctl={program}", "--ack-wait=2", *options]
        self.folder = root.parent
        self.process, self.must_wait = None, must_wait

    def log(self):
        return self.path.read_text()

    def start(self):
        self.path = self.folder / f"worker-{len(list(self.folder.glob('worker-*')))}"
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def is_waiting(self):
        assert self.process.poll() is None, self.log()
        return "waiting for tasks" in self.log()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_S)

    def __enter__(self):
        self.start()
        try:
            if self.must_wait:
                wait_until(self.is_waiting, "the worker")
        except BaseException:
            self.stop()  # `with` calls no __exit__ then
            raise
        return self

    def __exit__(self, *_):
        self.stop()


class Asker:
    """A process of digctl; its output is in files. `finish` waits for its end."""

    def __init__(self, folder, *command):
        self.paths = [folder / "asker-output", folder / "asker-log"]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as log:
            command = [DIGCTL, *map(str, command)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=environment()
            )

    def output(self):
        return self.paths[0].read_text()

    def finish(self, within=60):
        """The exit status, the output, and what it said."""
        status = self.process.wait(within)
        return status, self.output(), self.paths[1].read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_S)
