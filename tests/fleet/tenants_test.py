"""Tenants with accounts of their own in NATS cannot read each other."""

import asyncio
import itertools
import json
import re
import urllib.parse
from pathlib import Path

import nats
import nats.errors
import pytest
from digctl_fleet_test import output
from digd.fleet.query import rows
from digd.fleet.rows import RunKey
from digd.fleet.work_queue import forget_run
from fleet_test import all_published, collect, fleet_config, play
from live import Daemon, wait_until
from nats_server import NatsServer, need_stream_client
from worker_process import Worker

DOCS = (Path(__file__).parents[2] / "docs/fleet.md").read_text()
WORK, FORGET = (found.split() for found in re.findall(r"need:\n\n```\n(.*?)\n```", DOCS, re.S))
READ = ["$JS.API.STREAM.INFO.digd", "$JS.API.CONSUMER.>", "$JS.ACK.digd.>"]
ROLES = {
    "daemon": {"publish": ["digd.archive.{tenant}.h1", "$JS.API.STREAM.INFO.digd", "$JS.API.STREAM.CREATE.digd"]},
    "collector": {"publish": [*READ, "$JS.API.STREAM.MSG.DELETE.digd", *FORGET]},
    "reader": {"publish": READ},
    "worker": {"publish": WORK},
}


def accounts(tenants):
    """Each tenant has an account, with a stream of its own, and a user for each role."""
    lines = ["accounts {"]
    for tenant in tenants:
        lines.append(f"  {tenant} {{ jetstream: enabled, users: [")
        for role, rights in ROLES.items():
            publish = json.dumps([subject.format(tenant=tenant) for subject in rights["publish"]])
            allowed = f'{{publish: {{allow: {publish}}}, subscribe: {{allow: ["_INBOX.>"]}}}}'
            lines.append(f'    {{user: "{tenant}-{role}", password: "secret", permissions: {allowed}}}')
        lines.append("  ]}")
    return "\n".join([*lines, "}"]) + "\n"


class As:
    """The server as a user sees it."""

    def __init__(self, server, user, password="secret"):
        self.url = server.url.replace("//", f"//{urllib.parse.quote(user)}:{password}@")


@pytest.fixture
def shared(tmp_path):
    need_stream_client()
    # The messages are small, so that results of passes are in pieces.
    with NatsServer(tmp_path / "nats", max_payload=8 << 10, more=accounts(["red", "blue"])) as server:
        yield server


def try_to(url, action):
    """Whether the server lets this user do it."""

    async def work():
        denied = asyncio.Event()

        async def on_error(_):
            denied.set()

        try:
            connection = await nats.connect(
                url, error_cb=on_error, allow_reconnect=False, connect_timeout=5, max_reconnect_attempts=0
            )
        except (nats.errors.Error, OSError):
            return False
        acting, refused = asyncio.create_task(action(connection)), asyncio.create_task(denied.wait())
        try:
            await asyncio.wait({acting, refused}, return_when=asyncio.FIRST_COMPLETED)
            return acting.done() and acting.exception() is None and not denied.is_set()
        finally:
            acting.cancel()
            refused.cancel()
            await asyncio.gather(acting, refused, return_exceptions=True)
            await connection.close()

    return asyncio.run(work())


def publish_to(tenant, host):
    async def action(connection):
        await connection.jetstream(timeout=2).publish(f"digd.archive.{tenant}.{host}", b"{}")

    return action


def read_from(tenant):
    """Succeeds only if a message of that tenant arrives."""

    async def action(connection):
        js = connection.jetstream(timeout=2)
        subscription = await js.pull_subscribe(f"digd.archive.{tenant}.>", stream="digd")
        assert await subscription.fetch(1, timeout=2)

    return action


async def delete_a_message(connection):
    await connection.jetstream(timeout=2).delete_msg("digd", 1)


def test_the_matrix_of_users_and_actions(shared, tmp_path):
    for tenant in ("red", "blue"):
        config = fleet_config(As(shared, f"{tenant}-daemon"), tenant=tenant)
        with Daemon(tmp_path / tenant, config) as daemon:
            play(daemon, f"of-{tenant}")
            wait_until(lambda: all_published(daemon), "the publication")
    actions = {
        **{f"publish {tenant}.{host}": publish_to(tenant, host) for tenant in ("red", "blue") for host in ("h1", "h2")},
        **{f"read {tenant}": read_from(tenant) for tenant in ("red", "blue")},
        "delete": delete_a_message,
    }
    for tenant, role in itertools.product(("red", "blue"), ROLES):
        url = As(shared, f"{tenant}-{role}").url
        allowed = {name for name, action in actions.items() if try_to(url, action)}
        expected = {
            "daemon": {f"publish {tenant}.h1"},
            "collector": {f"read {tenant}", "delete"},
            "reader": {f"read {tenant}"},
            "worker": set(),
        }[role]
        assert allowed == expected, f"{tenant}-{role}"
    for user, password in (("red-reader", "wrong"), ("green-reader", "secret")):
        assert not try_to(As(shared, user, password).url, read_from("red"))


def test_the_files_of_a_tenant_have_only_its_runs(shared, tmp_path):
    for tenant in ("red", "blue"):
        # The daemon's clients cannot choose the tenant: the subject counts.
        with Daemon(tmp_path / tenant, fleet_config(As(shared, f"{tenant}-daemon"), tenant=tenant)) as daemon:
            with daemon.client(run=f"of-{tenant}", agents=["a"], labels={"tenant": "other"}) as client:
                client.event("task", ["a"])
                client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
    for tenant in ("red", "blue"):
        collect(As(shared, f"{tenant}-collector"), tmp_path / f"lake-{tenant}")
        found = rows(str(tmp_path / f"lake-{tenant}"), "SELECT DISTINCT tenant, run FROM entries")[1]
        assert found == [(tenant, f"of-{tenant}")]
        listed = output(
            *("runs", "--format", "jsonl", "--fleet", tmp_path / f"lake-{tenant}"),
            *("--fleet", As(shared, f"{tenant}-reader").url),
        )
        assert json.loads(listed)["run"] == f"of-{tenant}"


def test_the_rights_of_a_worker_suffice_for_a_pass_and_those_of_a_collector_to_forget_it(shared, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "red", fleet_config(As(shared, "red-daemon"), tenant="red")) as daemon:
        play(daemon, "r0")
        play(daemon, "r1", steps=12)
        wait_until(lambda: all_published(daemon), "the publication")
    collect(As(shared, "red-collector"), lake)
    common = [f"--fleet={lake}", f"--fleet={As(shared, 'red-worker').url}"]
    with Worker(As(shared, "red-worker"), lake) as worker:
        each = ["attribute", "chief", "--format", "json"]
        assert output(*each, *common, "--on-workers") == output(*each, "--fleet", lake)
        # Results of this size are in pieces.
        single = ["attribute", "shapley", "r1", "--estimator", "antithetic", "-M", "2000", "--format", "json", "-q"]
        assert output(*single, *common, "--on-workers") == output(*single, "--fleet", lake, "--no-cache")
        assert "ermission" not in worker.log()
    kinds = {subject.split(".")[2] for subject in subjects_of_results(shared)}
    assert kinds == {"outcome", "of", "part"}
    for archive, number in rows(str(lake), "SELECT archive, run_number FROM runs")[1]:
        asyncio.run(forget(As(shared, "red-collector").url, RunKey("red", archive, number)))
    assert {subject.split(".")[2] for subject in subjects_of_results(shared)} == {"deleted"}


async def forget(url, run):
    connection = await nats.connect(url)
    await forget_run(connection.jetstream(timeout=2), run)
    await connection.close()


def subjects_of_results(shared):
    async def ask():
        connection = await nats.connect(As(shared, "red-worker").url)
        found = await connection.jetstream().stream_info("digd_results", subjects_filter="digd.results.>")
        await connection.close()
        return found.state.subjects

    return asyncio.run(ask())
