"""Runs of the bench through the real daemon, with the real Python client.

    python bench/healing/daemon.py --seeds 1-5 --agents 6 --integers 1000 [--arm enforce] [--url ws://127.0.0.1:7344]

The world (digd-bench-healing --speak) writes one message a line. `digd.Run` sends each message to the daemon; the
daemon's answer goes back to the world. Results are lines of JSON as digd-bench-healing writes them. The run uses the
world's own clock, so the results equal those of the engine alone (tests/bench/healing_daemon_test.py).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import digd  # noqa: E402
from digd.messages import Event  # noqa: E402

BENCH = os.environ.get("DIGD_BENCH_HEALING", str(ROOT / "build/release/bin/digd-bench-healing"))
TIMEOUT_S = 60.0


def as_answer(answer: Any) -> dict[str, Any]:
    """A verdict or an intervention in the form that the world reads."""
    detections = [
        {"rule": d.rule, "event": d.event, "evidence": list(d.evidence), "healed": d.healed} for d in answer.detections
    ]
    return {
        "action": answer.action,
        "recipients": list(answer.recipients),
        "inject": answer.inject,
        "event": answer.event,
        "detections": detections,
    }


class Conductor:
    """Relays a world's messages to a daemon and the daemon's answers to the world."""

    def __init__(self, hello: dict[str, Any], url: str) -> None:
        options = {k: hello[k] for k in ("mode", "rules", "limits") if k in hello}
        self.run = digd.Run(hello["run"], hello["agents"], url=url, clock="trace", end_on_exit=False, **options)
        self.interventions: list[dict[str, Any]] = []
        self.inputs: dict[str, list[str]] = {}
        self.run.on_intervention(self._intervene)

    def _intervene(self, intervention: Any) -> None:
        self.interventions.append({**as_answer(intervention), "id": intervention.id, "event": intervention.event})

    async def relay(self, message: dict[str, Any]) -> dict[str, Any]:
        verdicts = await self._send(message)
        for verdict in verdicts:
            if verdict.as_is is not None:
                raise RuntimeError(f"no verdict on {verdict.event}: {verdict.as_is}")
        if not await self.run.flush(TIMEOUT_S):  # interventions arrive before the ack
            raise RuntimeError(f"no ack of {message['type']} {message['seq']}")
        for _ in range(3):  # the client delivers interventions on the next turn of the event loop
            await asyncio.sleep(0)
        interventions, self.interventions = self.interventions, []
        return {"verdicts": [as_answer(v) for v in verdicts], "interventions": interventions}

    async def _send(self, message: dict[str, Any]) -> tuple[Any, ...]:
        ts = message["ts"]
        kind = message["type"]
        if kind == "event":
            event = message["event"]
            return (await self.run.emit(event["recipients"], kind=event["kind"], id=event["id"], ts=ts),)
        if kind == "activation_started":
            self.inputs[message["activation"]] = message["inputs"]
            await self.run.start_activation(message["agent"], message["inputs"], id=message["activation"], ts=ts)
        elif kind == "activation_ended":
            return await self._end(message)
        elif kind == "time":
            self.run.tick(ts)
        elif kind == "run_ended":
            await self.run.end(message["outcome"])
        return ()  # the client sends `delivery` messages itself

    async def _end(self, message: dict[str, Any]) -> tuple[Any, ...]:
        v, ts = message["activation"], message["ts"]
        inputs = self.inputs.pop(v)
        if message.get("failed"):
            return await self.run.end_activation(v, error="too much for one call", ts=ts)
        outputs = [
            Event(e["id"], tuple(e["recipients"]), e["kind"], submit=e.get("submit", False)) for e in message["outputs"]
        ]
        reactions = {e: tuple(r["reroute"]) if isinstance(r, dict) else r for e, r in message["reactions"].items()}
        return await self.run.end_activation(v, reactions, outputs, inputs=inputs, ts=ts)


async def play(url: str, run: str, agents: int, integers: int, seed: int, arm: str = "enforce") -> dict[str, Any]:
    """Plays one run through the daemon at `url`; returns its result."""
    world = await asyncio.create_subprocess_exec(
        BENCH,
        "--speak",
        run,
        "--agents",
        str(agents),
        "--integers",
        str(integers),
        "--first-seed",
        str(seed),
        "--arm",
        arm,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert world.stdin is not None and world.stdout is not None
    try:
        conductor = Conductor(json.loads(await world.stdout.readline()), url)
        async with conductor.run:
            await until_connected(conductor.run)
            while True:
                message = json.loads(await world.stdout.readline() or '{"type":"silence"}')
                if "type" not in message:
                    return message
                if message["type"] == "silence":
                    raise RuntimeError("the world ended without a result")
                world.stdin.write(json.dumps(await conductor.relay(message)).encode() + b"\n")
                await world.stdin.drain()
    finally:
        world.stdin.close()
        await world.wait()


async def until_connected(run: Any) -> None:
    """Waits for the connection: a run that begins without one is delivered as is."""

    async def connected() -> None:
        while not run.connected:
            await asyncio.sleep(0.005)

    await asyncio.wait_for(connected(), TIMEOUT_S)


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs of the healing bench through a daemon, with the Python client.")
    parser.add_argument("--url", default=os.environ.get("DIGD_URL", "ws://127.0.0.1:7344"))
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--integers", type=int, default=1_000)
    parser.add_argument("--seeds", default="1-5", help="first-last")
    parser.add_argument("--arm", default="enforce")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        name = f"bench-{arguments.agents}-{arguments.integers}-{arguments.arm}-{seed}"
        print(
            json.dumps(
                asyncio.run(play(arguments.url, name, arguments.agents, arguments.integers, seed, arguments.arm))
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
