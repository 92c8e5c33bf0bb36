"""The zoo's harness: runs a multi-agent system plain and attached, and compares everything that a user can observe.

A *healthy* case is a function of a `Probe` that builds a system from scratch, runs it, and returns its result. The
harness runs it three times: plain, attached with the defaults, and attached with `mode="enforce"`. The observations
must be equal, and digd must report no detection. A *broken* case makes one rule fire. The harness asserts the rule; the
case asserts the texts that the agents read.

Each framework has a folder. Its `attach.py` attaches a system of that framework for a probe.
"""

from __future__ import annotations

import asyncio
import collections
import inspect
import json
import logging
import os
import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import DIGCTL, Daemon  # noqa: E402

WITHIN_S = 60.0
TIMES = int(os.environ.get("ZOO_TIMES", "1"))  # how often a healthy system runs in `enforce`, to find rare races


@dataclass
class Observation:
    """What a user can observe of one execution. Every field must be equal in all modes."""

    result: Any = None
    error: str | None = None
    calls: dict[str, int] = field(default_factory=dict)
    seen: list[Any] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)


class Probe:
    """Attaches the system of a case, and records what a user can observe.

    mode: "plain", "default" or "enforce".
    options: the keyword arguments of `digd.Run`: url, labels, and in `enforce` the mode.
    """

    def __init__(self, mode: str, url: str | None, extra: dict[str, Any] | None = None) -> None:
        self.mode = mode
        self.label = uuid.uuid4().hex[:16]
        self.options: dict[str, Any] = {}
        if mode != "plain":
            self.options = {"url": url, "labels": {"zoo": self.label}, **(extra or {})}
        if mode == "enforce":
            self.options["mode"] = "enforce"
        self._calls: collections.Counter[str] = collections.Counter()
        self._seen: list[Any] = []
        self._lock = threading.Lock()

    @property
    def attached(self) -> bool:
        return self.mode != "plain"

    def call(self, name: str) -> int:
        """Counts a call of a node, a model or a tool. Returns the count, this call included."""
        with self._lock:
            self._calls[name] += 1
            return self._calls[name]

    def saw(self, value: Any) -> Any:
        """Records and returns a value that a user can observe: a stream event, a state, a checkpoint."""
        with self._lock:
            self._seen.append(normal(value))
        return value

    def observation(self, result: Any, error: BaseException | None, logs: list[str]) -> Observation:
        text = None if error is None else f"{type(error).__name__}: {error}"
        return Observation(normal(result), text, dict(self._calls), self._seen, logs)


def normal(value: Any) -> Any:
    """The value in a form that compares by content. `stable` replaces random ids later."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return [type(value).__name__, normal(dump())]
    if isinstance(value, dict):
        return {str(k): normal(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((normal(v) for v in value), key=repr)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "__dict__"):
        return [type(value).__name__, {k: normal(v) for k, v in vars(value).items() if not k.startswith("_")}]
    return repr(value)


@dataclass(frozen=True)
class Case:
    name: str
    body: Callable[[Probe], Any]
    rule: str | None = None  # the rule that fires for a broken system; None: healthy
    extra: dict[str, Any] = field(default_factory=dict)  # further options of the run
    ordered: bool = True  # False: parallel work whose order is free; `seen` compares as a multiset


HEALTHY: dict[str, Case] = {}
BROKEN: dict[str, Case] = {}


def healthy(
    name: str, *, ordered: bool = True, **extra: Any
) -> Callable[[Callable[[Probe], Any]], Callable[[Probe], Any]]:
    """Registers a healthy system under a name that is unique in the zoo."""

    def register(body: Callable[[Probe], Any]) -> Callable[[Probe], Any]:
        assert name not in HEALTHY, f"two healthy systems are called {name}"
        HEALTHY[name] = Case(name, body, None, extra, ordered)
        return body

    return register


def broken(name: str, rule: str, **extra: Any) -> Callable[[Callable[[Probe], Any]], Callable[[Probe], Any]]:
    """Registers a system that makes `rule` fire. Its body asserts, by mode, the agents' texts and the run's end."""

    def register(body: Callable[[Probe], Any]) -> Callable[[Probe], Any]:
        assert name not in BROKEN, f"two broken systems are called {name}"
        BROKEN[name] = Case(name, body, rule, extra)
        return body

    return register


# ---- running a case


@contextmanager
def captured_logs():
    """Collects the log lines above DEBUG of every logger while a case runs."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.name} {record.levelname} {record.getMessage()}")

    handler = Collect(logging.INFO)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def execute(case: Case, mode: str, url: str | None) -> tuple[Observation, Probe]:
    """Executes a case once. `calls` and `seen` of the observation are the body's records in the probe."""
    probe = Probe(mode, url, case.extra)
    error: BaseException | None = None
    result: Any = None
    with captured_logs() as logs:
        try:
            result = case.body(probe)
            if inspect.isawaitable(result):
                result = asyncio.run(asyncio.wait_for(_awaited(result), WITHIN_S))
        except Exception as raised:
            error = raised
    return probe.observation(result, error, logs), probe


async def _awaited(work: Any) -> Any:
    return await work


# ---- runs and detections at the daemon


def get(address: str, path: str) -> Any:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=WITHIN_S) as response:
        return json.load(response)


_labels: dict[tuple[str, str], str] = {}  # by daemon and run; the list of runs does not carry them


def runs_of(address: str, probe: Probe) -> list[str]:
    """The ids of the runs that this execution made, by its label."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = get(
            address, "/v1/runs?limit=500" + (f"&cursor={urllib.request.quote(cursor, safe='')}" if cursor else "")
        )
        for run in (entry["run"] for entry in page["runs"]):
            if (address, run) not in _labels:
                detail = get(address, f"/v1/runs/{urllib.request.quote(run, safe='')}")
                _labels[address, run] = (detail.get("labels") or {}).get("zoo", "")
            if _labels[address, run] == probe.label:
                found.append(run)
        cursor = page.get("next")
        if not cursor:
            return found


def detections_of(address: str, probe: Probe) -> list[dict[str, Any]]:
    found = []
    for run in runs_of(address, probe):
        entries = get(address, f"/v1/runs/{urllib.request.quote(run, safe='')}/detections?limit=500")["detections"]
        found += [{"run": run, **entry["detection"]} for entry in entries]
    return found


# ---- the two assertions


def stable(value: Any) -> str:
    """JSON of an observation. Each random id is replaced by the number of its first appearance."""
    text = json.dumps(value, sort_keys=True, default=repr, ensure_ascii=False)
    names: dict[str, str] = {}
    pattern = (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
        r"|\b(?:call|resp|msg)_[0-9a-zA-Z]{8,}\b"
    )
    text = re.sub(pattern, lambda m: names.setdefault(m.group(), f"id{len(names) + 1}"), text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?", "TIME", text)
    text = re.sub(r"datetime\.datetime\([^()]*(?:\([^()]*\))?[^()]*\)", "TIME", text)
    return re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)


def comparable(seen: Observation, ordered: bool) -> dict[str, Any]:
    events = [stable(v) for v in seen.seen]
    return {
        "result": stable(seen.result),
        "error": None if seen.error is None else stable(seen.error),
        "calls": seen.calls,
        "seen": events if ordered else sorted(events),
        "logs": sorted(stable(line) for line in seen.logs),
    }


def assert_healthy(case: Case, address: str) -> None:
    """Asserts that all modes are equal for the user, no rule fires, and every attached execution made a run."""
    url = f"ws://{address}"
    plain, _ = execute(case, "plain", None)
    for mode in ("default", *["enforce"] * TIMES):
        attached, probe = execute(case, mode, url)
        want, have = comparable(plain, case.ordered), comparable(attached, case.ordered)
        for part in want:
            assert have[part] == want[part], f"{case.name} ({mode}): {part} is {have[part]}, without digd {want[part]}"
        runs = runs_of(address, probe)
        assert runs, f"{case.name} ({mode}): digd saw no run"
        assert detections_of(address, probe) == [], f"{case.name} ({mode}): a rule fired on a healthy system"


def assert_broken(case: Case, address: str) -> None:
    """Asserts that the rule fires in both attached modes, the defaults change nothing, and `enforce` heals."""
    url = f"ws://{address}"
    plain, _ = execute(case, "plain", None)
    shadow, probe = execute(case, "default", url)
    assert case.rule in {d["rule"] for d in detections_of(address, probe)}, (
        f"{case.name}: {case.rule} did not fire in shadow"
    )
    want, have = comparable(plain, case.ordered), comparable(shadow, case.ordered)
    for part in ("result", "error", "calls", "seen"):
        assert have[part] == want[part], f"{case.name} (default): {part} differs from the plain run"
    _, probe = execute(case, "enforce", url)
    fired = [d for d in detections_of(address, probe) if d["rule"] == case.rule]
    assert fired, f"{case.name}: {case.rule} did not fire in enforce"
    assert any(d["healed"] for d in fired), f"{case.name}: {case.rule} was not healed: {fired}"


def sample(names: list[str]) -> list[str]:
    """All names with ZOO=all; else every ZOO_EVERY-th (default 4), from an offset that rotates by the day."""
    if os.environ.get("ZOO", "") == "all":
        return names
    every = int(os.environ.get("ZOO_EVERY", "4"))
    offset = random.Random(os.environ.get("ZOO_SEED") or time.strftime("%Y-%j")).randrange(every)
    return [name for i, name in enumerate(names) if i % every == offset]


# ---- limits that past runs suggest

PATIENT = "threads = 2\nverdict_deadline_ms = 60000\n"  # for slow machines


def assert_suggested_limits_fit(names: list[str], folder: Path) -> None:
    """Learns limits from every second healthy system; asserts that they change nothing of the others."""
    assert len(names) >= 10
    with Daemon(folder / "past", PATIENT) as daemon:
        for name in names[::2]:
            execute(HEALTHY[name], "default", f"ws://{daemon.address}")
        command = [DIGCTL, "guards", "suggest", "--to", daemon.address]
        suggested = subprocess.run(command, capture_output=True, text=True)
    assert suggested.returncode == 0, suggested.stderr
    assert {"budget", "fan_out", "repetition"} <= set(re.findall(r"\[guards\.(\w+)\]", suggested.stdout))
    with Daemon(folder / "next", PATIENT + suggested.stdout) as daemon:
        for name in names[1::2]:
            case = HEALTHY[name]
            plain, _ = execute(case, "plain", None)
            guarded, probe = execute(case, "enforce", f"ws://{daemon.address}")
            want, have = comparable(plain, case.ordered), comparable(guarded, case.ordered)
            for part in want:
                assert have[part] == want[part], f"{name}: {part} differs from the plain run under the limits"
            assert runs_of(daemon.address, probe), f"{name}: digd saw no run"
            fired = detections_of(daemon.address, probe)
            assert fired == [], f"{name}: {fired} under {suggested.stdout}"
