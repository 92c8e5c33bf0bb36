"""Deletion of a run removes the results of passes that name it."""

import asyncio
from collections import Counter

import nats as nats_client
import pytest
from deletion_test import deletion, finish
from fleet_test import all_published, collect, fleet_config, play
from live import Daemon, wait_until
from nats_server import NatsServer, need_stream_client
from passes import CHIEF, both, on_workers, wrapper
from worker_process import Asker, Worker


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
