"""Cuts the network between the daemons of a fleet and NATS, in network namespaces of its own, while clients ask all.

    python tests/fleet/partitions.py CUTS [--seed S] [--runs N]        as root; default: 10 cuts

Each daemon and the server of NATS have a namespace. Clients reach every daemon by its Unix socket all the time, so both
sides of a cut are asked for the same runs. Packets are dropped silently, in both directions or in one. Each client
sends events that reach nobody: a daemon that judges answers with a detection, one that does not judge delivers them as
they are. Checked: the verdicts of one epoch come from one daemon, and after the first verdict of an epoch no daemon
judges in an earlier one.
Prints a table as JSON. Exit 1: a run had two homes; 3: this machine does not allow it.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from homes import LEASE_MS, Host, try_join
from nats_server import NatsServer
from websockets.exceptions import WebSocketException

NOT_ALLOWED = 3
HOSTS = 3
SUBNET = "10.77.0"
NATS_ADDRESS = f"{SUBNET}.9"
INSIDE = "DIGD_PARTITIONS_INSIDE"


def sh(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


def in_namespace(name):
    return ["ip", "netns", "exec", name]


def enter_namespaces():
    """Runs this program again, in network and mount namespaces of its own. Nothing of it is left on the machine."""
    missing = [tool for tool in ("unshare", "ip", "iptables") if shutil.which(tool) is None]
    command = ["unshare", "--net", "--mount"]
    if missing or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        why = f"missing: {', '.join(missing)}" if missing else "unshare --net --mount is not permitted"
        print(f"no network namespaces here: {why}", file=sys.stderr)
        return NOT_ALLOWED
    return subprocess.run([*command, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}).returncode


def make_network():
    """A bridge here, and a namespace for each host and for NATS."""
    Path("/run/netns").mkdir(exist_ok=True)
    sh("mount", "-t", "tmpfs", "none", "/run/netns")
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", "bridge0", "type", "bridge")
    sh("ip", "address", "add", f"{SUBNET}.1/24", "dev", "bridge0")
    sh("ip", "link", "set", "bridge0", "up")
    for name, address in [*((f"h{i}", f"{SUBNET}.{11 + i}") for i in range(HOSTS)), ("nats", NATS_ADDRESS)]:
        sh("ip", "netns", "add", name)
        sh("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        sh("ip", "link", "set", f"to-{name}", "master", "bridge0", "up")
        sh(*in_namespace(name), "ip", "address", "add", f"{address}/24", "dev", "eth0")
        sh(*in_namespace(name), "ip", "link", "set", "eth0", "up")
        sh(*in_namespace(name), "ip", "link", "set", "lo", "up")


class FarHost(Host):
    def __init__(self, folder, number, nats):
        self.namespace = f"h{number}"
        super().__init__(folder, self.namespace, nats.url)
        self.listen = f"unix:{folder}/{self.namespace}.socket"  # reaches into any namespace

    def command(self):
        return [*in_namespace(self.namespace), *super().command()]

    def rule(self, change, chain, side):
        sh(*in_namespace(self.namespace), "iptables", "-w", change, chain, side, NATS_ADDRESS, "-j", "DROP")


class Verdict(NamedTuple):
    run: str
    epoch: int
    host: str
    sent: float
    answered: float
    is_judged: bool


class Prober(threading.Thread):
    """Keeps asking one daemon for one run, in a session of its own."""

    def __init__(self, host, run, verdicts, stopping):
        super().__init__()
        self.host, self.run_id, self.verdicts, self.stopping = host, run, verdicts, stopping
        self.sent = 0
        self.refusals = collections.Counter()

    def run(self):
        client = None
        try:
            while not self.stopping.is_set():
                try:
                    if client is None:
                        client, epoch = self.enter()
                    if client is not None:
                        self.ask(client, epoch)
                    time.sleep(0.05)
                except (OSError, EOFError, WebSocketException) as error:
                    self.refusals[type(error).__name__] += 1
                    client = self.leave(client)
        finally:
            self.leave(client)

    def leave(self, client):
        if client is not None:
            try:
                client.drop()
            except OSError:
                pass
        return None

    def enter(self):
        client, error = try_join(self.host, self.run_id, f"at-{self.host.name}", agents=["a"])
        if client is None:
            self.refusals[error["code"]] += 1
            return None, 0
        request = f"GET /v1/runs/{self.run_id} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        home = json.loads(self.host.http(request.encode())[1].partition("\r\n\r\n")[2]).get("home")
        if home is None or not home["here"]:  # not archived yet, or taken at this moment
            return self.leave(client), 0
        return client, home["epoch"]

    def ask(self, client, epoch):
        self.sent += 1
        sent = time.monotonic()
        seq = client.event(f"lost-{self.host.name}-{self.sent}", ["nobody"], ts=int(sent * 1000))
        while True:
            frame = client.receive(5)
            if frame["type"] == "error":
                self.refusals[frame["code"]] += 1
                raise EOFError
            if frame["type"] == "verdicts" and frame["seq"] == seq:
                break
        judged = bool(frame["verdicts"][0].get("detections"))
        self.verdicts.append(Verdict(self.run_id, epoch, self.host.name, sent, time.monotonic(), judged))


def two_homes(verdicts):
    """A sentence about a run that two daemons judged at one time, or None."""
    by_run = collections.defaultdict(list)
    for verdict in verdicts:
        if verdict.is_judged:
            by_run[verdict.run].append(verdict)
    for run, judged in by_run.items():
        hosts = {}
        first_answer = {}
        for verdict in judged:
            if hosts.setdefault(verdict.epoch, verdict.host) != verdict.host:
                return f"{run}: {verdict.host} and {hosts[verdict.epoch]} both judged in epoch {verdict.epoch}"
            known = first_answer.get(verdict.epoch, verdict.answered)
            first_answer[verdict.epoch] = min(known, verdict.answered)
        for verdict in judged:
            for epoch, answered in first_answer.items():
                if epoch > verdict.epoch and verdict.sent > answered:
                    late = verdict.sent - answered
                    place = f"{verdict.host} judged in epoch {verdict.epoch}"
                    return f"{run}: {place}, {late:.3f} s after the first verdict of epoch {epoch}"
    return None


def cut(dice, hosts):
    """Cuts one or several hosts from NATS for a while, and mends it."""
    chosen = dice.sample(hosts, dice.choice([1, 1, 2, HOSTS]))
    kind = dice.choice(["both", "out", "in"])
    rules = {"both": [("OUTPUT", "-d"), ("INPUT", "-s")], "out": [("OUTPUT", "-d")], "in": [("INPUT", "-s")]}[kind]
    for host in chosen:
        for rule in rules:
            host.rule("-A", *rule)
    time.sleep(dice.uniform(0.2, 3.0) * LEASE_MS / 1000)
    for host in chosen:
        for rule in rules:
            host.rule("-D", *rule)
    time.sleep(dice.uniform(0.0, 1.5) * LEASE_MS / 1000)
    return kind


def experiment(folder, cuts, seed, run_count):
    dice = random.Random(seed)
    make_network()
    kinds = collections.Counter()
    verdicts, stopping = [], threading.Event()
    with NatsServer(folder / "nats", address=NATS_ADDRESS, prefix=in_namespace("nats")) as nats:
        hosts = [FarHost(folder, i, nats) for i in range(HOSTS)]
        probers = [Prober(host, f"r{i}", verdicts, stopping) for host in hosts for i in range(run_count)]
        try:
            for host in hosts:
                host.start()
            for prober in probers:
                prober.start()
            time.sleep(2 * LEASE_MS / 1000)
            for _ in range(cuts):
                kinds[cut(dice, hosts)] += 1
            time.sleep(4 * LEASE_MS / 1000)
        finally:
            stopping.set()
            for prober in probers:
                if prober.ident is not None:
                    prober.join(30)
            for host in hosts:
                if host.process is not None and host.process.poll() is None:
                    host.kill()
    judged = [verdict for verdict in verdicts if verdict.is_judged]
    return {
        "seed": seed,
        "cuts": dict(kinds),
        "verdicts of daemons that judged": len(judged),
        "events delivered as they were": len(verdicts) - len(judged),
        "homes of runs": len({(verdict.run, verdict.epoch) for verdict in judged}),
        "runs": run_count,
        "refused": dict(sum((prober.refusals for prober in probers), collections.Counter())),
        "two homes": two_homes(verdicts),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cuts", nargs="?", type=int, default=10)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    if INSIDE not in os.environ:
        return enter_namespaces()
    folder = Path(tempfile.mkdtemp(prefix="digd-partitions-"))
    found = experiment(folder, given.cuts, given.seed, given.runs)
    print(json.dumps(found, indent=2))
    if found["two homes"]:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
