"""Tenants with accounts of their own in NATS cannot read each other. Users have the rights that docs/fleet.md names."""

import asyncio
import itertools
import json
import re
import sys
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
from homes import Host, join
from live import Daemon, wait_until
from nats_server import NatsServer, need_stream_client
from view_test import Viewer
from worker_process import Worker

PAGE = (Path(__file__).parents[2] / "docs/fleet.md").read_text()
SECTION = PAGE.partition("\n## Tenants\n")[2].partition("\n## ")[0]
LISTS = [block.split() for block in re.findall(r"^```\n(.*?)^```$", SECTION, re.S | re.M)]


def subjects_in(cell):
    """Those that a cell of the page's table names, and those of the lists that it refers to."""
    named = re.findall(r"`((?:digd\.|\$|_INBOX)[^`]*)`", cell)
    ordinals = re.findall(r"the (first|second|last) list below", cell)
    return named + [subject for word in ordinals for subject in LISTS[("first", "second", "last").index(word)]]


def rights_on_the_page():
    """By role: what its users may publish to, may not publish to, and may subscribe to."""
    lines = [line.strip("|").split("|") for line in SECTION.splitlines() if line.startswith("|")]
    assert [name.strip() for name in lines[0]] == ["role", "may publish to", "but not to", "may subscribe to"]
    assert len(LISTS) == 3
    by_role = {}
    for role, *cells in lines[2:]:
        by_role[re.search("[a-z]+", role)[0]] = [subjects_in(cell) for cell in cells]
        if "with `fleet.url`" in cells[0]:  # the rights before these words suffice for the others
            by_role["home"] = by_role["daemon"]
            by_role["daemon"] = [subjects_in(cells[0].partition("with `fleet.url`")[0]), *by_role["home"][1:]]
    return by_role


RIGHTS = rights_on_the_page()
assert RIGHTS.keys() == {"daemon", "home", "collector", "reader", "worker"}


def user_with_rights(tenant, role, host):
    """In the syntax of NATS. The users of the host h1 have short names."""
    publish, deny, subscribe = (
        [subject.replace("TENANT", tenant).replace("HOST", host) for subject in subjects] for subjects in RIGHTS[role]
    )
    name = f"{tenant}-{role}" if host == "h1" else f"{tenant}-{role}-{host}"
    allowed = f"publish: {{allow: {json.dumps(publish)}, deny: {json.dumps(deny)}}}"
    return (
        f'    {{user: "{name}", password: "secret",'
        f" permissions: {{{allowed}, subscribe: {{allow: {json.dumps(subscribe)}}}}}}}"
    )


def accounts(tenants):
    """Each tenant has an account, with a stream of its own, and users with the rights on the page."""
    lines = ["accounts {"]
    for tenant in tenants:
        lines.append(f"  {tenant} {{ jetstream: enabled, users: [")
        lines += [user_with_rights(tenant, role, "h1") for role in RIGHTS]
        lines.append(user_with_rights(tenant, "home", "h2"))
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


WITHIN_S = 30  # a refusal comes at once; a permitted action may wait for a busy machine


def try_to(url, action):
    """Whether the server lets this user do it."""

    async def work():
        denied = asyncio.Event()

        async def on_error(_):
            denied.set()

        try:
            connection = await nats.connect(
                url, error_cb=on_error, allow_reconnect=False, connect_timeout=WITHIN_S, max_reconnect_attempts=0
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


def publish_to(subject):
    async def action(connection):
        await connection.publish(subject, b"{}")
        for _ in range(2):  # the client may send its first ping before the message
            await connection.flush()

    return action


def archive(tenant, host):
    """Succeeds only if the stream of the user's account takes the message."""

    async def action(connection):
        await connection.jetstream(timeout=WITHIN_S).publish(f"digd.archive.{tenant}.{host}", b"{}")

    return action


def read_from(tenant):
    """Succeeds only if a message of that tenant arrives."""

    async def action(connection):
        js = connection.jetstream(timeout=WITHIN_S)
        subscription = await js.pull_subscribe(f"digd.archive.{tenant}.>", stream="digd")
        assert await subscription.fetch(1, timeout=2)

    return action


def ask(subject, body=b""):
    """Succeeds if JetStream answers, be it that the question is malformed: then the user may ask."""

    async def action(connection):
        await connection.request(f"$JS.API.{subject}", body, timeout=WITHIN_S)

    return action


ACTIONS_OF_ROLES = {
    "keep a record of a host": (publish_to("digd.host.red.h1"), {"daemon", "home"}),
    "keep a record of another host": (publish_to("digd.host.red.h2"), set()),
    "take a run": (publish_to("$KV.digd_homes.run.red.x"), {"home"}),
    "remove a home": (ask("STREAM.MSG.DELETE.KV_digd_homes"), {"home"}),
    "delete a message": (ask("STREAM.MSG.DELETE.digd"), {"collector"}),
    "delete all messages": (ask("STREAM.PURGE.digd"), set()),
    "delete the stream": (ask("STREAM.DELETE.digd"), set()),
    "take messages from the collectors": (ask("CONSUMER.MSG.NEXT.digd.collector", b'{"no_wait": true}'), {"collector"}),
    "change the collectors' consumer": (ask("CONSUMER.CREATE.digd.collector.digd.archive.>"), {"collector"}),
    "delete the collectors' consumer": (ask("CONSUMER.DELETE.digd.collector"), set()),
    "acknowledge for the collectors": (publish_to("$JS.ACK.digd.collector.1.1.1.1.0"), {"collector"}),
    "follow the records of hosts": (ask("CONSUMER.CREATE.digd_hosts.x.digd.host.>"), {"reader"}),
    "ask for work": (publish_to("digd.work.x"), {"worker"}),
    "take work": (ask("CONSUMER.CREATE.digd_work.x.digd.work.x"), {"worker"}),
    "write a result": (publish_to("digd.results.outcome.x"), {"worker"}),
    "read a result": (ask("STREAM.MSG.GET.digd_results"), {"worker", "collector"}),
    "follow the results": (ask("CONSUMER.CREATE.digd_results.x.digd.results.>"), set()),
}


@pytest.mark.parametrize("role", RIGHTS)
def test_a_role_may_do_its_work_and_no_other(shared, tmp_path, role):
    with Daemon(tmp_path / "red", fleet_config(As(shared, "red-daemon"), tenant="red")) as daemon:
        play(daemon, "r")
        wait_until(lambda: all_published(daemon), "the publication")
    collect(As(shared, "red-collector"), tmp_path / "lake")
    url = As(shared, f"red-{role}").url
    allowed = {name for name, (action, _) in ACTIONS_OF_ROLES.items() if try_to(url, action)}
    assert allowed == {name for name, (_, roles) in ACTIONS_OF_ROLES.items() if role in roles}


def test_the_matrix_of_users_and_tenants(shared, tmp_path):
    for tenant in ("red", "blue"):
        config = fleet_config(As(shared, f"{tenant}-daemon"), tenant=tenant)
        with Daemon(tmp_path / tenant, config) as daemon:
            play(daemon, f"of-{tenant}")
            wait_until(lambda: all_published(daemon), "the publication")
    actions = {
        **{f"publish {tenant}.{host}": archive(tenant, host) for tenant in ("red", "blue") for host in ("h1", "h2")},
        **{f"read {tenant}": read_from(tenant) for tenant in ("red", "blue")},
    }
    for tenant, role in itertools.product(("red", "blue"), RIGHTS):
        url = As(shared, f"{tenant}-{role}").url
        allowed = {name for name, action in actions.items() if try_to(url, action)}
        expected = {
            "daemon": {f"publish {tenant}.h1"},
            "home": {f"publish {tenant}.h1"},
            "collector": {f"read {tenant}"},
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
    assert not refused(shared)


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
    assert not refused(shared)


def test_the_rights_of_a_reader_suffice_for_the_fleet_page(shared, tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_PYTHON", sys.executable)
    for tenant in ("blue", "red"):
        config = fleet_config(As(shared, f"{tenant}-daemon"), tenant=tenant)
        with Daemon(tmp_path / tenant, config) as daemon:
            play(daemon, f"first-of-{tenant}")
            wait_until(lambda: all_published(daemon), "the publication")
            collect(As(shared, f"{tenant}-collector"), tmp_path / f"lake-{tenant}")
            play(daemon, f"last-of-{tenant}")  # only in the stream
            assert daemon.stop() == 0  # publishes its last record
    with Viewer(tmp_path / "viewer", tmp_path / "lake-red", As(shared, "red-reader").url) as viewer:
        listed = lambda: {run["id"] for run in viewer.get("/v1/fleet/runs")["runs"]}  # noqa: E731
        wait_until(lambda: len(listed()) == 2, "the run that only the stream has")
        assert listed() == {"first-of-red", "last-of-red"}
        assert viewer.get("/v1/runs/last-of-red")["counts"]["messages"] > 0
        [record] = wait_until(lambda: [host for host in viewer.fleet()["hosts"] if host.get("record")], "the record")
        assert (record["tenant"], record["host"]) == ("red", "h1")
    assert not refused(shared)


def test_the_rights_of_a_home_suffice_to_take_over_a_large_run(shared, tmp_path):
    hosts = [
        Host(tmp_path, name, As(shared, user).url, tenant="red", stream_bytes=256 << 20)
        for name, user in (("h1", "red-home"), ("h2", "red-home-h2"))
    ]
    try:
        for host in hosts:
            host.start()
        client, home = join(hosts, "r", agents=["a"], clock="trace")
        for i in range(1_200):  # so many bytes that the server waits for the reader of the stream
            client.event(f"e{i}", ["a"], event={"payload": {"text": "x" * 4_000}}, ts=i)
        client.wait_acked()
        home.kill()
        client, other = join(hosts, "r", agents=["a"], clock="trace")
        assert other is not home and client.acked == 1_200
    finally:
        for host in hosts:
            if host.process is not None and host.process.poll() is None:
                host.kill()
    assert not refused(shared)


def refused(shared):
    """What the server refused to its users."""
    return re.findall(r"\w+ Violation.*", (shared.folder / "log").read_text())


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
