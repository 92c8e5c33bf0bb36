"""Kills a real digd at seeded random moments under load, restarts it, and checks its guarantees.

Several streams send the messages of traces generated from the seed; each stream is one session of a run. Each trace is
first played to an undisturbed daemon, whose answers, detections and graph are the expectation. Then the same traces
are played, run after run, to the daemon that is killed.

Checked on every connection:

  - `welcome` names at least the seq that was acked before: no acked message is lost;
  - each answer is the expected one, also after a kill;
  - an ack follows the answers to all messages that this connection sent up to it;
  - after the welcome come the answers to acked messages that no earlier connection received (`answered_seq`).

Checked when a run is complete: the archive has every message exactly once and in order; the answers, detections,
interventions and graph equal those of the undisturbed run.

The seed determines the moments and the load, but not how far each message has come when the kill happens. A seed
repeats the experiment, not each step of it.
"""

import asyncio
import hashlib
import json
import random
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import quote
from urllib.request import urlopen

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

AGENTS = ["a", "b", "c"]
TIMEOUT_S = 60.0  # generous, for sanitizers and busy machines
TRACES = 6
MESSAGES = 600  # in each trace
BURST = 16  # messages that a stream sends before it yields to the others


class Broken(AssertionError):
    """A broken guarantee."""


def must(holds, message):
    if not holds:
        raise Broken(message)


# ---- traces


def windows_trace(dice, length):
    """One session that exercises windows, give-backs and refused messages."""
    ts, messages, open_, pending, n = 0, [], [], [], 0
    while len(messages) < length - 1:
        ts += dice.choice([0, 1, 50, 3000, 12_000])
        kind = dice.random()
        if kind < 0.3 or not pending and not open_:
            n += 1
            to = dice.sample([*AGENTS, "ghost"], dice.randint(1, 2))
            messages.append(
                {"type": "event", "event": {"id": f"e{n}", "recipients": to, "payload": "x" * dice.randint(0, 300)}}
            )
            pending += [(f"e{n}", a) for a in to if a != "ghost"]
        elif kind < 0.55 and pending:
            e, agent = pending.pop(dice.randrange(len(pending)))
            n += 1
            messages.append({"type": "activation_started", "activation": f"v{n}", "agent": agent, "inputs": [e]})
            open_.append((f"v{n}", e))
        elif kind < 0.9 and open_:
            v, e = open_.pop(dice.randrange(len(open_)))
            outputs = []
            for _ in range(dice.randint(0, 2)):
                n += 1
                to = dice.choice([*AGENTS, "ghost"])
                outputs.append({"id": f"e{n}", "recipients": [to]})
                pending += [(f"e{n}", to)] if to != "ghost" else []
            reaction = dice.choice(["consume", "consume", "wait", "discard", {"reroute": [dice.choice(AGENTS)]}])
            messages.append(
                {"type": "activation_ended", "activation": v, "reactions": {e: reaction}, "outputs": outputs}
            )
        elif kind < 0.95:
            messages.append({"type": "event", "event": {"id": "e1", "recipients": ["a"]}})  # refused after the first
        else:
            messages.append({"type": "time"})
        messages[-1]["ts"] = ts
    return [
        {**m, "seq": i} for i, m in enumerate([*messages, {"type": "run_ended", "outcome": "success", "ts": ts}], 1)
    ]


def shared_trace(dice, length, session):
    """One of two independent sessions of a run: answers and graph do not depend on their interleaving.

    No time passes, and each session has agents and ids of its own.
    """
    messages, open_, pending, n = [], [], [], 0
    agents = [f"{session}-{i}" for i in range(3)]
    while len(messages) < length:
        kind = dice.random()
        n += 1
        if kind < 0.35 or not pending and not open_:
            to = dice.choice(agents)
            messages.append({"type": "event", "event": {"id": f"{session}{n}", "recipients": [to, f"ghost-{session}"]}})
            pending.append((f"{session}{n}", to))
        elif kind < 0.65 and pending:
            e, agent = pending.pop(dice.randrange(len(pending)))
            messages.append(
                {"type": "activation_started", "activation": f"v{session}{n}", "agent": agent, "inputs": [e]}
            )
            open_.append((f"v{session}{n}", e))
        elif open_:
            v, e = open_.pop(dice.randrange(len(open_)))
            to = dice.choice([*agents, f"ghost-{session}"])
            messages.append(
                {
                    "type": "activation_ended",
                    "activation": v,
                    "reactions": {e: dice.choice(["consume", "discard"])},
                    "outputs": [{"id": f"{session}{n}", "recipients": [to], "fyi": True}],
                }
            )
    return [{**m, "ts": 5, "seq": i} for i, m in enumerate(messages, 1)]


@dataclass
class Trace:
    """The messages of the sessions of a run, and the expected results."""

    sessions: dict
    hello: dict
    answers: dict = field(default_factory=dict)  # (session, seq) → frame
    interventions: dict = field(default_factory=dict)  # id → frame
    detections: list = field(default_factory=list)
    graph: dict = field(default_factory=dict)

    @property
    def length(self):
        return sum(map(len, self.sessions.values()))


def make_traces(seed, count=TRACES, length=MESSAGES):
    traces = []
    for i in range(count):
        dice = random.Random(f"{seed}/{i}")
        if i % 3 == 2:
            traces.append(Trace({s: shared_trace(dice, length // 2, s) for s in ("one", "two")}, {}))
        else:
            traces.append(Trace({"main": windows_trace(dice, length)}, {"agents": AGENTS}))
    return traces


# ---- one session of one run, over several connections


class Stream:
    def __init__(self, run, session, trace, learn=False):
        self.run, self.session, self.trace, self.learn = run, session, trace, learn
        self.messages = trace.sessions[session]
        self.acked = 0
        self.waiting_for = {q for s, q in trace.answers if s == session}  # agents wait for these answers
        self.repeated = 0  # answers that came only after a reconnect
        self.interventions = {}
        self.connections = 0
        self.done = False

    async def run_connection(self, address):
        """Sends and receives until all messages are acked; returns False if the connection breaks before that."""
        try:
            async with connect(
                f"ws://{address}/v1/ingest?run={quote(self.run)}",
                subprotocols=["digd.v1"],
                compression=None,
                max_size=None,
                open_timeout=TIMEOUT_S,
                close_timeout=1,
            ) as ws:
                await self.converse(ws)
        except (ConnectionClosed, OSError, EOFError):
            return False
        except Exception as e:  # the WebSocket upgrade fails in several ways when the daemon is killed
            if isinstance(e, (Broken, asyncio.CancelledError)) or not type(e).__module__.startswith("websockets"):
                raise
            return False
        return self.done

    async def converse(self, ws):
        hello = {
            "type": "hello",
            "protocol": 1,
            "run": self.run,
            "session": self.session,
            "clock": "trace",
            **self.trace.hello,
        }
        if self.connections:
            hello["answered_seq"] = min(self.waiting_for, default=len(self.messages) + 1) - 1
        welcome = await self.greet(ws, hello)
        must(welcome["type"] == "welcome", f"{self}: expected a welcome, got {welcome}")
        at = welcome["acked_seq"]
        must(at >= self.acked, f"{self}: {self.acked} was acked, but the welcome after a restart names only {at}")
        self.acked, self.connections = at, self.connections + 1
        missed = {q for q in self.waiting_for if q <= at}
        while missed:
            frame = json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))
            if frame["type"] == "intervention":
                self.check_intervention(frame)
            elif frame["type"] != "ack":
                must(frame["seq"] in missed, f"{self}: expected the answers to {sorted(missed)[:5]}, got {frame}")
                self.check_answer(frame)
                missed.discard(frame["seq"])
                self.repeated += 1
        if at == len(self.messages):
            self.done = True
            return
        waiting = asyncio.create_task(self.listen(ws, at))
        try:
            credits = welcome["credits"]
            for i in range(at, len(self.messages), BURST):
                while i + BURST - self.acked > credits and not waiting.done():
                    await asyncio.sleep(0.001)
                for m in self.messages[i : i + BURST]:
                    await ws.send(json.dumps(m))
                await asyncio.sleep(0)
            # Send the last message again: its ack follows all pending answers.
            await ws.send(json.dumps(self.messages[-1]))
            await waiting
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            if waiting.done() and not waiting.cancelled() and isinstance(waiting.exception(), Broken):
                raise waiting.exception()

    async def greet(self, ws, hello):
        await ws.send(json.dumps(hello))
        return json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))

    async def listen(self, ws, since):
        answered = set()
        while True:
            frame = json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))
            match frame["type"]:
                case "verdicts" | "error":
                    self.check_answer(frame)
                    answered.add(frame["seq"])
                case "intervention":
                    self.check_intervention(frame)
                case "ack":
                    must(frame["seq"] >= self.acked, f"{self}: ack {frame['seq']} after {self.acked}")
                    self.acked = frame["seq"]
                    if not self.learn:
                        missing = [
                            q
                            for q in range(since + 1, self.acked + 1)
                            if (self.session, q) in self.trace.answers and q not in answered
                        ]
                        must(not missing, f"{self}: acked up to {self.acked} without an answer to {missing[:5]}")
                    since = max(since, self.acked)
                    if self.acked == len(self.messages):
                        self.done = True
                        return

    def check_answer(self, frame):
        key = (self.session, frame["seq"])
        if self.learn:
            self.trace.answers.setdefault(key, frame)
        expected = self.trace.answers.get(key)
        must(frame == expected, f"{self}: answer {frame}\n  expected {expected}")
        self.waiting_for.discard(frame["seq"])

    def check_intervention(self, frame):
        known = (
            self.trace.interventions.setdefault(frame["id"], frame)
            if self.learn
            else self.trace.interventions.get(frame["id"])
        )
        must(frame == known, f"{self}: intervention {frame}\n  expected {known}")
        self.interventions[frame["id"]] = frame

    def __str__(self):
        return f"run {self.run} session {self.session}"


# ---- the daemon's archive and graphs


def http_json(daemon, path):
    with urlopen(f"http://{daemon.address}{path}", timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def graph_of(daemon, run):
    drawn = http_json(daemon, f"/v1/runs/{quote(run, safe='')}/graph")
    drawn.pop("run", None)
    return in_any_order(drawn)


def in_any_order(graph):
    """Sorts all lists, because the interleaving of two sessions is arbitrary."""
    if isinstance(graph, dict):
        return {k: in_any_order(v) for k, v in graph.items()}
    if isinstance(graph, list):
        return sorted((in_any_order(v) for v in graph), key=lambda v: json.dumps(v, sort_keys=True))
    return graph


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def detections_of(db, run):
    rows = db.execute(
        "SELECT json FROM detections WHERE run = (SELECT max(number) FROM runs WHERE run = ?) ORDER BY id", (run,)
    )
    return in_any_order([json.loads(j) for (j,) in rows])


def check_archive(db, run, trace):
    """Checks that the archive has each message once, in order and unchanged."""
    for session, messages in trace.sessions.items():
        rows = db.execute(
            "SELECT seq, frame FROM entries WHERE run = (SELECT max(number) FROM runs WHERE run = ?) AND session = ?"
            " AND kind IN ('message', 'refused') ORDER BY id",
            (run, session),
        ).fetchall()
        seqs = [seq for seq, _ in rows]
        twice = [seq for seq, n in Counter(seqs).items() if n > 1]
        must(not twice, f"run {run} session {session}: archived more than once: {twice[:5]}")
        must(
            seqs == list(range(1, len(messages) + 1)),
            f"run {run} session {session}: of {len(messages)} acked messages "
            f"{len(seqs)} are in the archive, or not in order",
        )
        for (seq, frame), sent in zip(rows, messages):
            must(json.loads(frame) == sent, f"run {run} session {session}: {seq} is archived as {frame}")


def open_archive(daemon):
    return sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True, timeout=TIMEOUT_S)


def record_expectations(daemon, traces):
    """Plays each trace undisturbed and stores the results as expectations."""

    async def play(i, trace):
        streams = [Stream(f"whole{i}", s, trace, learn=True) for s in trace.sessions]
        must(
            all(await asyncio.gather(*(s.run_connection(daemon.address) for s in streams))),
            "the undisturbed daemon closed a connection",
        )

    for i, trace in enumerate(traces):
        asyncio.run(play(i, trace))
        with open_archive(daemon) as db:
            check_archive(db, f"whole{i}", trace)
            trace.detections = detections_of(db, f"whole{i}")
        trace.graph = graph_of(daemon, f"whole{i}")
        must(trace.answers and trace.graph, "a trace has no answers or no graph")


# ---- kills


@dataclass
class Tally:
    kills: int = 0
    kills_while_starting: int = 0
    runs: int = 0
    messages: int = 0
    connections: int = 0
    repeated: int = 0  # answers that came after a reconnect only
    seconds: float = 0.0
    recoveries: list = field(default_factory=list)  # milliseconds from start to listening


class Killing:
    """Plays run after run to one daemon and kills it repeatedly."""

    def __init__(self, daemon, traces, seed, lanes=4, longest_ms=120):
        self.daemon, self.traces, self.dice = daemon, traces, random.Random(f"{seed}/kills")
        self.longest_ms = longest_ms
        self.next_run = 0
        self.lanes = [None] * lanes
        self.tally = Tally()

    def begin_run(self):
        trace = self.traces[self.next_run % len(self.traces)]
        run = f"k{self.next_run}"
        self.next_run += 1
        return [Stream(run, session, trace) for session in trace.sessions]

    def run(self, times, progress=lambda tally: None):
        begun = time.monotonic()
        while self.tally.kills < times:
            self.run_one_life(kill=True)
            self.tally.kills += 1
            self.tally.seconds = time.monotonic() - begun
            progress(self.tally)
        self.run_one_life(kill=False)
        self.tally.seconds = time.monotonic() - begun
        return self.tally

    def run_one_life(self, kill):
        after_ms = self.dice.uniform(0, self.longest_ms)
        while_starting = kill and self.dice.random() < 0.1
        if while_starting:
            self.daemon.launch()
            time.sleep(after_ms / 4000)
            self.daemon.kill()
            self.tally.kills_while_starting += 1
            return
        started = time.monotonic()
        self.daemon.start()
        self.tally.recoveries.append((time.monotonic() - started) * 1000)
        asyncio.run(self.load(after_ms / 1000 if kill else None))
        if not kill:
            self.check_finished()

    async def load(self, kill_after):
        lanes = [asyncio.create_task(self.lane(i, kill_after is not None)) for i in range(len(self.lanes))]
        if kill_after is not None:
            await asyncio.wait(lanes, timeout=kill_after, return_when=asyncio.FIRST_EXCEPTION)
            must(self.daemon.process.poll() is None, f"digd ended by itself: {self.daemon.log_text()[-2000:]}")
            self.daemon.kill()
        results = await asyncio.wait_for(asyncio.gather(*lanes, return_exceptions=True), TIMEOUT_S * 2)
        for r in results:
            if isinstance(r, BaseException):
                raise r

    async def lane(self, i, until_killed):
        while True:
            if self.lanes[i] is None:
                if not until_killed:
                    return
                self.lanes[i] = self.begin_run()
            streams = self.lanes[i]
            left = [s for s in streams if not s.done]
            if not all(await asyncio.gather(*(s.run_connection(self.daemon.address) for s in left))):
                must(
                    until_killed,
                    f"{left[0]}: the daemon closed the connection unprompted: {self.daemon.log_text()[-2000:]}",
                )
                return
            self.check_run(streams)
            self.lanes[i] = None

    def check_run(self, streams):
        """Checks a completely acked run, while the daemon runs or is being killed."""
        trace, run = streams[0].trace, streams[0].run
        for s in streams:
            must(not s.waiting_for, f"{s}: never answered: {sorted(s.waiting_for)[:5]}")
        got = {id: f for s in streams for id, f in s.interventions.items()}
        must(
            got.keys() == trace.interventions.keys(),
            f"run {run}: interventions {sorted(got)}, expected {sorted(trace.interventions)}",
        )
        with open_archive(self.daemon) as db:
            check_archive(db, run, trace)
            must(detections_of(db, run) == trace.detections, f"run {run}: detections differ from the undisturbed run")
        self.tally.runs += 1
        self.tally.messages += trace.length
        self.tally.repeated += sum(s.repeated for s in streams)
        self.tally.connections += sum(s.connections for s in streams)

    def check_finished(self):
        """Checks the graphs of the last runs of each trace, which the daemon reads from the archive."""
        for i in range(max(0, self.next_run - 4 * len(self.traces)), self.next_run):
            trace = self.traces[i % len(self.traces)]
            drawn = graph_of(self.daemon, f"k{i}")
            must(
                drawn == trace.graph,
                f"run k{i}: its graph {digest(drawn)} differs from the undisturbed {digest(trace.graph)}",
            )
