"""Finds what the slowest round trips waited for. Called by scripts/measure-slowest.

Loads digd and the echo server in turn, as scripts/bench does, while the kernel records which thread each processor runs
and the slow system calls. Then splits each round trip by what ran while it lasted. Needs root and tracefs. Recording
makes every round trip slower by a few microseconds.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import BIN, ROOT, Daemon, Echo, client_and_server_processors, keep_on, machine, say  # noqa: E402

TRACING = Path("/sys/kernel/tracing")
# Calls that can wait for the disk, for memory or for a lock. Those of the socket are left out: they would slow down
# every round trip.
CALLS = ["fdatasync", "fsync", "pwrite64", "pwritev", "pread64", "ftruncate", "fallocate", "sync_file_range"]
CALLS += ["madvise", "mmap", "munmap", "brk", "futex", "clock_nanosleep"]
LINE = re.compile(r"^\s*(?P<comm>.{1,16})-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<at>\d+\.\d+): (?P<step>.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) .*prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+)")
WAKEUP = re.compile(r"comm=(.*) pid=(\d+) prio")
CALL = re.compile(r"sys_(\w+?)(\(| -> )")


class Recording:
    """The kernel's record of the scheduler, in an instance of its own, inside a `with` block."""

    def __init__(self):
        self.folder = TRACING / f"instances/digd-{os.getpid()}"

    def __enter__(self):
        try:
            self.folder.mkdir()
        except OSError as error:
            sys.exit(f"needs root and tracefs (mount -t tracefs nodev {TRACING}): {error}")
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", 160_000)
        wanted = ["sched/sched_switch", "sched/sched_wakeup", "exceptions/page_fault_user"]
        wanted += [f"syscalls/sys_{side}_{call}" for call in CALLS for side in ("enter", "exit")]
        for event in wanted:
            self.write(f"events/{event}/enable", 1)
        return self

    def write(self, file, value):
        (self.folder / file).write_text(str(value))

    def lines(self):
        self.write("tracing_on", 0)
        with (self.folder / "trace").open(errors="replace") as file:
            yield from file
        lost = sum(
            int(re.search(r"overrun: (\d+)", stats.read_text())[1]) for stats in self.folder.glob("per_cpu/cpu*/stats")
        )
        if lost:
            sys.exit(f"the kernel's buffer lost {lost} events: measure less at a time")

    def __exit__(self, *_):
        self.folder.rmdir()


class Machine:
    """Which thread each processor runs, which threads wait to run, and in which system call each thread is."""

    def __init__(self):
        self.running, self.runnable, self.calls, self.names = {}, set(), {}, {}
        self.faults = collections.Counter()

    def follow(self, pid, cpu, step):
        name, _, rest = step.partition(": ")
        if name == "sched_switch":
            before, state, comm, after = SWITCH.search(rest).groups()
            self.names[int(after)] = comm
            self.running[cpu] = int(after)
            self.runnable.discard(int(after))
            if state.startswith("R"):
                self.runnable.add(int(before))
        elif name == "sched_wakeup":
            comm, thread = WAKEUP.search(rest).groups()
            self.names[int(thread)] = comm
            if int(thread) not in self.running.values():
                self.runnable.add(int(thread))
        elif name == "page_fault_user":
            self.faults[pid] += 1
        elif call := CALL.match(step):
            self.calls[pid] = call[1] if call[2] == "(" else None

    def thread_on(self, cpu):
        """Its name without numbers, and its system call."""
        pid = self.running.get(cpu, 0)
        name = self.names.get(pid, "idle") if pid else "idle"
        name = re.sub(r"[-/:]?[uH\d:]*\d.*$", "", name)
        return f"{name}, {self.calls[pid]}" if self.calls.get(pid) else name

    def cause(self, client, server, client_cpu, serving_cpu):
        """What a round trip waits for now."""
        if self.running.get(serving_cpu) == server:
            return f"the server runs{', ' + self.calls[server] if self.calls.get(server) else ''}"
        if server in self.runnable:
            return f"the server's processor runs {self.thread_on(serving_cpu)}"
        if self.calls.get(server) == "futex":
            return "the server waits for a lock"
        if self.running.get(client_cpu) == client:
            return "the client runs"
        if client in self.runnable:
            return f"the client's processor runs {self.thread_on(client_cpu)}"
        return "both wait for the kernel to wake them"


def parsed(lines):
    for line in lines:
        if found := LINE.match(line):
            yield int(float(found["at"]) * 1e9), int(found["pid"]), int(found["cpu"]), found["step"]


def split_trips(lines, trips, servers, client, cpus):
    """For each of the trips, a Counter of the nanoseconds that each cause took."""
    client_cpu, serving_cpu = cpus
    trips = sorted(trips, key=lambda trip: trip[1])
    parts = [collections.Counter() for _ in trips]
    state, first, before = Machine(), 0, 0
    for at, pid, cpu, step in parsed(lines):
        while first < len(trips) and trips[first][2] <= before:
            first += 1
        for i in range(first, len(trips)):
            name, since, until = trips[i]
            if since >= at:
                break
            lasted = min(at, until) - max(before, since)
            if lasted > 0:
                parts[i][state.cause(client, servers[name], client_cpu, serving_cpu)] += lasted
        state.follow(pid, cpu, step)
        before = at
    return list(zip(trips, parts))


def thread_named(pid, prefix):
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(prefix):
            return int(task.name)
    sys.exit(f"process {pid} has no thread {prefix}")


def record(folder, tool, arguments):
    """Returns the trips of both servers with their parts."""
    client_cpu, serving_cpu = client_and_server_processors()
    trips_file = folder / "trips"
    with Daemon(folder / "data", "threads = 1\narchive = true\nruns = 20000\n") as daemon, Echo() as echo:
        port = daemon.address.rsplit(":", 1)[1]
        keep_on(serving_cpu, daemon.process.pid, "engine-")
        keep_on(serving_cpu, echo.process.pid, "digd-bench-echo")
        servers = {"digd": thread_named(daemon.process.pid, "engine-"), "echo": echo.process.pid}
        command = [BIN / tool, "--digd", f"{port}:{daemon.process.pid}", "--echo", echo.at]
        command += ["--trips", trips_file, *arguments]
        with Recording() as recording:
            client = subprocess.Popen(
                list(map(str, command)),
                stdout=subprocess.DEVNULL,
                preexec_fn=lambda: os.sched_setaffinity(0, {client_cpu}),
            )
            if client.wait() != 0:
                sys.exit(f"{tool} failed")
            trips = [
                (name, int(since), int(until))
                for name, since, until in map(str.split, trips_file.read_text().splitlines())
            ]
            done = split_trips(recording.lines(), trips, servers, client.pid, (client_cpu, serving_cpu))
        daemon.stop()
    return done


def trips_of(trips, server):
    """Nanoseconds and parts of a server's trips, the slowest first."""
    mine = [(until - since, parts) for (name, since, until), parts in trips if name == server]
    return sorted(mine, key=lambda trip: trip[0], reverse=True)


def rows_of(mine):
    """For each cause: in how many of these trips it took longest, and its share of the time of all."""
    total = sum((parts for _, parts in mine), collections.Counter())
    longest = collections.Counter(max(parts, key=parts.get) for _, parts in mine if parts)
    everything = sum(total.values()) or 1
    rows = [
        (cause, f"{longest[cause]} of {len(mine)}", f"{ns / everything:.0%}", f"{ns / len(mine) / 1000:.0f} µs")
        for cause, ns in total.most_common(12)
    ]
    return rows, statistics.median(ns for ns, _ in mine) / 1000


def percentile(durations, share):
    """The duration that this share of them exceeds, in microseconds."""
    return sorted(durations, reverse=True)[int(share * len(durations))] / 1000


def without_host(duration, parts):
    """A trip's nanoseconds without those in which a processor idles although the thread that is needed could run.

    The host wakes the processor late then, which no program in the machine can change.
    """
    return duration - sum(ns for cause, ns in parts.items() if cause.endswith("processor runs idle"))


def print_percentiles(digd, echo, share):
    """Compares the servers' trips: as they were, and without the time that the host took to wake a processor."""
    print(f"\n| p{100 * (1 - share):g} | digd to echo | ratio |\n|---|---|---|")
    for title, ns_of in {
        "as measured": lambda duration, _: duration,
        "without processors that the host wakes late": without_host,
    }.items():
        ours, theirs = (percentile([ns_of(*trip) for trip in trips], share) for trips in (digd, echo))
        print(f"| {title} | {ours:.0f} µs to {theirs:.0f} µs | {ours / theirs:.2f} |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--blocks", type=int, default=40)
    arguments = options.parse_args()
    print(machine())
    loads = [
        ("One event in flight", 0.001, "digd-load", ["--blocks", arguments.blocks, "--events", 500]),
        (
            "4,000 events a second at fixed times",
            0.001,
            "digd-load",
            ["--blocks", max(2, arguments.blocks // 10), "--events", 4000, "--rate", 4000],
        ),
        (
            "Beside a burst of another run",
            0.01,
            "digd-many-runs",
            ["--blocks", max(1, arguments.blocks // 8), "--seconds", 0.5, "--runs", 100, "--connections", 10],
        ),
    ]
    for title, share, tool, load in loads:
        say(f"{title} …")
        with tempfile.TemporaryDirectory(prefix="digd-slowest-", dir=ROOT / "build") as name:
            trips = record(Path(name), tool, load)
        both = {server: trips_of(trips, server) for server in ("digd", "echo")}
        print(f"\n## {title}")
        for each in dict.fromkeys((0.01, share)):
            print_percentiles(both["digd"], both["echo"], each)
        for server, mine in both.items():
            rows, median = rows_of(mine[: max(1, int(share * len(mine)))])
            print(f"\n### The slowest {100 * share:g} % at {server}: {median:.0f} µs in the median\n")
            print("| waits while | longest cause of | share of the time | a trip |\n|---|---|---|---|")
            print("\n".join("| " + " | ".join(row) + " |" for row in rows))


if __name__ == "__main__":
    main()
