"""Passes over many runs: workers give the bytes of one machine, whatever happens to them and to the asker."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager

import nats as nats_client
import pytest
from deletion_test import deletion, finish
from digctl_fleet_test import digctl, output, play_with_usage
from digd.fleet.places import parse as parse_fleet
from digd.fleet.store import Store
from digd.fleet.tasks import Task
from digd.fleet.tasks import parse as parse_task
from digd.fleet.work_queue import WorkQueue
from fleet_test import all_published, collect, fleet_config, play
from live import DIGCTL, Daemon, wait_until
from nats_server import NatsServer, need_stream_client
from store_test import message
from worker_process import Asker, Worker

RUNS = [f"r{i}" for i in range(6)]
CHIEF = ["attribute", "chief", "--format", "json"]


@pytest.fixture
def lake(nats, tmp_path):
    """The data directory and the Parquet files of the same runs; some failed, one is open."""
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i, run in enumerate(RUNS):
            outcome = "failure" if i % 2 else "success"
            if i < 4:
                play(daemon, run, steps=3 + i)
            else:
                play_with_usage(daemon, run, outcome, {"team": "x"})
        with daemon.client(run="open", agents=["a"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, tmp_path / "lake")
    return daemon.data, tmp_path / "lake"


def wrapper(path, script):
    """A digctl that runs a script of bash first, with its arguments in "$@"; `--version` is left alone."""
    path.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exec {DIGCTL} --version\n{script}\nexec {DIGCTL} "$@"\n')
    path.chmod(0o755)
    return path


def both(nats, root):
    return ["--fleet", root, "--fleet", nats.url, "--on-workers"]


def on_workers(nats, root, *command):
    return digctl(*command, *both(nats, root), timeout=120)


@contextmanager
def beats(nats):
    """Counts how often workers tell the server that they still do their task."""
    count = 0

    async def listen():
        nonlocal count
        connection = await nats_client.connect(nats.url)
        subscription = await connection.subscribe("$JS.ACK.digd_work.>")
        while not stopping.is_set():
            try:
                count += (await subscription.next_msg(timeout=0.2)).data == b"+WPI"
            except nats_client.errors.TimeoutError:
                pass
        await connection.close()

    stopping = threading.Event()
    listener = threading.Thread(target=lambda: asyncio.run(listen()))
    listener.start()
    try:
        yield lambda: count
    finally:
        stopping.set()
        listener.join()


def one_by_one(data, runs, *command):
    return "".join(output(*command[:2], run, *command[2:], "--data-dir", data) for run in runs)


def test_a_pass_over_runs_gives_what_each_run_gives(nats, lake):
    data, root = lake
    where = "ended IS NOT NULL"
    expected = one_by_one(data, RUNS, *CHIEF)
    assert output(*CHIEF, "--fleet", root, "--where", where) == expected
    with Worker(nats, root), Worker(nats, root, "--tasks=2"):
        done = on_workers(nats, root, *CHIEF, "--where", where)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
        shapley = ["attribute", "shapley", "--format", "json", "--samples", "50", "--quiet"]
        some = "run IN ('r1', 'r4')"
        done = on_workers(nats, root, *shapley, "--where", some)
        assert done.stdout == one_by_one(data, ["r1", "r4"], *shapley, "--no-cache"), done.stderr
        table = on_workers(nats, root, "attribute", "chief", "--top", "2", "--where", some)
        assert table.stdout == output("attribute", "chief", "--top", "2", "--fleet", root, "--where", some)
        assert 'Run "r1" of host "h1":' in table.stdout


def test_runs_whose_files_lack_entries_are_left_out(nats, lake):
    data, root = lake
    Store(root).write([message("other", 5, run_number=9)])  # entries 1 to 4 of run-9 are not collected yet
    with Worker(nats, root):
        done = on_workers(nats, root, *CHIEF, "--where", "run IN ('r1', 'run-9')")
        assert (done.returncode, done.stdout) == (0, one_by_one(data, ["r1"], *CHIEF)), done.stderr
        assert "left out 1 of 2 runs, because the files lack some of their entries: 4 of run 'run-9'" in done.stderr
        alone = on_workers(nats, root, *CHIEF, "--where", "run = 'run-9'")
        assert alone.returncode == 2 and "the files have no selected run completely" in alone.stderr


@pytest.mark.parametrize("estimator", ["auto", "exact", "leverage", "antithetic", "owen"])
def test_the_chunks_of_one_estimate_give_the_bytes_of_one_machine(nats, lake, estimator):
    data, root = lake
    command = ["attribute", "shapley", "r3", "--format", "json", "--samples", "3000", "--quiet"]
    command += ["--estimator", estimator]
    expected = output(*command, "--data-dir", data, "--no-cache")
    with Worker(nats, root, "--tasks=2"):
        done = on_workers(nats, root, *command)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_causal_explain_reads_its_runs_on_workers(nats, lake, tmp_path):
    data, root = lake
    (tmp_path / "own").write_text("twice = 2 * activations\n")
    command = ["causal", "explain", "--target", "activations", "--permutations", "99", "--format", "json", "--rates"]
    command += ["--factors", tmp_path / "own", "--factor", "half = events / 2", "--metric", "*"]
    expected = digctl(*command, data / "digd.sqlite")
    with Worker(nats, root):
        done = on_workers(nats, root, *command)
    assert done.stdout == expected.stdout and done.returncode == expected.returncode, done.stderr
    assert "have not ended" in done.stdout, "the note about the open run"


def test_another_worker_does_the_task_of_a_killed_one(nats, lake, tmp_path):
    data, root = lake
    begun = tmp_path / "begun"
    slow = wrapper(tmp_path / "slow", f"echo $$ >{begun}.new; mv {begun}.new {begun}; exec sleep 60")
    with Asker(tmp_path, *CHIEF, "--where", "run = 'r1'", *both(nats, root)) as asker:
        with Worker(nats, root, program=slow) as doomed:
            wait_until(begun.exists, "the worker to begin")
            doomed.stop()
        os.kill(int(begun.read_text()), signal.SIGKILL)
        with Worker(nats, root):
            status, out, err = asker.finish()
    assert (status, out) == (0, one_by_one(data, ["r1"], *CHIEF)), err


def test_a_worker_keeps_a_task_that_takes_longer_than_the_wait_for_its_acknowledgement(nats, lake, tmp_path):
    data, root = lake
    # It ends once the server has heard three times that the worker is alive.
    slow = wrapper(tmp_path / "slow", f"echo >>{tmp_path}/starts; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")
    with Asker(tmp_path, *CHIEF, "--where", "run = 'r1'", *both(nats, root)) as asker:
        with Worker(nats, root, program=slow), Worker(nats, root, program=slow):
            wait_until((tmp_path / "starts").exists, "a worker to begin")
            with beats(nats) as count:
                wait_until(lambda: count() >= 6, "the signs of life over twice the wait")
            (tmp_path / "go").touch()
            status, out, err = asker.finish()
    assert (status, out) == (0, one_by_one(data, ["r1"], *CHIEF)), err
    assert (tmp_path / "starts").read_text().count("\n") == 1, "no other worker got it"


def test_a_task_that_ends_its_workers_is_set_aside_with_a_reason(nats, lake, tmp_path):
    data, root = lake
    deadly = wrapper(tmp_path / "deadly", '[[ "$*" = *" r2" ]] && kill -9 $PPID')
    command = [*CHIEF, "--where", "run IN ('r1', 'r2', 'r3')", *both(nats, root)]
    workers_ended = 0
    with Asker(tmp_path, *command) as asker:
        while asker.process.poll() is None and workers_ended < 4:
            with Worker(nats, root, "--tries=2", program=deadly) as worker:
                wait_until(lambda: worker.process.poll() is not None or asker.process.poll() is not None, "an end", 60)
                workers_ended += asker.process.poll() is None
        status, out, err = asker.finish(10)
    assert workers_ended == 2, "no third worker is lost to it"
    assert (status, out) == (1, one_by_one(data, ["r1", "r3"], *CHIEF)), err
    assert '"r2"' in err and "2 starts ended with their workers" in err
    # Asked again, it is not tried again; with --again it is.
    done = digctl(*command)
    assert done.returncode == 1 and "2 starts ended with their workers" in done.stderr
    with Worker(nats, root):
        done = digctl(*command, "--again")
    assert (done.returncode, done.stdout) == (0, one_by_one(data, ["r1", "r2", "r3"], *CHIEF)), done.stderr


def test_a_task_that_fails_is_tried_again_and_a_refused_one_is_not(nats, lake, tmp_path):
    data, root = lake
    log = tmp_path / "log"
    script = f"""
echo "$*" >>{log}
[[ "$*" = *" r1" && ! -e {tmp_path}/once ]] && {{ touch {tmp_path}/once; echo "out of luck" >&2; exit 1; }}
[[ "$*" = *" r2" ]] && {{ echo "digctl: it is refused" >&2; exit 2; }}
[[ "$*" = *" r3" ]] && {{ echo "no disk" >&2; exit 1; }}"""
    moody = wrapper(tmp_path / "moody", script)
    with Worker(nats, root, "--tries=3", program=moody):
        done = on_workers(nats, root, *CHIEF, "--where", "run IN ('r0', 'r1', 'r2', 'r3')")
    assert done.returncode == 1 and done.stdout == one_by_one(data, ["r0", "r1"], *CHIEF), done.stderr
    assert "it is refused" in done.stderr and "no disk" in done.stderr
    starts = [line.split()[-1] for line in log.read_text().splitlines()]
    assert [starts.count(run) for run in ("r0", "r1", "r2", "r3")] == [1, 2, 1, 3]


@pytest.mark.parametrize("number, expected_status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_pass_goes_on_where_it_was(nats, lake, tmp_path, number, expected_status):
    data, root = lake
    log = tmp_path / "log"
    held = wrapper(
        tmp_path / "held", f'echo "$*" >>{log}\nwhile [[ "$*" = *" r4" && ! -e {tmp_path}/go ]]; do sleep 0.1; done'
    )
    command = [*CHIEF, "--where", "ended IS NOT NULL", *both(nats, root)]
    with Worker(nats, root, program=held):
        with Asker(tmp_path, *command) as asker:
            wait_until(lambda: asker.output().count("\n") == 4, "the results before the held one", 60)
            asker.process.send_signal(number)
            status, out, err = asker.finish()
        assert out == one_by_one(data, RUNS[:4], *CHIEF), err
        assert status == expected_status and "4 of 6 tasks are done" in err
        (tmp_path / "go").touch()
        done = digctl(*command)
    assert (done.returncode, done.stdout) == (0, one_by_one(data, RUNS, *CHIEF)), done.stderr
    starts = [line.split()[-1] for line in log.read_text().splitlines()]
    assert sorted(starts) == RUNS, "each run was worked on once"


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("command", ["attribute chief", "causal explain"])
def test_a_stopped_pass_ends_its_digctl(lake, tmp_path, command):
    """The second command is held where it merges the results of its tasks."""
    _, root = lake
    begun = tmp_path / "begun"
    hold = f'[ "$1 $2" = "{command}" ] && {{ echo $$ >{begun}.new; mv {begun}.new {begun}; exec sleep 60; }}'
    held = wrapper(tmp_path / "held", hold)
    words = [sys.executable, "-m", "digd.fleet", "pass", "--fleet", root, "--digctl", held, "--where", "run = 'r1'"]
    running = subprocess.Popen([*words, command], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: begun.exists() or running.poll() is not None, "the held digctl", within=60)
        pid = int(begun.read_text())
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 143
        wait_until(lambda: not is_running(pid), "the end of its digctl", within=10)
    finally:
        running.kill()
        running.wait()


def test_a_worker_without_a_server_goes_on_when_it_is_back_and_else_ends_and_says_so(nats, lake):
    data, root = lake
    with Worker(nats, root) as patient, Worker(nats, root, "--lost-seconds=2") as hasty:
        nats.kill()
        assert hasty.process.wait(60) == 1
        assert nats.url in hasty.log() and "for 2 seconds; stopped" in hasty.log()
        wait_until(lambda: "trying again" in patient.log(), "the other worker to notice")
        nats.start()
        done = on_workers(nats, root, *CHIEF, "--where", "run = 'r1'")
        assert (done.returncode, done.stdout) == (0, one_by_one(data, ["r1"], *CHIEF)), done.stderr
        nats.kill()
        patient.process.send_signal(signal.SIGTERM)
        assert patient.process.wait(60) == 0, "it can be stopped without a server"
    with Worker(nats, root, must_wait=False) as early:
        wait_until(lambda: "trying again" in early.log(), "the worker to try")
        early.process.send_signal(signal.SIGTERM)
        assert early.process.wait(60) == 0, "before it ever reached a server too"


def test_a_stopped_worker_finishes_its_task_and_drops_it_when_stopped_twice(nats, lake, tmp_path):
    data, root = lake
    held = f'echo >>{tmp_path}/starts\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.1; done'
    program = wrapper(tmp_path / "held", held)
    with Asker(tmp_path, *CHIEF, "--where", "run = 'r1'", *both(nats, root)) as asker:
        with Worker(nats, root, program=program) as impatient:
            wait_until((tmp_path / "starts").exists, "the worker to begin")
            impatient.process.send_signal(signal.SIGINT)
            impatient.process.send_signal(signal.SIGTERM)
            assert impatient.process.wait(60) == 0
        (tmp_path / "starts").unlink()
        with Worker(nats, root, program=program) as polite:
            wait_until((tmp_path / "starts").exists, "the next worker to begin")
            polite.process.send_signal(signal.SIGTERM)
            (tmp_path / "go").touch()
            status, out, err = asker.finish()
            assert polite.process.wait(60) == 0
    assert (status, out) == (0, one_by_one(data, ["r1"], *CHIEF)), err


def test_an_asker_waits_for_a_server_that_restarts(nats, lake, tmp_path):
    data, root = lake
    single = ["attribute", "shapley", "r1", "--estimator", "antithetic", "-M", "2000", "--format", "json", "-q"]
    expected = output(*single, "--data-dir", data, "--no-cache")
    with Worker(nats, root), Asker(tmp_path, *single, *both(nats, root)) as asker:
        wait_until(lambda: queued(nats), "the tasks")
        nats.kill()
        nats.start()
        status, out, err = asker.finish()
    assert (status, out) == (0, expected), err


def test_a_run_that_grows_while_it_waits_gives_what_was_asked_for(nats, tmp_path):
    root = tmp_path / "lake"
    with ExitStack() as asking, Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        with daemon.client(run="long", agents=["a", "b"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.start("v0", "a", ["task"], ts=1)
            client.event("e0", ["b"], source="v0", ts=2)
            client.verdicts()
            client.end("v0", ts=3)
            client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, root)
            before = output("attribute", "chief", "long", "--format", "json", "--data-dir", daemon.data)
            asker = asking.enter_context(Asker(tmp_path, *CHIEF, *both(nats, root)))
            wait_until(lambda: queued(nats) == 1, "the task")
            client.start("v1", "b", ["e0"], ts=4)
            client.event("lost", ["nobody"], source="v1", ts=5)
            client.verdicts()
            client.end("v1", ts=6)
            client.tell("run_ended", outcome="failure", ts=7)
            client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, root)
        with Worker(nats, root):
            status, out, err = asker.finish()
        assert (status, out) == (0, before), err
        assert output("attribute", "chief", "long", "--format", "json", "--data-dir", daemon.data) != before


def test_a_worker_that_lacks_entries_says_so(nats, lake, tmp_path):
    _, root = lake
    other = tmp_path / "other"
    with Daemon(tmp_path / "d2", fleet_config(nats).replace('"h1"', '"h2"')) as daemon:
        play(daemon, "elsewhere")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, other)
    with Worker(nats, other, "--tries=1"):
        done = on_workers(nats, root, *CHIEF, "--where", "run = 'r1'")
    assert done.returncode == 1 and done.stdout == ""
    assert f"{other} has 0 of the" in done.stderr


def test_a_task_can_name_no_files_programs_or_addresses(nats, lake, tmp_path):
    _, root = lake
    real = digctl("attribute", "chief", "r1", "--format", "json", "--fleet", root)
    assert real.returncode == 0
    task = Task("shapley", (), (selected(root, "r1"),))
    assert parse_task(task.text().encode()) == task
    marker = tmp_path / "marker"

    async def submit():
        connection = await nats_client.connect(nats.url)
        queue = WorkQueue(connection, version())
        await queue.open()
        for option in (f"--simulator=touch {marker}", f"--output={marker}", f"--plots={marker}", str(marker)):
            await queue.submit(task._replace(options=(option,)))
        await queue.submit(task._replace(kind="rerun"))
        await connection.close()

    asyncio.run(submit())
    with Worker(nats, root, "--until-empty") as worker:
        worker.process.wait(60)
        log = worker.log()
    assert log.count("dropped a message of the queue") == 5 and not marker.exists(), log
    assert queued(nats) == 0


def test_without_a_worker_the_asker_says_what_is_missing(nats, lake):
    _, root = lake
    refused = on_workers(nats, root, "attribute", "chief", "r1", "--judge", "chief-llm")
    assert refused.returncode == 2 and "--judge" in refused.stderr
    refused = digctl("attribute", "chief", "r1", "--on-workers")
    assert refused.returncode == 2 and "--fleet" in refused.stderr
    refused = digctl("attribute", "chief", "r1", "--on-workers", "--fleet", root)
    assert refused.returncode == 2 and "nats://" in refused.stderr
    refused = digctl("attribute", "chief", "--fleet", root, "--where", "run = 'absent'")
    assert refused.returncode == 2 and "no run is selected" in refused.stderr


def version():
    return subprocess.run([DIGCTL, "--version"], capture_output=True, text=True).stdout.split()[-1]


def queued(nats):
    found = nats.request("$JS.API.STREAM.INFO.digd_work")
    return found["state"]["messages"] if "state" in found else None


def selected(root, run):
    from digd.fleet.query import connect
    from digd.fleet.selection import Wanted, as_it_is_now, select

    db = connect(parse_fleet([str(root)]).need_root())
    [found] = as_it_is_now(db, select(db, Wanted(run=run)))
    return found


def test_the_text_of_a_task_reads_back(lake):
    _, root = lake
    task = Task("factors", ("--rates",), (selected(root, "r1"), selected(root, "r2")))
    assert parse_task(task.text().encode()) == task and len(task.id()) == 32
    assert json.loads(task.text())["runs"][0][4] == "r1"


# ---- deletion


def results_of(nats):
    """The subjects of all results, and their bodies."""

    async def ask():
        connection = await nats_client.connect(nats.url)
        js = connection.jetstream()
        state = (await js.stream_info("digd_results")).state
        found = {}
        for sequence in range(state.first_seq, state.last_seq + 1):
            try:
                message = await js.get_msg("digd_results", sequence)
                found[message.subject] = message.data or b""
            except nats_client.js.errors.NotFoundError:
                pass
        await connection.close()
        return found

    return asyncio.run(ask())


def kinds(results):
    return Counter(subject.split(".")[2] for subject in results)


@pytest.fixture
def small_nats(tmp_path):
    """A server whose messages are small, so that results are in pieces."""
    need_stream_client()
    with NatsServer(tmp_path / "nats", max_payload=8 << 10) as running:
        yield running


def test_deletion_of_a_run_removes_the_results_that_name_it_and_no_others(small_nats, tmp_path):
    nats = small_nats
    root = tmp_path / "lake"
    explain = ["causal", "explain", "--target", "activations", "--permutations", "99", "--format", "json"]
    large = ["attribute", "shapley", "r1", "--estimator", "antithetic", "-M", "2000", "--format", "json", "-q"]
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(3):
            play(daemon, f"r{i}", steps=12 if i == 1 else 4)
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, root)
        with Worker(nats, root):
            for command in (CHIEF, large, explain):
                on_workers(nats, root, *command)
        before = results_of(nats)
        assert kinds(before)["outcome"] == 3 + 64 + 1 and kinds(before)["part"] > 0
        assert kinds(before)["of"] == 3 + 64 + 3
        status, words = finish(deletion(daemon, "r1", root, nats), nats, root)
        assert status == 0, words
    after = results_of(nats)
    # Most tasks name r1: the chunks of its estimate, its share of the pass, and the explanation.
    [(token, count)] = Counter(s.split(".")[3] for s in before if s.startswith("digd.results.of.")).most_common(1)
    assert count == 64 + 1 + 1
    tasks = {s.split(".")[4] for s in before if s.startswith(f"digd.results.of.{token}.")}
    left = {s: body for s, body in before.items() if not tasks & set(s.split(".")[3:4]) and token not in s}
    assert kinds(left)["outcome"] == 2, "those of r0 and r2"
    assert after == {**left, f"digd.results.deleted.{token}": b""}
    stored = b"".join(path.read_bytes() for path in (tmp_path / "nats/js").rglob("*/digd_results/msgs/*.blk"))
    kept = [body for body in left.values() if body]
    gone = [body for subject, body in before.items() if subject not in after and len(body) > 200]
    assert all(body in stored for body in kept) and gone
    assert not any(body[100:] in stored for body in gone), "they are overwritten on the disk"


def test_a_worker_keeps_no_result_of_a_run_that_is_deleted_while_it_works(nats, tmp_path):
    root = tmp_path / "lake"
    held = wrapper(tmp_path / "held", f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done")
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "secret")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, root)
        with Worker(nats, root, program=held), Asker(tmp_path, *CHIEF, *both(nats, root)) as asker:
            wait_until((tmp_path / "begun").exists, "the worker to begin")
            assert finish(deletion(daemon, "secret", root, nats), nats, root)[0] == 0
            (tmp_path / "go").touch()
            status, out, err = asker.finish()
    assert (status, out) == (1, "") and "the run was deleted" in err
    results = results_of(nats)
    assert kinds(results) == {"outcome": 1, "deleted": 1}
    assert not any(b"secret" in body for body in results.values())
