"""The Parquet files of a fleet in a bucket of S3: collectors, queries, deletion and compaction as in a folder."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import obstore
import pytest
from digctl_fleet_test import output
from digd.fleet import files
from digd.fleet.files import open_files
from digd.fleet.query import rows
from digd.fleet.rows import RunKey
from digd.fleet.store import Store
from fleet_test import TABLES, all_published, collect, collector, fleet_config, play, stored
from live import Daemon, wait_until
from obstore.store import S3Store
from s3_server import S3Server
from store_test import message
from view_test import Viewer, sql, text_of

COLUMNS = {
    "entries": "entry, run, run_number, n, kind, session, seq, ts, type, code, verdicts, frame FROM entries ORDER BY 1",
    "detections": "entry, id, rule, severity, event, agent, healed::INT, healing, cause, detection FROM detections"
    " ORDER BY 2",
    "interventions": "entry, id, action, event, ts, intervention FROM interventions ORDER BY 1, 2",
    "outcomes": "entry, rule, event, detected_ts, ts, outcome FROM outcomes ORDER BY 1, 2, 3",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def bucket(server, monkeypatch):
    """The URL of an empty bucket, with the credentials in the environment."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.make_bucket()


def in_bucket(url):
    return {table: rows(url, f"SELECT {COLUMNS[table]}")[1] for table in TABLES}


def count(url, table="entries"):
    return rows(url, f"SELECT count(*) FROM {table}")[1][0][0]


def test_a_bucket_has_what_the_archive_has(nats, bucket, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(3):
            play(daemon, f"r{i}")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, bucket)
        assert in_bucket(bucket) == stored(daemon)
        assert "0 rejected" in collect(nats, bucket)
        for command in (["runs", "--format", "jsonl"], ["show", "r1"]):
            assert output(*command, "--fleet", bucket) == output(*command, "--data-dir", daemon.data)


def test_a_viewer_shows_what_the_bucket_has(nats, bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_PYTHON", sys.executable)
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "r0")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, bucket)
        with Viewer(tmp_path / "v", bucket) as viewer:
            assert viewer.fleet()["totals"]["runs"] == 1
            play(daemon, "r1", steps=7)
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, bucket)
            wait_until(lambda: viewer.fleet()["totals"]["runs"] == 2, "the new files", within=60)
            (sums,) = sql(bucket, "SELECT sum(messages)::BIGINT AS messages FROM runs")
            assert viewer.fleet()["totals"]["messages"] == sums["messages"]
            for part in ("/trace", "/graph", "/report?format=md"):
                assert text_of(viewer, f"/v1/runs/r1{part}") == text_of(daemon, f"/v1/runs/r1{part}"), part
            assert json.loads(text_of(viewer, "/v1/search?q=task"))["hits"] == []  # no payload has text
            (run,) = rows(bucket, "SELECT archive, run_number FROM runs WHERE run = 'r0'")[1]
            Store(bucket).delete_run(RunKey("default", *run))
            wait_until(lambda: [run["run"] for run in viewer.runs()["runs"]] == ["r1"], "the deletion", within=60)


def test_a_killed_collector_leaves_nothing_lost_or_doubled(nats, bucket, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(6):
            play(daemon, f"r{i}")
        wait_until(lambda: all_published(daemon), "the publication")
        for wanted in (1, 3, 5):
            running = collector(nats, bucket, "--batch-seconds", "0.1", "--batch-rows", "20", "--ack-wait", "1")
            wait_until(lambda: parts(bucket) >= wanted, "some files", within=60)
            running.kill()
            running.communicate()
        # The stream delivers what the killed ones had taken again after their ack wait.
        wait_until(
            lambda: collect(nats, bucket, "--ack-wait", "1") and len(in_bucket(bucket)["entries"]) == entries(daemon),
            "all entries",
            within=90,
        )
        assert in_bucket(bucket) == stored(daemon)


def parts(url):
    store = Store(url)
    return len(store._files.list("entries"))


def entries(daemon):
    return len(stored(daemon)["entries"])


def test_collectors_at_the_same_time_write_each_row_once(bucket):
    batch = [message("a", i, detections=[(i, "deadlock")]) for i in range(1, 101)]
    stores = [Store(bucket) for _ in range(3)]
    pieces = [batch[i : i + 30] for i in range(0, 100, 20)]
    with concurrent.futures.ThreadPoolExecutor(len(stores)) as pool:
        written = list(pool.map(lambda store: sum(store.write(piece).rows for piece in pieces), stores))
    assert sum(written) == 100
    assert (count(bucket), count(bucket, "detections")) == (100, 100)


def test_deletion_and_compaction_work_in_a_bucket(bucket):
    store = Store(bucket)
    for i in range(1, 21):
        store.write([message("a", i, run_number=i % 2 + 1)])
    assert store.delete_run(RunKey("t1", "a", 2)) == 10
    assert store.deletion(RunKey("t1", "a", 2))["state"] == "begun"
    store.finish_deletion(RunKey("t1", "a", 2))
    assert store.deletion(RunKey("t1", "a", 2))["state"] == "done"
    assert store.compact() == 19
    assert count(bucket) == 10
    assert store.write([message("a", i, run_number=i % 2 + 1) for i in range(1, 21)]) == (0, 10, 10)
    assert store.drop_days_before("2026-01-01") == 1


def owner_of_lock(store):
    """The owner; empty if the lock is free."""
    return json.loads(store.read(".lock"))["owner"]


def test_the_lock_of_a_dead_owner_is_taken_over(bucket):
    store = Store(bucket)
    store.write([message("a", 1)])
    assert store._files.create(".lock", b'{"owner":"dead","until":0}')
    assert store.delete_run(RunKey("t1", "a", 1)) == 1
    assert owner_of_lock(store._files) == ""


def test_a_released_lock_can_be_taken_again(bucket):
    store = open_files(bucket, "v1")
    for _ in range(2):
        with store.locked():
            assert owner_of_lock(store) != ""
            assert not store._take_lock("other")
        assert owner_of_lock(store) == ""
    assert store._take_lock("other") and owner_of_lock(store) == "other"


def test_a_lock_that_another_process_took_over_is_not_released(bucket, monkeypatch):
    store = open_files(bucket, "v1")
    with store.locked():
        store.put(".lock", b'{"owner":"other","until":9e9}')
    assert owner_of_lock(store) == "other"
    store.put(".lock", b'{"owner":"","until":0}')
    get = obstore.get

    def get_before_the_takeover(*arguments):
        held = get(*arguments)
        body = bytes(held.bytes())
        assert json.loads(body)["owner"] != "other"
        store.put(".lock", b'{"owner":"other","until":9e9}')
        return SimpleNamespace(bytes=lambda: body, meta=held.meta)

    with store.locked():
        monkeypatch.setattr(obstore, "get", get_before_the_takeover)
    monkeypatch.undo()
    assert owner_of_lock(store) == "other"


def test_of_two_processes_that_find_the_lock_of_a_dead_owner_one_takes_it_over(bucket, monkeypatch):
    first, second = open_files(bucket, "v1"), open_files(bucket, "v1")
    assert first.create(".lock", b'{"owner":"dead","until":0}')
    second_holds = contextlib.ExitStack()
    calls = itertools.count()

    class Clock:
        monotonic = staticmethod(time.monotonic)

        def time():
            if next(calls) == 1:  # the first process has read the lock, and compares its time
                second_holds.enter_context(second.locked())
                events.append("second takes it")
            return time.time()

        def sleep(_):
            second_holds.close()
            events.append("second releases it")

    events = []
    monkeypatch.setattr(files, "time", Clock)
    with second_holds, first.locked():
        events.append("first takes it")
    assert events == ["second takes it", "second releases it", "first takes it"]
    assert owner_of_lock(first) == ""


@pytest.mark.parametrize("change", ["release", "another owner"])
def test_a_lock_that_changes_while_it_is_taken_over_is_not_taken(bucket, monkeypatch, change):
    store = open_files(bucket, "v1")
    assert store.create(".lock", b'{"owner":"dead","until":0}')
    put = obstore.put

    def put_after_the_change(*arguments, mode="overwrite", **options):
        if isinstance(mode, dict):
            store.delete(".lock") if change == "release" else store.put(".lock", b'{"owner":"b","until":0}')
        return put(*arguments, mode=mode, **options)

    with monkeypatch.context() as patched:
        patched.setattr(obstore, "put", put_after_the_change)
        assert not store._take_lock("a")


def test_a_bucket_that_cannot_be_written_acknowledges_nothing(nats, server, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "r1")
        wait_until(lambda: all_published(daemon), "the publication")
        missing = server.url_of("no-such-bucket")
        running = subprocess.Popen(
            [sys.executable, "-m", "digd.fleet", "collect", missing, "--nats", nats.url, "--ack-wait", "1"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **server.environment},
        )
        try:
            line = running.stderr.readline()
            assert "trying again" in line, line
        finally:
            running.kill()
            running.communicate()
        # Only then is the bucket made.
        store = server.make_bucket("no-such-bucket")
        environment = {**os.environ, **server.environment}
        done = subprocess.run(
            [sys.executable, "-m", "digd.fleet", "collect", store, "--nats", nats.url, "--until-empty"]
            + ["--batch-seconds", "8"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
        assert done.returncode == 0 and done.stdout.startswith(f"{entries(daemon)} entries"), done.stderr


def test_the_server_orders_creations(server, bucket):
    """The condition that everything above needs."""
    store = S3Store(
        bucket.removeprefix("s3://").partition("/")[0],
        endpoint=server.endpoint,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    obstore.put(store, "once", b"1", mode="create")
    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        obstore.put(store, "once", b"2", mode="create")
