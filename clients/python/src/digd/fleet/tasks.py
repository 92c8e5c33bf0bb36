"""Tasks of a pass over many runs: what a worker computes, and how.

A task names runs and one of a few commands of digctl. It is idempotent: on every worker it has the same result. Other
programs can write to the queue, so a worker accepts only the options that it knows. A task cannot name files, programs
or addresses.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from .places import WrongUse
from .query import connect
from .selection import SelectedRun, lines

FORMAT = 1
MAX_RUNS = 1000
"""In one task."""
REFUSED = 2
"""digctl's exit status for an input that it refuses. digctl would refuse it at every attempt."""
MAX_REASON = 500


class Kind(NamedTuple):
    command: list[str]
    options: frozenset[str]
    """The options that a task may contain."""
    names_a_run: bool
    """Whether a task has a single run, which the command gets as an argument."""
    runs_in_task: int


KINDS = {
    "chief": Kind(["attribute", "chief"], frozenset({"top", "format", "brief"}), True, 1),
    "shapley": Kind(
        ["attribute", "shapley", "--no-cache", "--quiet", "--threads=1"],
        frozenset(
            "estimator samples seed share threshold steps faithfulness format top failure-weight warning-weight"
            " unresolved-weight chunk".split()
        ),
        True,
        1,
    ),
    "factors": Kind(
        ["causal", "factors", "--lines"],
        frozenset({"factor", "rates", "first-ms", "first-messages", "target"}),
        False,
        64,
    ),
}


class BadTask(ValueError):
    """The text says what was expected."""


class Failed(Exception):
    """A task could not be done now."""


class Refused(Failed):
    """A task cannot be done: its input would be refused again."""


def option_name(option: str) -> str:
    return option.removeprefix("--").partition("=")[0]


class Task(NamedTuple):
    kind: str
    options: tuple[str, ...]
    runs: tuple[SelectedRun, ...]

    def text(self) -> str:
        """The task as JSON; the same task has the same text."""
        runs = [[*run] for run in self.runs]
        whole = {"format": FORMAT, "kind": self.kind, "options": self.options, "runs": runs}
        return json.dumps(whole, separators=(",", ":"))

    def id(self) -> str:
        return hashlib.sha256(self.text().encode()).hexdigest()[:32]

    def name(self) -> str:
        first = json.dumps(self.runs[0].run)
        chunk = next((" chunk " + o.partition("=")[2] for o in self.options if option_name(o) == "chunk"), "")
        more = f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""
        return f"{self.kind} of run {first}{more}{chunk}"


def _run_of(given: Any) -> SelectedRun:
    types = SelectedRun.__annotations__
    if not isinstance(given, list) or len(given) != len(types):
        raise BadTask(f"a run: expected {len(types)} members")
    run = SelectedRun(*given)
    texts = (run.tenant, run.host, run.archive, run.run)
    numbers = (run.run_number, run.opened_ms, run.last_entry, run.entries)
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise BadTask("a run: a member has another type")
    return run


def parse(data: bytes) -> Task:
    """Raises BadTask."""
    try:
        whole = json.loads(data)
        if whole["format"] != FORMAT or whole["kind"] not in KINDS:
            raise BadTask(f"expected format {FORMAT} and one of {', '.join(KINDS)}")
        options, runs = whole["options"], whole["runs"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadTask(f"expected a task: {error}") from None
    kind = KINDS[whole["kind"]]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise BadTask("options: expected texts")
    if unknown := [o for o in options if not o.startswith("--") or option_name(o) not in kind.options]:
        raise BadTask(f"{unknown[0]!r} is not an option of a task")
    if not isinstance(runs, list) or not 1 <= len(runs) <= (1 if kind.names_a_run else MAX_RUNS):
        raise BadTask("runs: expected one, or a few")
    return Task(whole["kind"], tuple(options), tuple(_run_of(run) for run in runs))


class TaskRunner:
    """Does tasks, one at a time, with the files of a fleet. `stop` may be called from another thread."""

    def __init__(self, root: str, digctl: str, seconds: float) -> None:
        self._root = root
        self._digctl = digctl
        self._seconds = seconds
        self._db: duckdb.DuckDBPyConnection | None = None
        self._guard = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self.is_stopped = False

    def write_rows(self, runs: Iterable[SelectedRun], to: Path) -> None:
        """Writes the rows of the runs. Raises Failed if the files lack entries of a run, and OSError."""
        runs = list(runs)
        for is_last in (False, True):  # the files may have changed since they were opened
            try:
                if self._db is None:
                    self._db = connect(self._root)
                with open(to, "w") as file:
                    found = 0
                    for line in lines(self._db, runs):
                        file.write(line + "\n")
                        found += 1
            except (OSError, duckdb.Error) as error:
                self._db = None
                if is_last:
                    raise Failed(f"the files of the fleet: {error}") from None
                continue
            wanted = sum(run.entries or 0 for run in runs)
            if found == wanted:
                return
            self._db = None
        raise Failed(f"{self._root} has {found} of the {wanted} entries; was the run deleted, or is the path another?")

    def do(self, task: Task) -> bytes:
        """Runs the task's command, and returns what it prints. Raises Failed. Blocks."""
        kind = KINDS[task.kind]
        with tempfile.TemporaryDirectory(prefix="digd-task-") as folder:
            rows = Path(folder) / "rows"
            self.write_rows(task.runs, rows)
            words = [self._digctl, *kind.command, *task.options, f"--fleet=rows:{rows}"]
            if kind.names_a_run:
                words += ["--", task.runs[0].run]
            status, out, err = self._call(words, folder)
        if status == 0:
            return out
        complaint = err.decode(errors="replace").strip().splitlines()
        reason = complaint[-1][-MAX_REASON:] if complaint else "digctl said nothing"
        if status < 0:
            raise Failed(f"digctl ended with signal {-status}: {reason}")
        raise (Refused if status == REFUSED else Failed)(reason)

    def stop(self) -> None:
        """Ends the running task. Every later task fails."""
        with self._guard:
            self.is_stopped = True
            if self._program is not None:
                _kill(self._program)

    def _call(self, words: list[str], folder: str) -> tuple[int, bytes, bytes]:
        """The exit status and the output of a program in a session of its own: Ctrl-C does not reach it."""
        pipe = subprocess.PIPE
        with self._guard:
            if self.is_stopped:
                raise Failed("stopped")
            try:
                program = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=folder, start_new_session=True
                )
            except OSError as error:
                raise Failed(f"{self._digctl}: {error}") from None
            self._program = program
        try:
            out, err = program.communicate(timeout=self._seconds)
        except subprocess.TimeoutExpired:
            _kill(program)
            program.communicate()
            raise Failed(f"it took more than {self._seconds:g} seconds") from None
        finally:
            with self._guard:
                self._program = None
        return program.returncode, out, err


def _kill(program: subprocess.Popen[bytes]) -> None:
    """Kills the program and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


def version_of(digctl: str) -> str:
    """Raises WrongUse."""
    try:
        answer = subprocess.run([digctl, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise WrongUse(f"{digctl}: {error}") from None
    return answer.stdout.split()[-1]
