"""Runs the benchmarks of build/release/bin and writes docs/performance.md. Called by scripts/bench.

Every goal is a ratio to a baseline measured in the same run, alternating with digd. The machines are shared, so an
absolute figure depends on other load. --quick measures less of everything; --no-write only prints.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build/release/bin"
sys.path.insert(0, str(ROOT / "tests/daemon"))
os.environ.setdefault("DIGD_BIN", str(BIN / "digd"))

from live import Daemon  # noqa: E402

MEMORY = Path("/dev/shm")  # a file system without a disk

# Nanoseconds a node of the paper's Python library with its healers, by nodes. Published figures, not measured here.
PUBLISHED_NS = {1_000: 1_654_000, 10_000: 20_595_000}


def say(text):
    print(text, file=sys.stderr, flush=True)


def output_of(tool, *args, processor=None, given=None):
    """Runs a tool, on that processor alone if one is given; returns what it prints."""
    pin = None if processor is None else lambda: os.sched_setaffinity(0, {processor})
    done = subprocess.run([BIN / tool, *map(str, args)], capture_output=True, text=True, preexec_fn=pin, input=given)
    if done.returncode != 0:
        sys.exit(f"{tool} failed: {done.stderr.strip()}")
    return done.stdout


def run(tool, *args, processor=None):
    """Runs a tool that prints JSON; returns that."""
    return json.loads(output_of(tool, *args, processor=processor))


class Baseline:
    """A server that digd is compared with, running inside a `with` block."""

    def __init__(self, program, *args):
        self.program, self.args = program, args

    def __enter__(self):
        command = [str(part) for part in (BIN / self.program, *self.args)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.at = f"{self.process.stdout.readline().strip()}:{self.process.pid}"
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Echo(Baseline):
    """The bare echo server."""

    def __init__(self):
        super().__init__("digd-bench-echo")


class LogServer(Baseline):
    """A server that batches, works for each event, and appends each frame to a log in the folder `keep`."""

    def __init__(self, work_ns, keep=None):
        super().__init__("digd-bench-log-server", "--work", round(work_ns), *(["--keep", keep] if keep else []))


def client_and_server_processors():
    """One processor for the client and one for the threads that serve it.

    Without pinning, the scheduler puts both on one processor or on two, by chance. A round trip takes twice as long in
    one case as in the other.
    """
    processors = sorted(os.sched_getaffinity(0))
    return processors[0], processors[-1]


def keep_on(processor, pid, name):
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            os.sched_setaffinity(int(task.name), {processor})


def compare(tool, folder, work_ns, settings, *args):
    """Puts digd and the echo under the same load, then the log server and an echo; returns both pairs' figures.

    Not all three in turn: what one archive still writes would delay the other server that has one.
    """
    client, serving = client_and_server_processors()
    folder.mkdir(parents=True, exist_ok=True)
    with Daemon(folder, f"threads = 1\n{settings}") as daemon, Echo() as echo:
        port = daemon.address.rsplit(":", 1)[1]
        keep_on(serving, daemon.process.pid, "engine-")
        keep_on(serving, echo.process.pid, "digd-bench-echo")
        got = run(tool, "--digd", f"{port}:{daemon.process.pid}", "--echo", echo.at, *args, processor=client)
        daemon.stop()
    with LogServer(work_ns, None if "archive = false" in settings else folder) as log_server, Echo() as echo:
        keep_on(serving, log_server.process.pid, "digd-bench-log")
        keep_on(serving, echo.process.pid, "digd-bench-echo")
        of_log_server = run(tool, "--log-server", log_server.at, "--echo", echo.at, *args, processor=client)
    return {**got, "log_server": {"digd": of_log_server["log_server"], "echo": of_log_server["echo"]}}


def load(folder, archive, work_ns, *args):
    return compare("digd-load", folder, work_ns, f"archive = {str(archive).lower()}\n", *args)


def ratio(measured, figure):
    return measured["digd"][figure] / measured["echo"][figure]


def echo_to_itself(figures, figure, title):
    """A row that compares the echo's blocks with each other: every second one with the rest, the larger figure first.

    A goal for digd below this ratio says more about the machine than about digd.
    """
    small, large = sorted(half[figure] for half in figures["halves"])
    return (title, f"{large / 1000:,.1f} µs to {small / 1000:,.1f} µs", large / small, "")


def sockets(folder, work_ns, quick):
    blocks = 10 if quick else 40
    say("one connection, one event in flight …")
    single = load(folder / "one", True, work_ns, "--blocks", blocks, "--events", 500)
    say("one connection, events at fixed times …")
    paced = load(folder / "paced", True, work_ns, "--blocks", blocks, "--events", 1000, "--rate", 4000)
    say("sixteen connections …")
    many = load(folder / "many", True, work_ns, "--connections", 16, "--blocks", blocks, "--events", 200)
    bare = load(folder / "bare", False, work_ns, "--connections", 16, "--blocks", blocks, "--events", 200)
    say("one connection, 64 events in flight …")
    deep = load(folder / "deep", True, work_ns, "--in-flight", 64, "--blocks", blocks, "--events", 4000)
    deep_bare = load(folder / "deep_bare", False, work_ns, "--in-flight", 64, "--blocks", blocks, "--events", 4000)
    us = lambda measured, figure: (  # noqa: E731
        f"{measured['digd'][figure] / 1000:.1f} µs to {measured['echo'][figure] / 1000:.1f} µs"
    )
    rate = lambda measured, figure: f"{measured['digd'][figure]:,.0f} to {measured['echo'][figure]:,.0f}"  # noqa: E731
    log_server = lambda measured, figure, show: (  # noqa: E731
        LOG_SERVER,
        show(measured["log_server"], figure),
        ratio(measured["log_server"], figure),
        "",
    )
    return [
        (
            "one connection, archive on: verdict's round trip, p50",
            us(single, "p50_ns"),
            ratio(single, "p50_ns"),
            "≤ 1.10",
        ),
        ("the same, p99", us(single, "p99_ns"), ratio(single, "p99_ns"), "≤ 1.20"),
        log_server(single, "p99_ns", us),
        ("verdict's round trip, p99.9", us(single, "p999_ns"), ratio(single, "p999_ns"), "≤ 1.5"),
        echo_to_itself(single["echo"], "p999_ns", "p99.9 of half of the echo's blocks, compared with the other half"),
        ("4,000 events a second at fixed times, p50", us(paced, "p50_ns"), ratio(paced, "p50_ns"), ""),
        ("the same, p99", us(paced, "p99_ns"), ratio(paced, "p99_ns"), "≤ 1.20"),
        log_server(paced, "p99_ns", us),
        ("4,000 events a second at fixed times, p99.9", us(paced, "p999_ns"), ratio(paced, "p999_ns"), "≤ 1.5"),
        echo_to_itself(paced["echo"], "p999_ns", "p99.9 of half of the echo's blocks, compared with the other half"),
        (
            "16 connections, no archive: events a CPU second of the serving thread",
            rate(bare, "per_serving_cpu_second"),
            ratio(bare, "per_serving_cpu_second"),
            "≥ 0.80",
        ),
        (
            "16 connections, archive on",
            rate(many, "per_serving_cpu_second"),
            ratio(many, "per_serving_cpu_second"),
            "≥ 0.95",
        ),
        log_server(many, "per_serving_cpu_second", rate),
        (
            "one connection, 64 in flight, no archive: events a second",
            rate(deep_bare, "per_second"),
            ratio(deep_bare, "per_second"),
            "≥ 3",
        ),
        (
            "the same: events a CPU second of the serving thread",
            rate(deep_bare, "per_serving_cpu_second"),
            ratio(deep_bare, "per_serving_cpu_second"),
            "",
        ),
        log_server(deep_bare, "per_serving_cpu_second", rate),
        (
            "one connection, 64 in flight, archive on: events a CPU second of the serving thread",
            rate(deep, "per_serving_cpu_second"),
            ratio(deep, "per_serving_cpu_second"),
            "≥ 4.5",
        ),
        log_server(deep, "per_serving_cpu_second", rate),
    ]


# A row below one of digd's: what batches, the work for an event and a log cost without digd.
LOG_SERVER = "the log server, compared with the echo in the same way"


# Limits that no load reaches: what is measured is the judging, not the healing.
ALL_GUARDS = """
[guards.budget]
max_tokens = 1000000000000
max_cost = 1000000000.0
max_model_calls = 1000000000
max_tool_calls = 1000000000
max_activations = 1000000000
[guards.fan_out]
max_depth = 1000000000
max_outputs = 1000000000
max_live = 1000000000
[guards.repetition]
max_repeats = 50
[guards.stall]
after_ms = 3600000
"""


def guards(folder, quick):
    """CPU a verdict of a digd with all guards on, beside one without, under the same load of outputs."""
    rows = []
    loads = [
        ("all guards on, compared with none: CPU a verdict, 16 connections, archive on", True, 16, 1, 200, "≤ 1.15"),
        ("the same, one connection, 64 in flight, no archive", False, 1, 64, 4000, ""),
    ]
    for title, archive, connections, in_flight, events, goal in loads:
        say(f"guards, {connections} connections, {in_flight} in flight …")
        client, serving = client_and_server_processors()
        settings = f"threads = 1\narchive = {str(archive).lower()}\n"
        name = f"guards-{in_flight}"
        with Daemon(folder / name, settings + ALL_GUARDS) as guarded, Daemon(folder / f"{name}-off", settings) as plain:
            at = {}
            for daemon in (guarded, plain):
                keep_on(serving, daemon.process.pid, "engine-")
                at[daemon] = f"{daemon.address.rsplit(':', 1)[1]}:{daemon.process.pid}"
            got = run(
                "digd-load",
                "--digd",
                at[guarded],
                "--plain",
                at[plain],
                "--outputs",
                "--connections",
                connections,
                "--in-flight",
                in_flight,
                "--events",
                events,
                "--blocks",
                10 if quick else 40,
                processor=client,
            )
            guarded.stop()
            plain.stop()
        ns = {name: 1e9 / got[name]["per_serving_cpu_second"] for name in ("digd", "plain")}
        rows.append(
            (title, f"{ns['digd'] / 1000:.1f} µs to {ns['plain'] / 1000:.1f} µs", ns["digd"] / ns["plain"], goal)
        )
    return rows


def many_runs(folder, work_ns, quick):
    say("ten thousand runs, a burst beside them …")
    seconds = ["--seconds", 0.5 if quick else 2]
    got = compare("digd-many-runs", folder, work_ns, "runs = 20000\n", *seconds)
    in_memory = None
    if MEMORY.is_dir():
        say("the same with the archive in memory …")
        with tempfile.TemporaryDirectory(prefix="digd-bench-", dir=MEMORY) as name:
            few = ["--runs", 100, "--connections", 10]
            in_memory = compare("digd-many-runs", Path(name), work_ns, "", *seconds, *few)
    p99 = lambda server, phase: got[server][phase]["p99_ns"]  # noqa: E731
    both = lambda a, b: f"{a / 1000:,.0f} µs to {b / 1000:,.0f} µs"  # noqa: E731
    moved = lambda server: both(p99(server, "beside_a_burst"), p99(server, "alone"))  # noqa: E731
    during = lambda of, phase="beside_a_burst": (  # noqa: E731
        both(of["digd"][phase]["p99_ns"], of["echo"][phase]["p99_ns"]),
        of["digd"][phase]["p99_ns"] / of["echo"][phase]["p99_ns"],
    )
    log_server = lambda phase: (LOG_SERVER, *during(got["log_server"], phase), "")  # noqa: E731
    rate = lambda server, phase: f"{got[server][phase]['burst_per_second']:,.0f}"  # noqa: E731
    return [
        (
            f"{got['runs']:,} runs open, 20 events in each, {got['connections']:,} connections: memory a run",
            f"{got['bytes_a_run'] / 1000:.1f} kB",
            None,
            "",
        ),
        ("opening them, each over its own connection", f"{got['opening_s']:.1f} s", None, ""),
        (
            f"one engine thread; another run bursts, {rate('digd', 'beside_a_burst')} events a second: "
            "p99 of an answer, compared with p99 without the burst",
            moved("digd"),
            p99("digd", "beside_a_burst") / p99("digd", "alone"),
            "≤ 10",
        ),
        (
            f"the same at the echo, {rate('echo', 'beside_a_burst')} a second",
            moved("echo"),
            p99("echo", "beside_a_burst") / p99("echo", "alone"),
            "",
        ),
        ("p99 during the burst, digd to the echo", *during(got), "≤ 1.3"),
        log_server("beside_a_burst"),
        *(
            [("p99 during the burst with the archive in memory, digd to the echo", *during(in_memory), "")]
            if in_memory
            else []
        ),
        echo_to_itself(
            got["echo"]["beside_a_burst"],
            "p99_ns",
            "p99 of half of the echo's blocks, compared with the other half",
        ),
        (
            "p99 during an equal burst for both, "
            f"{rate('digd', 'beside_a_burst_at_rate')} and {rate('echo', 'beside_a_burst_at_rate')} events a second",
            *during(got, "beside_a_burst_at_rate"),
            "",
        ),
        log_server("beside_a_burst_at_rate"),
    ]


def decoding(quick):
    say("decoding …")
    ns = {}
    for _ in range(1 if quick else 5):  # repeat: the memory layout of a process affects the result
        got = run(
            "digd-bench-decode",
            "--benchmark_format=json",
            "--benchmark_enable_random_interleaving=true",
            "--benchmark_repetitions=20",
            "--benchmark_min_time=0.01",
        )
        for b in got["benchmarks"]:
            if b["run_type"] == "iteration":
                ns.setdefault(b["run_name"], []).append(b["cpu_time"])
    rows = []
    for message in ("event", "activation_ended"):
        ours, theirs = sorted(ns["decodes/" + message]), sorted(ns["simdjson_reads/" + message])
        for part, name, goal in ((10, "least disturbed 10 % of the repetitions", "≤ 1.3"), (2, "median", "≤ 1.2")):
            mine, base = ours[len(ours) // part], theirs[len(theirs) // part]
            rows.append(
                (
                    f"decoding one `{message}`, compared with simdjson on-demand: {name}",
                    f"{mine:.0f} ns to {base:.0f} ns",
                    mine / base,
                    goal,
                )
            )
    return rows


def archiving(folder, quick):
    say("archiving …")
    got = run("digd-archive-rows", folder, "--blocks", 3 if quick else 10)
    return [
        (
            "rows a second, compared with a plain SQLite program",
            f"{got['rows_per_second']:,.0f} to {got['plain_rows_per_second']:,.0f}",
            got["rows_per_second"] / got["plain_rows_per_second"],
            "≥ 0.8",
        ),
        (
            "bytes on disk, compared with bytes received",
            f"{got['disk_bytes'] / 1e6:.0f} MB for {got['received_bytes'] / 1e6:.0f} MB",
            got["disk_bytes"] / got["received_bytes"],
            "≤ 1.5",
        ),
        (
            "packing a new entry for the writer, p50 (p99)",
            f"{got['enqueue_p50_ns']} ns ({got['enqueue_p99_ns']} ns)",
            None,
            "≤ 100 ns",
        ),
    ]


def exponent(stretches, figure):
    """k of the best-fitting curve ns = c · events^k, by least squares on logarithms.

    0 is flat; 1 grows in proportion to the run.
    """
    import math

    points = [(math.log(stretch["events"]), math.log(stretch[figure])) for stretch in stretches]
    x, y = (sum(axis) / len(points) for axis in zip(*points))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def growing(quick):
    say("a run of a million events …" if quick else "a run of ten million events …")
    got = run("digd-growth", "long", "--events", 1_000_000 if quick else 10_000_000)
    first, last = got["stretches"][0], got["stretches"][-1]
    million = next(s for s in got["stretches"] if s["events"] == 1_000_000)
    rows = [
        (
            f"graph and rules, median for each event at {last['events']:,}, compared with the first 1,000",
            f"{last['p50_ns']} ns to {first['p50_ns']} ns",
            last["p50_ns"] / first["p50_ns"],
            "≤ 1.2",
        ),
        (
            "exponent of the fitted curve, nanoseconds by events: median (99 %)",
            f"{exponent(got['stretches'], 'p50_ns'):.3f} ({exponent(got['stretches'], 'p99_ns'):.3f})",
            None,
            "0: flat",
        ),
        (
            "slowest message; the run is played twice, and the shorter time counts",
            f"{got['slowest_step_ns'] / 1e6:.2f} ms",
            None,
            "≤ 5 ms",
        ),
    ]
    if last["events"] > 1_000_000:
        grown = (last["resident_bytes"] - million["resident_bytes"]) / (last["events"] - 1_000_000)
        rows.append(("memory after the first million, an event", f"{grown:.2f} B", None, "≤ 1 B"))
    kept = run("digd-growth", "kept")
    rows.append(
        (
            f"memory of each of {kept['events']:,} kept events, without its id "
            f"({kept['of_them_the_id']} B, and more for ids over 15 bytes)",
            f"{kept['bytes_an_event'] - kept['of_them_the_id']:.0f} B",
            None,
            "≤ 160 B",
        )
    )
    hundred = next(s for s in got["stretches"] if s["events"] == 100_000)
    rows.append(
        (
            "memory of a kept event in this run, with its id and its part of activations (5 for 7 events) and lineages",
            f"{(hundred['resident_bytes'] - first['resident_bytes']) / 99_000:.0f} B",
            None,
            "",
        )
    )
    return rows, got


def shapes():
    say("hostile shapes …")
    return [
        (
            f"{s['shape']}: {10 * s['size']:,} compared with {s['size']:,}, median for each event",
            f"{s['p50_ns_at_ten_times']:.0f} ns to {s['p50_ns']:.0f} ns",
            s["p50_ns_at_ten_times"] / max(s["p50_ns"], 1),
            "",
        )
        for s in run("digd-growth", "shapes")["shapes"]
    ]


def chain():
    say("a chain …")
    return [
        (
            f"chain of {c['nodes']:,} activations, compared with the paper's library (published)",
            f"{c['ns_a_node'] / 1000:.2f} µs to {PUBLISHED_NS[c['nodes']] / 1000:,.0f} µs a node",
            PUBLISHED_NS[c["nodes"]] / c["ns_a_node"],
            "≥ 1,000" if c["nodes"] == 1_000 else "≥ 10,000",
        )
        for c in run("digd-growth", "chain")["chain"]
    ]


def machine():
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    system = f"{os.cpu_count()} cores of {model}, Linux {platform.release().split('-')[0]}"
    return f"{system}; load average when it began: {os.getloadavg()[0]:.1f}"


def table(rows):
    lines = ["| | digd to baseline | ratio | goal |", "|---|---|---|---|"]
    for title, figures, ratio, goal in rows:
        lines.append(f"| {title} | {figures} | {'' if ratio is None else f'{ratio:,.2f}'} | {goal} |")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--no-write", action="store_true")
    arguments = options.parse_args()
    host = machine()
    with tempfile.TemporaryDirectory(prefix="digd-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        growth, measured = growing(arguments.quick)
        work_ns = run("digd-held-path")["ns_an_event"]
        parts = [
            ("The socket", sockets(folder, work_ns, arguments.quick)),
            ("Guards", guards(folder, arguments.quick)),
            ("Many runs", many_runs(folder / "runs", work_ns, arguments.quick)),
            ("Decoding", decoding(arguments.quick)),
            ("The archive", archiving(folder, arguments.quick)),
            ("A run that continues", growth),
            ("Hostile shapes", shapes()),
            ("The paper's library", chain()),
        ]
    text = "\n\n".join(f"## {title}\n\n{table(rows)}" for title, rows in parts)
    print(f"{host}\n\n{text}")
    if arguments.no_write:
        return
    page = ROOT / "docs/performance.md"
    head, mark, rest = page.read_text().partition("<!-- measured -->")
    if not mark:
        sys.exit(f"{page} has no line <!-- measured --> to write behind")
    kept = rest.partition("<!-- end -->")[2]
    page.write_text(f"{head}<!-- measured -->\n\nMeasured on {host}.\n\n{text}\n\n<!-- end -->{kept}")
    picture = output_of("digd-growth", "picture", given=json.dumps(measured))
    (ROOT / "docs/images/growth.svg").write_text(picture)


if __name__ == "__main__":
    main()
