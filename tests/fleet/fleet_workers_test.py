"""Workers of a fleet's passes: they are killed, stopped, cut off and given tasks that fail."""

import asyncio
import json
import os
import signal
import subprocess
import threading
from contextlib import contextmanager

import nats as nats_client
from digctl_fleet_test import digctl
from digd.fleet.places import parse as parse_fleet
from digd.fleet.tasks import Task
from digd.fleet.tasks import parse as parse_task
from digd.fleet.work_queue import WorkQueue
from fleet_test import all_published, collect, fleet_config, play
from live import DIGCTL, Daemon, wait_until
from passes import CHIEF, both, on_workers, one_by_one, queued, wrapper
from worker_process import Asker, Worker


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


def test_a_worker_without_a_server_goes_on_when_it_is_back_and_else_ends_and_prints_why(nats, lake):
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


def test_a_worker_that_lacks_entries_prints_that(nats, lake, tmp_path):
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


def version():
    return subprocess.run([DIGCTL, "--version"], capture_output=True, text=True).stdout.split()[-1]


def selected(root, run):
    from digd.fleet.query import connect
    from digd.fleet.selection import Wanted, as_it_is_now, select

    db = connect(parse_fleet([str(root)]).need_root())
    [found] = as_it_is_now(db, select(db, Wanted(run=run)))
    return found


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


def test_the_text_of_a_task_reads_back(lake):
    _, root = lake
    task = Task("factors", ("--rates",), (selected(root, "r1"), selected(root, "r2")))
    assert parse_task(task.text().encode()) == task and len(task.id()) == 32
    assert json.loads(task.text())["runs"][0][4] == "r1"
