"""A collector and the stream: what it does while the server, or the stream, is away."""

import asyncio
import itertools
import signal

import nats as nats_client
import nats.errors
import pytest
from digd.fleet import live
from digd.fleet.collector import Collector, Options
from digd.fleet.places import Fleet
from digd.fleet.rows import RunKey
from digd.fleet.store import Store
from fleet_test import collector
from nats.js import JetStreamContext
from nats_server import create_stream, publish_entries


@pytest.mark.parametrize("error", [nats.errors.ConnectionReconnectingError, nats.errors.TimeoutError])
def test_until_empty_a_collector_goes_on_after_an_error(nats, tmp_path, monkeypatch, error):
    create_stream(nats)
    publish_entries(nats, 3)
    fetch = JetStreamContext.PullSubscription.fetch
    calls = itertools.count()

    async def fetch_after_an_error(self, *arguments, **options):
        if next(calls) == 0:
            raise error
        return await fetch(self, *arguments, **options)

    monkeypatch.setattr(JetStreamContext.PullSubscription, "fetch", fetch_after_an_error)
    options = Options(Fleet(None, [nats.url], None), batch_seconds=0.2, until_empty=True)
    running = Collector(Store(tmp_path / "lake"), options)
    asyncio.run(asyncio.wait_for(running.run(), 60))
    assert running.counts.rows == 3


def test_a_rejected_message_that_cannot_be_kept_comes_again(nats, tmp_path, monkeypatch, capsys):
    create_stream(nats)
    publish_entries(nats, 3)
    nats.publish("digd.archive.default.h1", b"no JSON")
    reject = Store.reject
    calls = itertools.count()

    def reject_after_an_error(self, *note):
        if next(calls) == 0:
            raise OSError("no space left")
        reject(self, *note)

    monkeypatch.setattr(Store, "reject", reject_after_an_error)
    monkeypatch.setattr("digd.fleet.collector.FAILURE_PAUSE", 0.1)
    options = Options(Fleet(None, [nats.url], None), batch_seconds=0.2, until_empty=True)
    running = Collector(Store(tmp_path / "lake"), options)
    asyncio.run(asyncio.wait_for(running.run(), 60))
    assert (running.counts.rows, running.counts.rejected, running.counts.failed) == (3, 1, 1)
    assert len(list((tmp_path / "lake" / "v1" / "rejected").iterdir())) == 1
    assert "no space left; trying again" in capsys.readouterr().err


def test_without_a_wait_for_batches_a_collector_reads_the_stream(nats, tmp_path):
    create_stream(nats)
    publish_entries(nats, 3)
    running = Collector(Store(tmp_path), Options(Fleet(None, [nats.url], None), batch_seconds=0, until_empty=True))
    asyncio.run(asyncio.wait_for(running.run(), 60))
    assert running.counts.rows == 3


def test_a_collector_that_waits_for_the_stream_can_be_stopped(nats, tmp_path):
    running = collector(nats, tmp_path / "lake")
    try:
        line = next(line for line in running.stderr if "no records of hosts" not in line)
        assert "waiting for the stream digd" in line
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 0 and "Traceback" not in err, err
    finally:
        running.kill()
        running.communicate()


def sequences(server, monkeypatch, losses, remove=(), error=nats.errors.TimeoutError):
    """The sequences of run `r1`, after the reader lost the batches of these fetches and the stream some messages.

    Without an error, the reader gets the next batch in place of a lost one.
    """
    fetch = JetStreamContext.PullSubscription.fetch
    calls = itertools.count()

    async def lossy_fetch(self, count, timeout):
        batch = await fetch(self, 2, timeout)
        if next(calls) not in losses:
            return batch
        if error:
            raise error
        return await fetch(self, 2, timeout)

    async def read():
        connection = await nats_client.connect(server.url)
        js = connection.jetstream()
        for sequence in remove:
            await js.delete_msg("digd", sequence)
        monkeypatch.setattr(JetStreamContext.PullSubscription, "fetch", lossy_fetch)
        try:
            return await live.messages_of(js, RunKey("default", "a", 1), 1)
        finally:
            await connection.close()

    monkeypatch.setattr(live, "RETRY_SECONDS", 0)
    monkeypatch.setattr(live, "SILENCE_SECONDS", 0.3)
    return asyncio.run(asyncio.wait_for(read(), 60))


@pytest.mark.parametrize("error", [nats.errors.TimeoutError, None])
@pytest.mark.parametrize("losses", [{0}, {1}, {0, 1, 2}, {1, 3, 4}])
def test_a_reader_that_lost_messages_of_the_stream_reads_them_again(nats, monkeypatch, losses, error):
    create_stream(nats)
    publish_entries(nats, 5)
    assert sequences(nats, monkeypatch, losses, error=error) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("remove, left", [([5], {1, 2, 3, 4}), ([1, 2, 3, 4, 5], set()), ([3], {1, 2, 4, 5})])
def test_a_reader_ends_where_the_rest_of_the_stream_was_removed(nats, monkeypatch, remove, left):
    create_stream(nats)
    publish_entries(nats, 5)
    assert sequences(nats, monkeypatch, set(), remove) == left


def test_a_reader_of_a_server_that_sends_nothing_fails(nats, monkeypatch):
    create_stream(nats)
    publish_entries(nats, 5)
    with pytest.raises(OSError, match="the stream digd: .*5 times"):
        sequences(nats, monkeypatch, range(100))
