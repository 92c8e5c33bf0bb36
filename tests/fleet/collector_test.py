"""A collector and the stream: what it does while the server, or the stream, is away."""

import asyncio
import itertools
import signal

import nats.errors
import pytest
from digd.fleet.collector import Collector, Options
from digd.fleet.places import Fleet
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
