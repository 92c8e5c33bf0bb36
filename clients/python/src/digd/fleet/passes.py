"""Passes over many runs. A pass is divided into tasks for this process or for workers. This process merges the results.

Either way, the same commands do the same tasks, and results are merged in the order of the tasks. So the output has the
same bytes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import nats.errors

from .interrupts import run_until_interrupted
from .places import Fleet, Lost, WrongUse
from .query import connect as connect_files
from .selection import SelectedRun, Wanted, as_it_is_now, select
from .tasks import KINDS, Failed, Task, TaskRunner, option_name, version_of

SHARES = 64
"""Tasks of one Shapley estimate."""
WINDOW = 1024
"""The maximum number of tasks that are in the queue, or whose outcomes the asker has not used yet."""
FAILED_STATUS = 1
PROGRESS_SECONDS = 10.0
STALL_SECONDS = 30.0
MIN_POLL_SECONDS = 0.05
MAX_POLL_SECONDS = 1.0


class Asked(NamedTuple):
    fleet: Fleet
    digctl: str
    command: str
    """As digctl names it: attribute chief, attribute shapley, causal explain."""
    options: list[str]
    where: str = ""
    run: str = ""
    on_workers: bool = False
    again: bool = False
    task_seconds: float = 3600.0


class Done(NamedTuple):
    task: Task
    result: bytes | None
    reason: str = ""


# ---- the tasks


def _task_options(kind: str, options: list[str], own: frozenset[str]) -> list[str]:
    """Selects the options for the tasks. `own`: options for the asker alone."""
    chosen = []
    for option in options:
        name = option_name(option)
        if name in KINDS[kind].options:
            chosen.append(option)
        elif name not in own:
            raise WrongUse(f"--{name} does not work over a fleet's runs, or with --on-workers")
    return chosen


REPORTING = frozenset("share threshold faithfulness format top output plots threads quiet".split())
"""Options of `attribute shapley` that only the merging command needs."""
EXPLAINING = frozenset(
    "factors worldview metric format output learner structure score setting outcome without cluster experiments"
    " permutations bootstrap seed".split()
)
"""Options of `causal explain` that only the merging command needs."""


def _each_run(kind: str, asked: Asked, runs: list[SelectedRun]) -> list[Task]:
    options = tuple(_task_options(kind, asked.options, frozenset({"threads", "quiet"})))
    return [Task(kind, options, (run,)) for run in runs]


def _shares(asked: Asked, run: SelectedRun) -> list[Task]:
    options = [o for o in _task_options("shapley", asked.options, REPORTING) if option_name(o) not in REPORTING]
    return [Task("shapley", (*options, f"--chunk={i + 1}/{SHARES}"), (run,)) for i in range(SHARES)]


def _factors(asked: Asked, runs: list[SelectedRun]) -> list[Task]:
    given = []
    for option in asked.options:
        # digctl has read the files of factors. It repeats each factor as an option, so that workers need no file.
        if option_name(option) == "factor-for-workers":
            given.append("--factor=" + option.partition("=")[2])
        elif option_name(option) != "factor":
            given.append(option)
    options = tuple(_task_options("factors", given, EXPLAINING))
    size = KINDS["factors"].runs_in_task
    return [Task("factors", options, tuple(runs[i : i + size])) for i in range(0, len(runs), size)]


# ---- who does them


async def _here(asked: Asked, tasks: list[Task]) -> AsyncIterator[Done]:
    runner = TaskRunner(asked.fleet.need_root(), asked.digctl, asked.task_seconds)
    try:
        for task in tasks:
            try:
                yield Done(task, await asyncio.to_thread(runner.do, task))
            except Failed as error:
                yield Done(task, None, str(error))
    finally:
        runner.stop()


class Progress:
    """Says on standard error how far the pass is: on a terminal in place, otherwise now and then."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._began = time.monotonic()
        self._first: int | None = None
        self._shown_at = self._began if not sys.stderr.isatty() else 0.0
        self.done = 0

    def show(self, done: int) -> None:
        if self._first is None:
            self._first = done  # tasks that an earlier command did do not count for the speed
        self.done = done
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self._shown_at < (0.2 if terminal else PROGRESS_SECONDS) or done == self._total:
            return
        self._shown_at = now
        new = done - self._first
        left = f", about {self._span((self._total - done) * (now - self._began) / new)} left" if new > 0 else ""
        self.say(f"{done} of {self._total} tasks done{left}", "\r" if terminal else "\n")

    def say(self, text: str, end: str = "\n") -> None:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}digd.fleet: {text}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    @staticmethod
    def _span(seconds: float) -> str:
        if seconds < 120:
            return f"{seconds:.0f} s"
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class _OnWorkers:
    """Submits each task that has no outcome yet, and reads the outcomes in the order of the tasks."""

    def __init__(self, asked: Asked, tasks: list[Task]) -> None:
        from .live import RetryLimit, connect  # only passes on workers need NATS
        from .work_queue import Outcome, WorkQueue

        self._asked = asked
        self._tasks = tasks
        self._make_queue = WorkQueue
        self._connect = connect
        self._known: dict[int, Outcome] = {}
        self._submitted: set[int] = set()
        self.progress = Progress(len(tasks))
        self._retry_limit = RetryLimit(asked.fleet, say=self.progress.say)

    async def results(self) -> AsyncIterator[Done]:
        """Raises Lost."""
        version = await asyncio.to_thread(version_of, self._asked.digctl)
        await (await self._connect(self._asked.fleet)).close()  # fails early for a wrong address or wrong credentials
        self._retry_limit.record_success()
        connection = await self._connect(self._asked.fleet, -1, self._retry_limit)
        try:
            self._queue = self._make_queue(connection, version)
            await self._open()
            for at, task in enumerate(self._tasks):
                yield await self._result(at, task)
            self.progress.end()
        finally:
            await connection.close()

    def say_how_far(self, why: str) -> None:
        self.progress.say(
            f"{why}; {self.progress.done} of {len(self._tasks)} tasks are done; the same command goes on"
        )

    async def _open(self) -> None:
        while True:
            try:
                return await self._queue.open()
            except (nats.errors.Error, asyncio.TimeoutError) as error:
                await self._retry_limit.wait_or_raise(error)

    async def _result(self, at: int, task: Task) -> Done:
        while True:
            await self._wait_for(at)
            outcome = self._known.pop(at)
            if not outcome.pieces:
                return Done(task, outcome.result, outcome.reason)
            try:
                result = await self._queue.fetch(task, outcome)
                if result is not None:
                    return Done(task, result)
                await self._queue.forget(task)  # the result was removed before the outcome
                await self._queue.submit(task, again=f":{time.time_ns()}")
            except (nats.errors.Error, asyncio.TimeoutError) as error:
                self._known[at] = outcome
                await self._retry_limit.wait_or_raise(error)

    async def _look(self, window: list[int]) -> None:
        """Reads the outcomes of these tasks. Submits, in order, each task that lacks one and was not submitted."""
        outcomes = await asyncio.gather(*(self._queue.outcome(self._tasks[at]) for at in window))
        submitting = []
        for at, outcome in zip(window, outcomes, strict=True):
            is_new = at not in self._submitted
            if outcome is not None and outcome.reason and self._asked.again and is_new:
                await self._queue.forget(self._tasks[at])
                submitting.append(self._submit(at, f":{time.time_ns()}"))
            elif outcome is not None:
                self._known[at] = outcome
            elif is_new:
                submitting.append(self._submit(at))
        await asyncio.gather(*submitting)

    async def _submit(self, at: int, again: str = "") -> None:
        await self._queue.submit(self._tasks[at], again)
        self._submitted.add(at)

    async def _wait_for(self, first: int) -> None:
        """Waits for the outcome of this task; meanwhile also reads the outcomes of the tasks after it."""
        pause = MIN_POLL_SECONDS
        stalled = time.monotonic()
        while first not in self._known:
            before = len(self._known)
            window = [at for at in range(first, min(first + WINDOW, len(self._tasks))) if at not in self._known]
            try:
                await self._look(window)
                self._retry_limit.record_success()
                if time.monotonic() - stalled > STALL_SECONDS / 2:
                    await self._say_why_it_waits(window)
                    stalled = time.monotonic()
            except (nats.errors.Error, asyncio.TimeoutError) as error:
                await self._retry_limit.wait_or_raise(error)
            self.progress.show(first + len(self._known))
            if len(self._known) > before:
                pause = MIN_POLL_SECONDS
                stalled = time.monotonic()
            if first not in self._known:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, MAX_POLL_SECONDS)

    async def _say_why_it_waits(self, window: list[int]) -> None:
        if await self._queue.waiting_workers() == 0:
            self.progress.say("no worker takes the tasks; start `digctl work` with the same --fleet")
        if await self._queue.is_empty():  # the queue was lost, or a task was too old for it
            self._submitted.difference_update(window)


# ---- what becomes of the results


async def _print_each(asked: Asked, done: AsyncIterator[Done]) -> int:
    failed = 0
    as_lines = "--format=json" in asked.options
    async for item in done:
        if item.result is None:
            failed += 1
            print(f"digd.fleet: {item.task.name()}: {item.reason}", file=sys.stderr, flush=True)
            continue
        if not as_lines:
            run = item.task.runs[0]
            sys.stdout.buffer.write(f"Run {json.dumps(run.run)} of host {json.dumps(run.host)}:\n".encode())
        sys.stdout.buffer.write(item.result + (b"" if as_lines else b"\n"))
        sys.stdout.buffer.flush()
    return FAILED_STATUS if failed else 0


async def _files(done: AsyncIterator[Done], folder: Path) -> list[Path] | None:
    """Writes each result to a file, in order. If a task fails, prints the reason and returns None at the end."""
    files: list[Path] = []
    failed = False
    async for item in done:
        if item.result is None:
            failed = True
            print(f"digd.fleet: {item.task.name()}: {item.reason}", file=sys.stderr, flush=True)
            continue
        files.append(folder / f"{len(files):06}")
        files[-1].write_bytes(item.result)
    return None if failed else files


async def _exit_status(words: list[str]) -> int:
    """Runs a program with this one's output. A cancellation ends the program too."""
    program = await asyncio.create_subprocess_exec(*words)
    try:
        return await program.wait()
    finally:
        if program.returncode is None:
            program.terminate()
            await program.wait()


async def _merge(asked: Asked, tasks: list[Task], done: AsyncIterator[Done]) -> int:
    """Runs the command that the user asked for, with the results of the tasks as its input."""
    with tempfile.TemporaryDirectory(prefix="digd-pass-") as name:
        folder = Path(name)
        files = await _files(done, folder)
        if files is None:
            return FAILED_STATUS
        options = [o for o in asked.options if option_name(o) != "factor-for-workers"]
        words = [asked.digctl, *asked.command.split(), *options]
        if asked.command == "causal explain":
            lines = folder / "lines"
            with open(lines, "wb") as whole:
                for file in files:
                    whole.write(file.read_bytes())
            words.append(f"--lines={lines}")
        else:
            runner = TaskRunner(asked.fleet.need_root(), asked.digctl, asked.task_seconds)
            await asyncio.to_thread(runner.write_rows, tasks[0].runs, folder / "rows")
            words += [f"--fleet=rows:{folder}/rows", "--no-cache", *(f"--merge={file}" for file in files)]
            words += ["--", tasks[0].runs[0].run]
        return await _exit_status(words)


def _complete(runs: list[SelectedRun]) -> list[SelectedRun]:
    """The runs of which the files have every entry. A killed collector's messages are collected after its ack_wait."""
    complete = [run for run in runs if run.missing == 0]
    if len(complete) < len(runs):
        lacking = next(run for run in runs if run.missing != 0)
        print(
            f"digd.fleet: left out {len(runs) - len(complete)} of {len(runs)} runs, because the files lack some of"
            f" their entries: {lacking.missing} of run {lacking.run!r}, for example. Collectors have not written these"
            " yet, or old days were dropped.",
            file=sys.stderr,
        )
    if not complete:
        raise WrongUse("the files have no selected run completely")
    return complete


async def _run(asked: Asked) -> int:
    db = connect_files(asked.fleet.need_root())
    runs = as_it_is_now(db, select(db, Wanted(asked.where, asked.run)))
    db.close()
    if not runs:
        raise WrongUse(f"there is no run {asked.run!r} in the files" if asked.run else "no run is selected")
    runs = _complete(runs)
    merges = asked.command == "causal explain" or (asked.command == "attribute shapley" and bool(asked.run))
    if asked.command == "causal explain":
        tasks = _factors(asked, runs)
    elif merges:
        tasks = _shares(asked, runs[0])
    else:
        tasks = _each_run(asked.command.split()[-1], asked, runs)
    on_workers = _OnWorkers(asked, tasks) if asked.on_workers else None
    done = on_workers.results() if on_workers else _here(asked, tasks)
    try:
        return await (_merge(asked, tasks, done) if merges else _print_each(asked, done))
    except asyncio.CancelledError:
        if on_workers:
            on_workers.say_how_far("stopped")
        raise
    except Lost as error:
        assert on_workers
        on_workers.say_how_far(f"{error}; stopped")
        return FAILED_STATUS


def run_pass(asked: Asked) -> int:
    if asked.on_workers:
        asked.fleet.need_servers()
    return run_until_interrupted(_run(asked))
