"""Passes over many runs: workers give the bytes of one machine, whatever happens to the asker."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest
from digctl_fleet_test import digctl, output
from digd.fleet.store import Store
from fleet_test import all_published, collect, fleet_config
from live import Daemon, wait_until
from passes import CHIEF, RUNS, both, on_workers, one_by_one, queued, wrapper
from store_test import message
from worker_process import Asker, Worker


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
