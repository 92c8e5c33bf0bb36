"""A deleted run leaves the daemon, the stream and the Parquet files, and digctl says when."""

import asyncio
import subprocess

import nats as nats_client
import nats.js.errors
from digctl_fleet_test import environment
from fleet_test import all_published, collect, collected, fleet_config, play, stored
from homes import Host, join
from live import DIGCTL, Daemon, wait_until

AGENTS = ["a", "b"]


def deletion(daemon, run, lake, server):
    return subprocess.Popen(
        [DIGCTL, "delete", run, "--yes", "--to", daemon.address, "--fleet", lake, "--fleet", server.url],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def finish(deleting, server, lake):
    """Collects the deletion; returns the status and the last words of digctl."""
    try:
        line = deleting.stderr.readline()
        assert "deleted in the daemon" in line, line
        wait_until(lambda: any("run_deleted" in body for body in bodies(server)), "the deletion in the stream")
        collect(server, lake)
        _, err = deleting.communicate(timeout=60)
    finally:
        deleting.kill()
    return deleting.returncode, err


def of_run(run, found):
    return [body for body in found if f'"run":"{run}"' in body]


def bodies(server):
    """All messages that the stream has."""

    async def read():
        connection = await nats_client.connect(server.url)
        js = connection.jetstream()
        state = (await js.stream_info("digd")).state
        found = []
        for sequence in range(state.first_seq, state.last_seq + 1):
            try:
                found.append((await js.get_msg("digd", sequence)).data.decode())
            except nats.js.errors.NotFoundError:
                pass
        await connection.close()
        return found

    return asyncio.run(read())


def test_delete_removes_a_run_from_daemon_stream_and_files_and_says_when(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "keep")
        play(daemon, "drop")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
        play(daemon, "later")
        wait_until(lambda: all_published(daemon), "the publication")
        before = bodies(nats)
        assert of_run("drop", before)
        status, words = finish(deletion(daemon, "drop", lake, nats), nats, lake)
        assert status == 0 and "removed from the stream and the Parquet files at 20" in words
        assert collected(lake) == stored(daemon)
        left = bodies(nats)
        assert not of_run("drop", left)
        assert of_run("keep", left) == of_run("keep", before) and of_run("later", left) == of_run("later", before)


def test_a_run_that_moved_is_deleted_at_its_home_with_what_its_earlier_homes_published(nats, tmp_path):
    hosts = [Host(tmp_path, f"h{i}", nats.url) for i in range(2)]
    lake = tmp_path / "lake"
    with hosts[0], hosts[1]:
        client, first = join(hosts, "r1", agents=AGENTS)
        client.event("task", ["a"], ts=0)
        client.wait_acked()
        first.kill()
        client.drop()
        client, home = join(hosts, "r1", agents=AGENTS)
        assert home is not first
        client.event("next", ["b"], ts=1)
        client.wait_acked()
        client.close()
        first.restart()
        wait_until(lambda: all_published(home), "the publication")
        collect(nats, lake)
        kinds = [body for body in bodies(nats) if '"run_moved"' in body or '"run_restored"' in body]
        assert len(kinds) == 2
        refused = deletion(first, "r1", lake, nats)
        _, words = refused.communicate(timeout=60)
        assert refused.returncode == 2 and "its home elsewhere" in words and home.url in words
        status, words = finish(deletion(home, "r1", lake, nats), nats, lake)
        assert status == 0 and "removed from the stream" in words
        left = bodies(nats)
        assert not of_run("r1", left) and len(left) == 1, left
        assert collected(lake)["entries"] == []
