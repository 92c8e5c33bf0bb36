"""Writes the Parquet files of a small fleet, whose runs are copies of real ones: small_fleet.py FOLDER RUNS"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from fleet_test import all_published, collect, fleet_config  # noqa: E402
from live import Daemon, wait_until  # noqa: E402
from many_runs import multiply  # noqa: E402
from nats_server import NatsServer  # noqa: E402


def say(client, id, to, text, ts, **more):
    client.tell("event", event={"id": id, "recipients": to, "payload": {"text": text}, **more}, ts=ts)


def play(daemon, run, outcome, steps):
    """Plans and codes with usage; one event reaches nobody."""
    with daemon.client(run=run, agents=["planner", "coder", "tester"], clock="trace") as client:
        say(client, "task", ["planner"], "Compare the prices of wool in three shops", ts=0)
        client.start("v0", "planner", ["task"], ts=5)
        for i in range(steps):
            say(client, f"e{i}", ["coder"], f"step {i}", ts=10 + i, source="v0")
        client.end("v0", ts=200, usage={"input_tokens": 1200, "output_tokens": 300, "cost": 0.0125})
        client.start("v1", "coder", [f"e{i}" for i in range(steps)], ts=210)
        say(client, "lost", ["nobody"], "who reads this?", ts=230, source="v1")
        client.verdicts()
        client.end("v1", ts=250, usage={"input_tokens": 900, "output_tokens": 800, "cost": 0.02})
        if outcome is not None:
            client.tell("run_ended", outcome=outcome, ts=300)
        client.wait_acked()


def write(folder, runs):
    with tempfile.TemporaryDirectory() as made, NatsServer(Path(made) / "nats") as nats:
        with Daemon(Path(made) / "d", fleet_config(nats)) as daemon:
            for i, outcome in enumerate(["success", "success", "failure", None]):
                play(daemon, f"model-{i}", outcome, steps=i + 2)
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, Path(made) / "lake")
        multiply(Path(made) / "lake", folder, runs, days=3)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
