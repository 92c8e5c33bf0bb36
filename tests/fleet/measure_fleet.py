"""What a fleet costs: collectors beside plain JetStream and plain pyarrow, Parquet beside SQLite."""

import argparse
import asyncio
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

import nats
import pyarrow.parquet as pq
from digd.fleet.rows import TABLES, as_table, decode
from fleet_test import all_published, fleet_config
from live import DIGCTL, Daemon, wait_until
from nats_server import NatsServer
from worker_process import Worker

STREAM = "digd"
BATCH = 1000
DOCS = Path(__file__).parents[2] / "docs"
DAY_SECONDS = 24 * 3600


def sentences():
    """Real English, as what agents write."""
    text = " ".join(file.read_text() for file in sorted(DOCS.glob("*.md")))
    return [s for s in re.split(r"(?<=[.:])\s+", re.sub(r"[`*|#>-]+", " ", text)) if len(s) > 40]


def play(daemon, run, dice, texts, steps):
    """A team whose agents answer each other with a few sentences; one event reaches nobody."""
    agents = ["planner", "coder", "reviewer", "tester"]

    def payload():
        return {"payload": {"text": " ".join(dice.sample(texts, dice.randint(1, 6)))}}

    with daemon.client(run=run, agents=agents, labels={"team": dice.choice("abc")}) as client:
        client.event("task", ["planner"], ts=0, event=payload())
        source = "task"
        for i in range(steps):
            client.start(f"v{i}", agents[i % 4], [source], ts=100 * i + 1)
            source = f"e{i}"
            to = ["nobody"] if i == steps // 2 else [agents[(i + 1) % 4]]
            client.event(source, to, source=f"v{i}", ts=100 * i + 50, event=payload())
            client.verdicts()
            usage = {"input_tokens": dice.randint(200, 4000), "output_tokens": dice.randint(20, 600), "cost": 0.01}
            client.end(f"v{i}", ts=100 * i + 60, usage=usage)
        client.tell("run_ended", outcome=dice.choice(["success", "failure"]), ts=100 * steps)
        client.wait_acked()


def say(text):
    print(text, file=sys.stderr, flush=True)


async def read_stream(url):
    """All messages as (subject, id, data), and the messages a second of a plain consumer that acknowledges each."""
    connection = await nats.connect(url)
    js = connection.jetstream()
    wanted = (await js.stream_info(STREAM)).state.messages
    subscription = await js.pull_subscribe("digd.archive.>", durable="plain", stream=STREAM)
    found = []
    begun = time.monotonic()
    while len(found) < wanted:
        for message in await subscription.fetch(BATCH, timeout=5):
            found.append((message.subject, message.headers["Nats-Msg-Id"], message.data))
            await message.ack()
    rate = wanted / (time.monotonic() - begun)
    await js.delete_consumer(STREAM, "plain")
    await connection.close()
    return found, rate


async def multiply(url, messages, times):
    """Publishes them as the messages of further archives; returns the messages a second."""
    connection = await nats.connect(url)
    js = connection.jetstream()
    begun = time.monotonic()
    for i in range(times):
        for at in range(0, len(messages), BATCH):
            part = messages[at : at + BATCH]
            copies = ((subject, f"copy{i}-{key}", data) for subject, key, data in part)
            await asyncio.gather(
                *(js.publish(subject, data, headers={"Nats-Msg-Id": key}) for subject, key, data in copies)
            )
    rate = times * len(messages) / (time.monotonic() - begun)
    await connection.close()
    return rate


def plain_pyarrow(messages, folder, batch_rows):
    """Rows a second of decoding and of writing the four tables as Parquet, without a stream and without duplicates."""
    begun = time.monotonic()
    decoded = [decode(*message) for message in messages]
    decode_rate = len(messages) / (time.monotonic() - begun)
    begun = time.monotonic()
    for at in range(0, len(decoded), batch_rows):
        for table in TABLES:
            rows = [row for entry in decoded[at : at + batch_rows] for row in entry.tables[table]]
            if rows:
                pq.write_table(as_table(table, rows), folder / f"{table}-{at}.parquet", compression="zstd")
    return decode_rate, len(messages) / (time.monotonic() - begun)


def collect(nats_server, root, count):
    """Rows a second of this many collectors together, from their start to the end of the last one."""
    command = [sys.executable, "-m", "digd.fleet", "collect", str(root), "--nats", nats_server.url, "--until-empty"]
    begun = time.monotonic()
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(count)
    ]
    rows = 0
    for process in running:
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        rows += int(out.split()[0])
    return rows, rows / (time.monotonic() - begun)


def forget_consumer(nats_server):
    nats_server.request(f"$JS.API.CONSUMER.DELETE.{STREAM}.collector")


def work(nats_server, root, runs, count):
    """Tasks a second of this many workers, for one pass of `attribute chief` over the runs."""
    common = [f"--fleet={root}", f"--fleet={nats_server.url}"]
    with ExitStack() as ending:
        for _ in range(count):
            ending.enter_context(Worker(nats_server, root))
        environment = {**os.environ, "DIGD_PYTHON": sys.executable}
        # Another number of suspects makes other tasks: their results are not known yet.
        command = [DIGCTL, "attribute", "chief", "--format", "json", "--brief", "--top", str(count), *common]
        begun = time.monotonic()
        done = subprocess.run([*command, "--on-workers"], capture_output=True, text=True, env=environment)
        seconds = time.monotonic() - begun
        assert done.returncode == 0 and done.stdout.count("\n") == runs, done.stderr
        return runs / seconds


def bytes_below(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))


def archive_bytes(daemon):
    with sqlite3.connect(f"{daemon.data}/digd.sqlite") as archive:
        archive.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        entries = archive.execute("SELECT count(*) FROM entries").fetchone()[0]
        payload = archive.execute("SELECT sum(length(frame)) FROM entries").fetchone()[0]
    return entries, Path(f"{daemon.data}/digd.sqlite").stat().st_size, payload


def measure(folder, given):
    dice, texts = random.Random(given.seed), sentences()
    found = {"cores": os.cpu_count(), "load average (1 minute)": os.getloadavg()[0]}
    with NatsServer(folder / "nats") as server:
        with Daemon(folder / "d", fleet_config(server, stream_bytes=4 << 30)) as daemon:
            say(f"playing {given.runs} runs")
            for i in range(given.runs):
                play(daemon, f"r{i}", dice, texts, given.steps)
            wait_until(lambda: all_published(daemon), "the publication", within=120)
        entries, size, payload = archive_bytes(daemon)
        say("plain JetStream and plain pyarrow")
        messages, found["plain JetStream: reads and acks a second"] = asyncio.run(read_stream(server.url))
        assert len(messages) == entries
        state = server.request(f"$JS.API.STREAM.INFO.{STREAM}")["state"]
        found["plain JetStream: publishes a second"] = asyncio.run(multiply(server.url, messages, given.copies))
        (folder / "plain").mkdir()
        rates = plain_pyarrow(messages, folder / "plain", 10_000)
        found["plain JSON: messages a second decoded to rows"], found["plain pyarrow: rows a second written"] = rates
        total = entries * (given.copies + 1)
        for count in (1, 2, 4):
            say(f"{count} collectors")
            rows, found[f"{count} collectors: rows a second"] = collect(server, folder / f"lake{count}", count)
            assert rows == total, (rows, total)
            forget_consumer(server)
    # What one host's messages need, without the copies, which compress too well.
    with NatsServer(folder / "nats2") as server:
        (daemon.data / "fleet.db").unlink()  # the position: all is published again
        with Daemon(folder / "d", fleet_config(server)) as again:
            wait_until(lambda: all_published(again), "the publication", within=120)
        collect(server, folder / "lake", 1)
        parquet = bytes_below(folder / "lake")
        compact = [sys.executable, "-m", "digd.fleet", "compact", str(folder / "lake")]
        subprocess.run(compact, check=True, stdout=subprocess.DEVNULL)
        found |= {
            "entries of one host": entries,
            "bytes of an entry's message": payload / entries,
            "bytes of an entry in the stream": state["bytes"] / entries,
            "bytes of an entry in SQLite": size / entries,
            "bytes of an entry in Parquet": parquet / entries,
            "bytes of an entry in Parquet, compacted": bytes_below(folder / "lake") / entries,
        }
        for count in (1, 2, 4):
            say(f"{count} workers")
            found[f"{count} workers: runs a second attributed"] = work(server, folder / "lake", given.runs, count)
    return found


def ratios(found):
    """Of rates on the same machine in the same minutes. What else it does changes them less than the rates."""
    collector = found["1 collectors: rows a second"]
    worker = found["1 workers: runs a second attributed"]
    parquet = found["bytes of an entry in Parquet, compacted"]
    return {
        "a collector to plain reads and acks": collector / found["plain JetStream: reads and acks a second"],
        "a collector to decoding alone": collector / found["plain JSON: messages a second decoded to rows"],
        "a collector to plain pyarrow": collector / found["plain pyarrow: rows a second written"],
        "2 collectors to one": found["2 collectors: rows a second"] / collector,
        "4 collectors to one": found["4 collectors: rows a second"] / collector,
        "2 workers to one": found["2 workers: runs a second attributed"] / worker,
        "4 workers to one": found["4 workers: runs a second attributed"] / worker,
        "Parquet to SQLite, bytes": parquet / found["bytes of an entry in SQLite"],
    }


def model(found, given):
    """A fleet of this size, from the figures above."""
    rate = given.hosts * given.rate
    share = given.busy / 100
    collectors = rate / (found["1 collectors: rows a second"] * share)
    publishes = rate / (found["plain JetStream: publishes a second"] * share)
    day = rate * DAY_SECONDS
    parquet = day * found["bytes of an entry in Parquet, compacted"]
    kept = parquet * given.keep_days
    return {
        "hosts": given.hosts,
        "messages a second of each": given.rate,
        "messages a second": rate,
        "messages a day": day,
        "streams, each on a server of its own, at least": math.ceil(publishes),
        "collectors, at least": math.ceil(collectors),
        "collectors of one stream": math.ceil(collectors / math.ceil(publishes)),
        "the stream's disk for a day, GB": day * found["bytes of an entry in the stream"] / 1e9,
        "Parquet a day, GB": parquet / 1e9,
        f"Parquet of {given.keep_days} days, TB": kept / 1e12,
        f"storage a month at {given.price} a GB and month": kept / 1e9 * given.price,
        "files of 256 MiB a day": math.ceil(parquet / (256 << 20)),
    }


def shown(value):
    return f"{value:,.0f}" if isinstance(value, int) or value >= 10 else f"{value:.2g}"


def main():
    options = argparse.ArgumentParser(prog="scripts/measure-fleet", description=__doc__)
    options.add_argument("--runs", type=int, default=150)
    options.add_argument("--steps", type=int, default=30, help="activations of a run")
    options.add_argument("--copies", type=int, default=6, help="how often the stream has the messages besides")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--hosts", type=int, default=10_000, help="of the model")
    options.add_argument("--rate", type=float, default=10.0, help="of the model: messages a second of each host")
    options.add_argument("--busy", type=float, default=50.0, help="of the model: how busy a part may be, in percent")
    options.add_argument("--keep-days", type=int, default=90, help="of the model: how long Parquet is kept")
    options.add_argument("--price", type=float, default=0.023, help="of the model: of a GB of storage a month")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="digd-measure-fleet-"))
    try:
        found = measure(folder, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    answer = {"measured": found, "ratios": ratios(found), "model": model(found, given)}
    if given.json:
        print(json.dumps(answer, indent=2))
        return 0
    for title, part in answer.items():
        print(f"{title}:")
        for name, value in part.items():
            print(f"  {name:<68} {shown(value):>16}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
