"""Daemons of one fleet, whose runs have homes; a client that follows `moved`; a proxy between a daemon and NATS."""

import json
import socket
import sqlite3
import threading

from live import Client, Daemon, wait_until

LEASE_MS = 1_500


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Host(Daemon):
    """A daemon of a fleet. `nats`: its server's URL."""

    def __init__(self, folder, name, nats, lease_ms=LEASE_MS, more="", **options):
        self.name = name
        port = free_port()
        self.url = f"ws://127.0.0.1:{port}"
        options = {"servers": [nats], "host": name, "url": self.url, "lease_ms": lease_ms, **options}
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
        super().__init__(folder / name, f"{more}[fleet]\n{lines}", listen=f"127.0.0.1:{port}")

    def start(self):
        super().start()
        wait_until(lambda: self.has_lease(), f"the lease of {self.name}")
        return self

    def has_lease(self):
        return metric(self, "digd_fleet_lease_held") == 1

    def restart(self):
        """As `start`, without waiting for a lease."""
        return super().start()


def metric(daemon, name):
    host = "localhost" if daemon.address.startswith("unix:") else daemon.address
    request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    for line in daemon.http(request)[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def try_join(daemon, run, session="main", **hello):
    """A client with its welcome, or the error that came instead."""
    client = Client(daemon, run, session, greet=False, **hello)
    client.send_raw(client.hello)
    frame = client.receive()
    if frame["type"] == "welcome":
        client.welcome, client.seq, client.acked = frame, frame["acked_seq"], frame["acked_seq"]
        return client, None
    client.close()
    return None, frame


def join(hosts, run, first=None, session="main", within=30, **hello):
    """Follows `moved` from one host to the next, as clients do. Returns (client, host)."""
    running = [host for host in hosts if host.process.poll() is None]
    at = [first or running[0]]

    def attempt():
        try:
            client, error = try_join(at[0], run, session, **hello)
        except OSError:
            at[0] = next(host for host in [first or hosts[0], *hosts] if host.process.poll() is None)
            return None
        if client:
            return client, at[0]
        if error["code"] == "moved":
            at[0] = next(host for host in hosts if host.url == error["to"])
        return None

    return wait_until(attempt, f"a home for {run}", within=within)


def stored_rows(daemon, run):
    """What the archive has of the run, without what depends on the archive."""
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as archive:
        number = archive.execute("SELECT max(number) FROM runs WHERE run = ?", (run,)).fetchone()[0]
        entries = archive.execute(
            "SELECT n, kind, session, seq, ts, type, code, frame FROM entries WHERE run = ? ORDER BY id", (number,)
        ).fetchall()
        detections = archive.execute(
            "SELECT rule, severity, event, agent, healed, healing, cause, subject, place, action, json FROM detections"
            " WHERE run = ? ORDER BY id",
            (number,),
        ).fetchall()
        verdicts = archive.execute(
            "SELECT session, seq, event, action, recipients, inject FROM verdicts WHERE run = ? ORDER BY entry",
            (number,),
        ).fetchall()
        interventions = archive.execute(
            "SELECT id, action, event, ts, answered, json FROM interventions WHERE run = ? ORDER BY row", (number,)
        ).fetchall()
        outcomes = archive.execute(
            "SELECT rule, event, detected_ts, ts, outcome FROM outcomes WHERE run = ? ORDER BY id", (number,)
        ).fetchall()
        run_row = archive.execute(
            "SELECT run, ended, activations, input_tokens, cost, bytes FROM runs WHERE number = ?", (number,)
        ).fetchone()
    return {
        "entries": entries,
        "detections": detections,
        "verdicts": verdicts,
        "interventions": interventions,
        "outcomes": outcomes,
        "run": run_row,
    }


class Proxy:
    """Passes TCP connections on to a port until it is cut off."""

    def __init__(self, port):
        self.to = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.pairs = []
        self.is_cut = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if self.is_cut:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                except OSError:
                    near.close()
                    continue
                self.pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            self.is_cut = True
            for pair in self.pairs:
                for end in pair:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            self.pairs = []

    def mend(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.listener.close()
        self.cut()
