"""Hours of mixed load with faults on one digd that is never restarted. See scripts/soak.

Load: lanes that play generated traces, run after run, at a steady rate; a feed reader that keeps up.

Faults, repeated at seeded moments: a client that drops its connection and resumes; a client that replaces another;
garbage instead of a WebSocket; a silent connection; a feed reader that does not read; a reload; deletion of an open
run. Retention bounds the archive.

Samples: resident memory, and of it the anonymous part and pages of files; the heap, allocated and free; open
descriptors, time from message to verdicts, bytes on disk. The first two fifths are the warm-up. A line is fitted to the
rest by least squares; the soak fails if a slope would matter within a day. Pages of files are not judged: the kernel
takes them back when it needs memory. The archive's spare entries grow to their bound for about half an hour. So memory
is judged without them, and they are judged by their bound.
"""

import argparse
import asyncio
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

import killing
from live import Daemon
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

KEPT_BYTES = 32 << 20
CONFIG = f"threads = 2\n[retention]\nbytes = {KEPT_BYTES}\n[connections]\nqueue_bytes = 1048576\nidle_ms = 5000\n"
LANES = 8
TIMEOUT_S = 60.0


def is_held(message):
    """Whether a message has blocked events, and therefore gets an answer."""
    reactions = message.get("reactions", {}).values()
    return message["type"] == "event" or bool(message.get("outputs")) or any(isinstance(r, dict) for r in reactions)


def megabytes(kilobytes):
    """Of a line of /proc/PID/status."""
    return int(kilobytes.split()[0]) / 1024


class Soak:
    def __init__(self, daemon, arguments):
        self.daemon, self.arguments = daemon, arguments
        self.dice = random.Random(arguments.seed)
        self.traces = killing.make_traces(arguments.seed)
        self.latencies, self.samples = [], []
        self.messages = self.runs = self.verdicts = self.feed_frames = 0
        self.faults = dict.fromkeys(["dropped", "replaced", "garbage", "silent", "unread_feed", "reload", "deleted"], 0)
        self.unanswered = 0
        self.live = {}  # lane → its current run
        self.end = 0.0

    # ---- load

    def url(self, path):
        return f"ws://{self.daemon.address}{path}"

    def open(self, path="/v1/ingest", subprotocol="digd.v1", **more):
        return connect(
            self.url(path), subprotocols=[subprotocol], compression=None, max_size=None, open_timeout=TIMEOUT_S, **more
        )

    async def lane(self, number):
        pace = LANES / self.arguments.rate
        due = time.monotonic() + pace * number / LANES
        while time.monotonic() < self.end:
            run, trace = (
                f"soak-{number}-{self.runs}",
                self.dice.choice([t for t in self.traces if len(t.sessions) == 1]),
            )
            self.runs += 1
            self.live[number] = run
            messages, hello = (
                trace.sessions["main"],
                {"type": "hello", "protocol": 1, "run": run, "clock": "trace", **trace.hello},
            )
            seq = 0
            while seq < len(messages) and time.monotonic() < self.end:
                seq, due = await self.play(hello, messages, pace, due)

    async def play(self, hello, messages, pace, due):
        """Plays a run over one connection, until its end or a fault. Returns where and when the next may resume."""
        until = self.dice.randint(50, 2000)
        try:
            async with self.open() as ws:
                await ws.send(json.dumps(hello))
                welcome = json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))
                if welcome["type"] != "welcome":
                    return len(messages), due
                seq = welcome["acked_seq"]
                for message in messages[seq:]:
                    await asyncio.sleep(max(0, due - time.monotonic()))
                    due = max(due + pace, time.monotonic() - 1)  # after a fault, catch up for at most a second
                    begun = time.perf_counter()
                    await ws.send(json.dumps(message))
                    self.messages += 1
                    if is_held(message):
                        await self.answered(ws, message["seq"], begun)
                    until -= 1
                    if until == 0 and self.dice.random() < 0.5:
                        self.faults["dropped"] += 1
                        ws.transport.abort()
                        return 0, due
                    if until == 0:
                        self.faults["replaced"] += 1
                        return 0, due  # the next connection opens while this one closes
                await self.acked(ws, len(messages))
                return len(messages), due
        except (ConnectionClosed, OSError, asyncio.TimeoutError):
            if time.monotonic() < self.end and not self.daemon.process.poll() is None:
                raise
            return 0, time.monotonic()

    async def answered(self, ws, seq, begun):
        while True:
            frame = json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))
            if frame["type"] in ("verdicts", "error") and frame.get("seq") == seq:
                self.latencies.append(time.perf_counter() - begun)
                self.verdicts += frame["type"] == "verdicts"
                return
            if frame["type"] == "error" and frame["fatal"]:
                raise ConnectionClosed(None, None)

    async def acked(self, ws, seq):
        while True:
            frame = json.loads(await asyncio.wait_for(ws.recv(), TIMEOUT_S))
            if frame["type"] == "ack" and frame["seq"] >= seq:
                return

    async def watch(self):
        since = 0
        while time.monotonic() < self.end:
            try:
                async with self.open(f"/v1/feed?since={since}", "digd.feed.v1", max_queue=4096) as feed:
                    while time.monotonic() < self.end:
                        try:
                            frame = json.loads(await asyncio.wait_for(feed.recv(), 1))
                        except asyncio.TimeoutError:
                            continue
                        if frame["seq"] < since:
                            raise AssertionError("the feed went backwards")
                        since = frame["seq"]
                        self.feed_frames += 1
            except (ConnectionClosed, OSError):
                await asyncio.sleep(0.1)

    # ---- faults

    async def cause_faults(self):
        kinds = [self.garbage, self.silence, self.unread_feed, self.reload, self.delete]
        while time.monotonic() < self.end:
            await asyncio.sleep(self.dice.expovariate(1 / self.arguments.trouble))
            try:
                await self.dice.choice(kinds)()
            except (ConnectionClosed, OSError):
                pass

    async def garbage(self):
        self.faults["garbage"] += 1
        host, port = self.daemon.address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(self.dice.randbytes(self.dice.randint(1, 4000)) + b"\r\n\r\n")
        await asyncio.wait_for(reader.read(), TIMEOUT_S)
        writer.close()

    async def silence(self):
        self.faults["silent"] += 1
        host, port = self.daemon.address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        await asyncio.wait_for(reader.read(), TIMEOUT_S)  # until digd closes the connection
        writer.close()

    async def unread_feed(self):
        self.faults["unread_feed"] += 1
        async with self.open("/v1/feed?since=0&payloads=1", "digd.feed.v1", max_queue=1) as feed:
            await asyncio.sleep(12)  # digd drops the reader after 10
            feed.transport.abort()

    async def reload(self):
        self.faults["reload"] += 1
        self.daemon.config.write_text(CONFIG + f"# {self.faults['reload']}\n")
        self.daemon.process.send_signal(signal.SIGHUP)

    async def delete(self):
        self.faults["deleted"] += 1
        run = self.dice.choice(list(self.live.values()))
        request = Request(f"http://{self.daemon.address}/v1/runs/{run}", method="DELETE")
        await asyncio.to_thread(lambda: urlopen(request, timeout=TIMEOUT_S).read())

    # ---- samples

    async def sample(self):
        every = max(1.0, min(30.0, self.arguments.hours * 3600 / 200))
        begun = time.monotonic()
        while time.monotonic() < self.end:
            await asyncio.sleep(every)
            pid = self.daemon.process.pid
            if self.daemon.process.poll() is not None:
                raise AssertionError("digd exited: " + self.daemon.log_text()[-2000:])
            taken, self.latencies = sorted(self.latencies), []
            status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            self.samples.append(
                {
                    "hours": (time.monotonic() - begun) / 3600,
                    "resident_mb": megabytes(status["VmRSS"]),
                    "anonymous_mb": megabytes(status["RssAnon"]),
                    "file_mb": megabytes(status["RssFile"]),
                    **await asyncio.to_thread(self.heap),
                    "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                    "p50_ms": taken[len(taken) // 2] * 1000 if taken else 0.0,
                    "p99_ms": taken[len(taken) * 99 // 100] * 1000 if taken else 0.0,
                    "archive_mb": sum(f.stat().st_size for f in self.daemon.data.iterdir()) / 1e6,
                }
            )
            if sys.stderr.isatty() or len(self.samples) % 10 == 0:
                s = self.samples[-1]
                print(
                    f"{s['hours'] * 60:7.1f} min  {self.messages:>9,} messages  {s['anonymous_mb']:6.1f} MB  "
                    f"{s['descriptors']:3} fds  "
                    f"p99 {s['p99_ms']:6.2f} ms  {s['archive_mb']:6.1f} MB on disk",
                    file=sys.stderr,
                )

    def heap(self):
        """What digd has allocated and not freed, and what its allocator keeps for later."""
        with urlopen(f"http://{self.daemon.address}/metrics", timeout=TIMEOUT_S) as answer:
            metrics = answer.read()
        names = {
            "heap_mb": b"digd_heap_bytes",
            "heap_free_mb": b"digd_heap_free_bytes",
            "spare_mb": b"digd_archive_spare_bytes",
        }
        return {
            name: int(re.search(rb"^%s (\d+)$" % metric, metrics, re.MULTILINE)[1]) / 1e6
            for name, metric in names.items()
        }

    async def run(self):
        self.end = time.monotonic() + self.arguments.hours * 3600
        async with asyncio.TaskGroup() as tasks:
            for number in range(LANES):
                tasks.create_task(self.lane(number))
            for _ in range(3):
                tasks.create_task(self.cause_faults())
            tasks.create_task(self.watch())
            tasks.create_task(self.sample())


# ---- the verdict

# The growth allowed in a day, on top of three standard errors of the slope.
ALLOWED_A_DAY = {
    "anonymous_without_spare_mb": 24.0,
    "heap_without_spare_mb": 24.0,
    "descriptors": 24.0,
    "p50_ms": 10.0,
    "archive_mb": 24.0,
}
ALLOWED_AT_MOST = {"spare_mb": 2.2}  # 2 MiB are 2.1 MB (archive/parcel_pool.h, archive/spare_entries.h)


def slope_of(samples, name):
    """The least-squares slope in units an hour, and its standard error."""
    x, y = [s["hours"] for s in samples], [s[name] for s in samples]
    n, mx, my = len(x), statistics.fmean(x), statistics.fmean(y)
    sxx = sum((a - mx) ** 2 for a in x)
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sxx
    rest = sum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y))
    return slope, (rest / max(1, n - 2) / sxx) ** 0.5


def without_spare(sample):
    spare_mb = sample["spare_mb"]
    return {
        **sample,
        "anonymous_without_spare_mb": sample["anonymous_mb"] - spare_mb,
        "heap_without_spare_mb": sample["heap_mb"] - spare_mb,
    }


def judge(samples):
    samples = [without_spare(sample) for sample in samples]
    warm = samples[len(samples) * 2 // 5 :]
    rows = []
    for name in (name for name in samples[0] if name != "hours"):
        slope, error = slope_of(warm, name)
        values = [s[name] for s in warm]
        allowed = ALLOWED_A_DAY.get(name)
        grows = allowed is not None and (slope - 3 * error) * 24 > allowed
        grows = grows or max(values) > ALLOWED_AT_MOST.get(name, math.inf)
        rows.append(
            {
                "what": name,
                "first": statistics.median(values[: max(1, len(values) // 4)]),
                "last": statistics.median(values[-max(1, len(values) // 4) :]),
                "most": max(values),
                "slope_an_hour": slope,
                "error": error,
                "grows": grows,
            }
        )
    return rows


def main():
    options = argparse.ArgumentParser(
        prog="scripts/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("hours", type=float)
    options.add_argument("--rate", type=float, default=200, help="messages a second, over all lanes")
    options.add_argument(
        "--trouble", type=float, default=6, help="mean seconds between faults, for each of three fault tasks"
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", help="where to write the samples and the verdict")
    arguments = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="digd-soak-"))
    failed = None
    with Daemon(folder, CONFIG) as daemon:
        soak = Soak(daemon, arguments)
        try:
            asyncio.run(soak.run())
        except* (AssertionError, ConnectionClosed, OSError, asyncio.TimeoutError, KeyboardInterrupt) as errors:
            failed = "; ".join(repr(error) for error in errors.exceptions)
        status = daemon.stop()
    if len(soak.samples) < 10:
        sys.exit(f"too short for a result: {failed or 'fewer than ten samples'}; kept: {folder}")
    rows = judge(soak.samples)
    hours = soak.samples[-1]["hours"]
    print(
        f"{hours:.2f} hours, {soak.messages:,} messages, {soak.runs:,} runs, {soak.verdicts:,} answers, "
        f"{soak.feed_frames:,} feed frames; "
        f"exit status {status}"
    )
    print("faults: " + ", ".join(f"{n} {name}" for name, n in soak.faults.items()))
    print(f"{'':26} {'first':>9} {'last':>9} {'max':>9} {'an hour':>10} {'±':>8}")
    for r in rows:
        print(
            f"{r['what']:26} {r['first']:9.2f} {r['last']:9.2f} {r['most']:9.2f} "
            f"{r['slope_an_hour']:+10.3f} {r['error']:8.3f}"
            + ("  GROWS" if r["grows"] else "")
        )
    fine = not failed and status == 0 and not any(r["grows"] for r in rows)
    print(
        "passed: nothing grows, every message was answered"
        if fine
        else f"FAILED: {failed or 'see above'}; kept: {folder}"
    )
    if arguments.json:
        Path(arguments.json).write_text(
            json.dumps(
                {
                    "hours": hours,
                    "messages": soak.messages,
                    "faults": soak.faults,
                    "rows": rows,
                    "samples": soak.samples,
                    "fine": fine,
                },
                indent=1,
            )
        )
    if fine:
        shutil.rmtree(folder)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
