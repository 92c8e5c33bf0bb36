"""Kills parts of a fleet at seeded random moments under load: broker, homes, collector, workers. Checks its promises.

The streams of tests/daemon/killing.py play runs whose answers are known from an undisturbed daemon. Each connection
begins at a random daemon, which may send the client elsewhere. Checked on every connection: no acked message is lost,
and each answer is the expected one, whichever daemon gives it. Checked of each complete run: its last home's archive
has every message once, in order, with the expected detections. Checked at the end: so have the Parquet files. Meanwhile
workers attribute complete runs; what they gave is compared at the end with what one process gives.
"""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import duckdb
from homes import Host
from killing import (
    TIMEOUT_S,
    Broken,
    Stream,
    check_archive,
    detections_of,
    in_any_order,
    make_traces,
    must,
    open_archive,
)
from live import DIGCTL, wait_until

MAX_MOVES = 5
WORKERS = 2
RUNS_IN_PASS = 8
RUNS_IN_CHECK = 50
REPORT_SECONDS = 2.0
REPEAT_SECONDS = 15.0
CHIEF = [DIGCTL, "attribute", "chief", "--format", "json", "--brief"]
LEASE_MS = 6_000  # longer than the broker is away: without a lease, homes rightly deliver unjudged


class Moved(Exception):
    """Another daemon has the run."""


class NotNow(Exception):
    """No daemon can say yet who has the run."""


class FleetStream(Stream):
    def __init__(self, run, session, trace, hosts, dice):
        super().__init__(run, session, trace)
        self.hosts, self.dice = hosts, dice
        self.homes = []
        self.moves = 0
        self.finished_at = 0.0

    async def greet(self, ws, hello):
        frame = await super().greet(ws, hello)
        if frame["type"] == "error" and frame["code"] == "moved":
            raise Moved(frame["to"])
        if frame["type"] == "error" and frame["code"] == "over_limit":
            raise NotNow(frame["message"])
        return frame

    def check_answer(self, frame):
        if frame.get("code") == "moved":
            raise ConnectionError("the run moved")
        super().check_answer(frame)

    async def follow(self):
        """One connection, wherever the daemons send it. Returns whether all messages are acked."""
        alive = [host for host in self.hosts if host.is_alive()]
        if not alive:
            return False
        at = self.dice.choice(alive)
        for _ in range(MAX_MOVES):
            try:
                self.homes.append(at)
                return await self.run_connection(at.url.removeprefix("ws://"))
            except Moved as moved:
                self.moves += 1
                self.homes.pop()
                at = next(host for host in self.hosts if host.url == str(moved))
            except NotNow:
                return False
        return False


class KilledHost(Host):
    def is_alive(self):
        return self.process is not None and self.process.poll() is None


@dataclass
class Tally:
    kills: Counter = field(default_factory=Counter)
    runs: int = 0
    messages: int = 0
    connections: int = 0
    moves: int = 0
    runs_with_several_homes: int = 0
    repeated: int = 0
    unjudged: int = 0
    passes: int = 0
    attributed: int = 0
    seconds: float = 0.0


class FleetKilling:
    def __init__(self, folder, nats, traces, seed, lanes=4, lease_ms=LEASE_MS, rest_ms=0, report=lambda text: None):
        """`report` takes a line about the checks at the end, which may take minutes."""
        self.lease_ms, self.rest_ms = lease_ms, rest_ms
        self.nats, self.traces, self.lake = nats, traces, folder / "lake"
        self.dice = random.Random(f"{seed}/kills")
        self.hosts = [
            KilledHost(folder, f"h{i}", nats.url, lease_ms=lease_ms, more="threads = 1\n") for i in range(3)
        ]
        self.collector, self.workers, self.lanes, self.next_run = None, [None] * WORKERS, lanes, 0
        self.attributed = {}  # by the condition that selects a run: what workers gave
        self.complete = []  # (run, trace)
        self.tally = Tally()
        self.stopping = False
        self.report, self.reported = report, {}

    # ---- the parts

    def start(self):
        for host in self.hosts:
            host.start()
        self.start_collector()
        for i in range(WORKERS):
            self.start_worker(i)

    def start_worker(self, i):
        command = [sys.executable, "-m", "digd.fleet", "work", *self.fleet_words(), f"--digctl={DIGCTL}"]
        self.workers[i] = subprocess.Popen(
            [*command, "--ack-wait=5", "--tries=20"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def fleet_words(self):
        return [f"--fleet={self.lake}", f"--fleet={self.nats.url}"]

    def start_collector(self):
        command = [sys.executable, "-m", "digd.fleet", "collect", str(self.lake), "--nats", self.nats.url]
        self.collector = subprocess.Popen(
            [*command, "--batch-seconds", "0.5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self):
        for process in (self.collector, *self.workers):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        for host in self.hosts:
            if host.is_alive():
                host.kill()

    # ---- the load

    def begin_run(self):
        trace = self.traces[self.next_run % len(self.traces)]
        run = f"k{self.next_run}"
        self.next_run += 1
        return [FleetStream(run, session, trace, self.hosts, self.dice) for session in trace.sessions]

    async def lane(self):
        while not self.stopping:
            streams = self.begin_run()
            playing = [asyncio.create_task(self.finish(stream)) for stream in streams]
            try:
                await asyncio.gather(*playing)
                self.check_run(streams)
            except AssertionError:
                if not self.was_unjudged(streams[0].run):
                    raise
                self.tally.unjudged += 1
            finally:
                for task in playing:
                    task.cancel()
                await asyncio.gather(*playing, return_exceptions=True)
            await asyncio.sleep(self.rest_ms / 1000)

    def was_unjudged(self, run):
        """Whether a home reported that it delivers the run unjudged, as its lease ended: NATS was away for too long."""
        reported = re.compile(f'judging_stopped run="{run}" .*limit=fleet_lease')
        return any(reported.search(host.log_text()) for host in self.hosts)

    async def finish(self, stream):
        deadline = time.monotonic() + 4 * TIMEOUT_S
        while not await stream.follow():
            must(time.monotonic() < deadline, f"{stream}: not complete in time")
            await asyncio.sleep(0.05)
        stream.finished_at = time.monotonic()

    def check_run(self, streams):
        trace, run = streams[0].trace, streams[0].run
        for stream in streams:
            must(not stream.waiting_for, f"{stream}: never answered: {sorted(stream.waiting_for)[:5]}")
        got = {id: f for s in streams for id, f in s.interventions.items()}
        must(
            got.keys() == trace.interventions.keys(),
            f"run {run}: interventions {sorted(got)}, expected {sorted(trace.interventions)}",
        )
        last = max(streams, key=lambda stream: stream.finished_at)  # the run may have moved after the others finished
        with open_archive(last.homes[-1]) as db:
            check_archive(db, run, trace)
            must(detections_of(db, run) == trace.detections, f"run {run}: detections differ from the undisturbed run")
        self.complete.append((run, trace))
        self.tally.runs += 1
        self.tally.messages += trace.length
        self.tally.repeated += sum(s.repeated for s in streams)
        self.tally.connections += sum(s.connections for s in streams)
        self.tally.moves += sum(s.moves for s in streams)
        self.tally.runs_with_several_homes += len({id(home) for s in streams for home in s.homes}) > 1

    # ---- the passes

    def condition_of(self, run, trace):
        """True once its files are complete. A run that moved is in several archives, of which a pass reads one."""
        accepted = trace.length - sum(answer["type"] == "error" for answer in trace.answers.values())
        return f"(run = '{run}' AND homes = 1 AND messages = {accepted})"

    async def passes(self):
        while not self.stopping:
            await asyncio.sleep(0.5)
            new = [self.condition_of(*known) for known in self.complete]
            new = [condition for condition in new if condition not in self.attributed][-RUNS_IN_PASS:]
            if new and self.lake.exists():
                await asyncio.to_thread(self.attribute_on_workers, new)

    def attribute_on_workers(self, conditions):
        done = self.digctl(conditions, "--on-workers")
        not_collected = ("no run is selected", "no entries of a fleet", "no selected run completely")
        if any(words in done.stderr for words in not_collected):
            return
        must(done.returncode == 0, f"a pass: {done.stderr[-1000:]}")
        by_run = self.by_run(done.stdout)
        for condition in conditions:
            if (run := condition.split("'")[1]) in by_run:
                self.attributed[condition] = by_run[run]
        self.tally.passes += 1

    def digctl(self, conditions, *more):
        environment = {**os.environ, "DIGD_PYTHON": sys.executable}
        command = [*CHIEF, *self.fleet_words(), "--where", " OR ".join(conditions), *more]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)

    @staticmethod
    def by_run(lines):
        return {json.loads(line)["log"]: line for line in lines.splitlines()}

    def check_passes(self):
        """One process gives what workers gave, for the runs that moved to no other home since."""
        conditions = list(self.attributed)
        for at in range(0, len(conditions), RUNS_IN_CHECK):
            part = conditions[at : at + RUNS_IN_CHECK]
            done = self.digctl(part)
            must(done.returncode == 0, f"the pass of one process: {done.stderr[-1000:]}")
            by_run = self.by_run(done.stdout)
            for condition in part:
                if (run := condition.split("'")[1]) in by_run:
                    must(by_run[run] == self.attributed[condition], f"run {run}: workers gave other bytes")
                    self.tally.attributed += 1
            self.report_checked("attribution", at + len(part), len(conditions))
        must(2 * self.tally.attributed > len(conditions), f"{len(conditions)} runs attributed, most of them not again")

    # ---- the kills

    async def kill(self, times, progress):
        for _ in range(times):
            await asyncio.sleep(self.dice.uniform(0, 1.0))
            victim = self.dice.choice(["home", "home", "broker", "collector", "worker"])
            self.tally.kills[victim] += 1
            if victim == "home":
                await self.kill_home()
            elif victim == "broker":
                self.nats.kill()
                await asyncio.sleep(self.dice.uniform(0, 0.5))
                await asyncio.to_thread(self.nats.start)
            elif victim == "worker":
                i = self.dice.randrange(WORKERS)
                self.workers[i].kill()
                self.workers[i].wait()
                self.start_worker(i)
            else:
                self.collector.kill()
                self.collector.wait()
                self.start_collector()
            progress(self.tally)

    async def kill_home(self):
        """It comes back within its lease, or after another daemon took its runs."""
        host = self.dice.choice(self.hosts)
        host.kill()
        late = self.dice.random() < 0.5
        lease_seconds = self.lease_ms / 1000
        await asyncio.sleep(self.dice.uniform(1.2, 2.0) * lease_seconds if late else self.dice.uniform(0, 0.5))
        await asyncio.to_thread(host.restart)

    async def load(self, times, progress):
        lanes = [asyncio.create_task(self.lane()) for _ in range(self.lanes)]
        lanes.append(asyncio.create_task(self.passes()))
        kills = asyncio.create_task(self.kill(times, progress))
        await asyncio.wait([*lanes, kills], return_when=asyncio.FIRST_COMPLETED)  # a lane ends only by a failure
        self.stopping = True
        if kills.done():
            results = await asyncio.wait_for(asyncio.gather(*lanes, kills, return_exceptions=True), 8 * TIMEOUT_S)
        else:
            for task in [*lanes, kills]:
                task.cancel()
            results = await asyncio.gather(*lanes, kills, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    def run(self, times, progress=lambda tally: None):
        begun = time.monotonic()
        self.start()
        asyncio.run(self.load(times, progress))
        self.check_parquet()
        self.check_passes()
        self.tally.seconds = time.monotonic() - begun
        return self.tally

    # ---- the end

    def report_rarely(self, kind, text, seconds=REPEAT_SECONDS):
        """Reports only one text of a kind in so many seconds."""
        now = time.monotonic()
        if now - self.reported.get(kind, -seconds) >= seconds:
            self.report(text)
            self.reported[kind] = now

    def report_checked(self, name, checked, total):
        seconds = 0 if checked == total else REPORT_SECONDS
        self.report_rarely(name, f"{name}: checked {checked} of {total} runs", seconds)

    def check_parquet(self):
        self.report("waiting until the homes have published everything")
        wait_until(lambda: all(is_published(host) for host in self.hosts), "the publication", within=120)
        self.collector.send_signal(signal.SIGTERM)
        self.collector.wait(60)
        # What killed collectors had taken comes again after the ack wait.
        deadline = time.monotonic() + 200
        wrong = "nothing was collected"
        while wrong and time.monotonic() < deadline:
            self.report_rarely("collecting", "collecting what is left in the stream")
            command = [sys.executable, "-m", "digd.fleet", "collect", str(self.lake), "--nats", self.nats.url]
            done = subprocess.run([*command, "--until-empty", "--batch-seconds", "1"], capture_output=True, text=True)
            must(done.returncode == 0, f"the collector: {done.stderr[-1000:]}")
            wrong = self.difference()
            if wrong:
                left = deadline - time.monotonic()
                self.report_rarely("waiting", f"not in Parquet yet, {left:.0f} s left: {wrong}")
        must(not wrong, f"Parquet: {wrong}")

    def difference(self):
        files = sorted(str(path) for path in self.lake.glob("v1/entries/tenant=*/day=*/*.parquet"))
        if not files:
            return "there are no files"
        self.report_rarely("entries", f"reading {len(files)} files of entries")
        rows = duckdb.sql(
            f"SELECT run, session, seq, count(*) FROM read_parquet({files}, union_by_name = true)"
            " WHERE kind IN ('message', 'refused') GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        doubled = [row for row in rows if row[3] != 1]
        if doubled:
            return f"doubled: {doubled[:3]}"
        found = Counter((run, session) for run, session, *_ in rows)
        detections = self.collected_detections()
        for checked, (run, trace) in enumerate(self.complete, 1):
            for session, messages in trace.sessions.items():
                if found[run, session] != len(messages):
                    return f"{run}/{session}: {found[run, session]} of {len(messages)} messages"
            if in_any_order(detections.get(run, [])) != trace.detections:
                return f"{run}: other detections than the undisturbed run"
            self.report_checked("Parquet", checked, len(self.complete))
        return None

    def collected_detections(self):
        """By run."""
        files = sorted(str(path) for path in self.lake.glob("v1/detections/tenant=*/day=*/*.parquet"))
        self.report_rarely("detections", f"reading {len(files)} files of detections")
        by_run = {}
        rows = duckdb.sql(f"SELECT run, detection FROM read_parquet({files}, union_by_name = true)").fetchall()
        for run, detection in rows:
            by_run.setdefault(run, []).append(json.loads(detection))
        return by_run


def is_published(host):
    import sqlite3

    with open_archive(host) as archive:
        last = archive.execute("SELECT max(id) FROM entries").fetchone()[0] or 0
    with sqlite3.connect(f"file:{host.data}/fleet.db?mode=ro", uri=True) as store:
        return store.execute("SELECT entry FROM position").fetchone()[0] >= last


__all__ = ["Broken", "FleetKilling", "make_traces"]
