"""A viewer: digd with `fleet.view` shows the runs of a fleet as the daemons would, and counts what SQL counts."""

import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from deletion_test import deletion, finish
from digd.fleet.query import rows
from digd.fleet.store import Store
from digctl_fleet_test import environment, play_with_usage
from fleet_test import all_published, collect, fleet_config, metric, play, readiness
from homes import Host, join
from live import DIGCTL, Daemon, wait_until
from nats_server import NatsServer, need_stream_client


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    monkeypatch.setenv("DIGD_PYTHON", sys.executable)


class Viewer(Daemon):
    def __init__(self, folder, *urls, config=""):
        super().__init__(folder, f"{config}\n[fleet]\nview = {json.dumps([str(url) for url in urls])}\n")

    def get(self, path, headers=None):
        """The answer's JSON; raises urllib.error.HTTPError."""
        request = urllib.request.Request(f"http://{self.address}{path}", headers=headers or {})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def fleet(self, **query):
        return self.get("/v1/fleet?" + urllib.parse.urlencode(query))

    def runs(self, **query):
        return self.get("/v1/fleet/runs?" + urllib.parse.urlencode(query))

    def search(self, words, **query):
        return self.get("/v1/search?" + urllib.parse.urlencode({"q": words, **query}))

    def answers(self):
        """Whether digd.fleet answers and has read all files."""
        try:
            return self.fleet()["files"]["complete"]
        except urllib.error.HTTPError as error:
            assert error.code == 503
            return False

    def start(self):
        super().start()
        wait_until(self.answers, "the files")
        return self


def status_of(viewer, method, path, body=None, headers=None):
    request = urllib.request.Request(f"http://{viewer.address}{path}", body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def text_of(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}{path}") as answer:
        return answer.read().decode()


def say(client, id, to, text, ts, **more):
    client.tell("event", event={"id": id, "recipients": to, "payload": {"text": text}, **more}, ts=ts)


def play_fleet(daemon):
    for i in range(3):
        play(daemon, f"r{i}", steps=3 + i)
    play_with_usage(daemon, "paid", "failure", {"team": "x", "tier/~1": "gold"})
    play_with_usage(daemon, "cheap", "success", {"team": "y"})
    with daemon.client(run="open", agents=["a"], clock="trace", labels={"team": "x"}) as client:
        say(client, "task", ["a"], 'Compare the "prices" of 100% wool', ts=0)
        client.wait_acked()
    wait_until(lambda: all_published(daemon), "the publication")


@pytest.fixture
def filled(nats, tmp_path):
    """A daemon with runs, all of them in the files."""
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play_fleet(daemon)
        collect(nats, lake)
        yield daemon, lake


SUMS = """
SELECT count(*) AS runs, count(*) FILTER (ended IS NULL) AS open, count(*) FILTER (ended = 'success') AS success,
  count(*) FILTER (ended = 'failure') AS failure, sum(messages)::BIGINT AS messages FROM runs
"""


def sql(lake, query):
    names, found = rows(str(lake), query)
    return [dict(zip(names, row)) for row in found]


def test_the_page_counts_what_sql_counts(filled, tmp_path):
    daemon, lake = filled
    with Viewer(tmp_path / "v", lake) as viewer:
        fleet = viewer.fleet(by="label:team")
        (sums,) = sql(lake, SUMS)
        assert sums["runs"] == 6 and sums["open"] == 1 and {name: fleet["totals"][name] for name in sums} == sums
        usage = "sum((frame ->> '$.usage.{}')::DOUBLE)"
        spent = f"SELECT {usage.format('cost')} AS cost, {usage.format('input_tokens')} AS input_tokens FROM entries"
        (used,) = sql(lake, spent + """ WHERE frame LIKE '%"usage"%'""")
        assert used["cost"] > 0.5 and {name: fleet["totals"][name] for name in used} == used
        rules = "SELECT rule, count(*) AS detections, count(*) FILTER (healed) AS healed FROM detections GROUP BY rule"
        expected = {row.pop("rule"): row for row in sql(lake, rules)}
        assert expected and {row["rule"] for row in fleet["rules"]} == set(expected)
        for row in fleet["rules"]:
            assert (row["detections"], row["healed"]) == tuple(expected[row["rule"]].values())
        teams = {group["value"]: group for group in fleet["groups"]}
        assert {team: group["runs"] for team, group in teams.items()} == {None: 3, "x": 2, "y": 1}
        assert (teams["x"]["failure"], teams["x"]["open"]) == (1, 1) and set(fleet["labels"]) == {"team", "tier/~1"}
        assert [group["value"] for group in viewer.fleet(by="label:tier/~1")["groups"]] == [None, "gold"]
        (host,) = fleet["hosts"]
        (heard,) = sql(lake, "SELECT max(arrived_ms) AS heard_ms, count(*) FILTER (kind = 'message') AS n FROM entries")
        assert (host["host"], host["heard_ms"], host["messages"]) == ("h1", heard["heard_ms"], heard["n"])
        assert sum(fleet["series"]["runs"]) == 6 and sum(fleet["series"]["failure"]) == 1
        assert fleet["stream"] is None and host["record"] is None


def test_the_list_of_runs_is_filtered_and_paged(filled, tmp_path):
    daemon, lake = filled
    with Viewer(tmp_path / "v", lake) as viewer:
        listed = viewer.runs(limit=500)
        assert [run["run"] for run in listed["runs"]] == ["open", "cheap", "paid", "r2", "r1", "r0"]
        pages, cursor = [], None
        while cursor is not False:
            page = viewer.runs(limit=2, **({"cursor": cursor} if cursor else {}))
            pages.append([run["run"] for run in page["runs"]])
            cursor = page["next"] or False
        assert pages == [["open", "cheap"], ["paid", "r2"], ["r1", "r0"]]
        by_id = {run["run"]: run for run in viewer.get("/v1/runs?limit=100")["runs"]}
        for run in json.loads(text_of(daemon, "/v1/runs?limit=100"))["runs"]:
            shown = by_id[run["run"]]
            for name in ("state", "mode", "opened_ms", "last_ts", "ended", "ended_ms", "heard_ms", "counts", "labels"):
                assert shown[name] == run[name], (run["run"], name)
        names = lambda **query: [run["run"] for run in viewer.runs(**query)["runs"]]  # noqa: E731
        assert names(by="label:team", value="x") == ["open", "paid"]
        assert names(by="label:team", none=1) == ["r2", "r1", "r0"]
        assert names(by="host", value="h2") == []
        assert names(state="failure") == ["paid"] and names(state="open") == ["open"]
        assert names(rule="orphaned_event", state="success") == ["cheap", "r2", "r1", "r0"]
        assert names(find="GOLD") == ["paid"] and names(find="h1 r1") == ["r1"]
        assert names(until=1) == []
        for wrong in ("limit=0", "limit=501", "since=-1", "by=nothing", "state=odd", "cursor=x", "find=" + "x" * 201):
            code, words = status_of(viewer, "GET", f"/v1/fleet/runs?value=x&{wrong}")
            assert code == 400 and "bad_parameter" in words, wrong


def frames(address, run):
    """What the feed has of an ended run, without the numbers that each archive has for itself."""
    running = subprocess.Popen(
        [DIGCTL, "tail", run, "--jsonl", "--payloads", "--since", "0", "--to", address],
        stdout=subprocess.PIPE,
        text=True,
    )
    found = []
    try:
        while not found or found[-1].get("message", {}).get("type") != "run_ended":
            found.append(json.loads(running.stdout.readline()))
            found[-1].pop("seq")
    finally:
        running.terminate()
        running.communicate()
    return found


def test_a_run_looks_as_its_own_daemon_shows_it(filled, tmp_path):
    daemon, lake = filled
    with Viewer(tmp_path / "v", lake) as viewer:
        for run in ("r2", "paid", "open"):
            path = f"/v1/runs/{run}"
            seen, own = viewer.get(path), json.loads(text_of(daemon, path))
            for name in ("number", "home"):
                seen.pop(name, None), own.pop(name, None)
            assert seen == own
            for part in ("/trace", "/graph", "/graph?format=dot", "/report?format=md", "/usage"):
                assert text_of(viewer, path + part) == text_of(daemon, path + part), part
            listed = [json.loads(text_of(at, path + "/detections"))["detections"] for at in (viewer, daemon)]
            assert [item["detection"] for item in listed[0]] == [item["detection"] for item in listed[1]]
        assert frames(viewer.address, "paid") == frames(daemon.address, "paid")
        assert metric(viewer, "digd_view_runs") == 3
        missing = status_of(viewer, "GET", "/v1/runs/nobody")
        assert missing[0] == 404 and "no_such_run" in missing[1]


def test_several_runs_of_one_id_have_names_of_their_own(nats, tmp_path):
    lake = tmp_path / "lake"
    for host in ("h1", "h2"):
        config = fleet_config(nats).replace('host = "h1"', f'host = "{host}"')
        with Daemon(tmp_path / host, config) as daemon:
            play(daemon, "same", steps=2 if host == "h1" else 4)
            wait_until(lambda: all_published(daemon), "the publication")
    collect(nats, lake)
    with Viewer(tmp_path / "v", lake) as viewer:
        latest, earlier = viewer.runs()["runs"]
        assert (latest["run"], latest["host"]) == ("same", "h2")
        assert re.fullmatch(r"same~\w+-1", earlier["run"]) and (earlier["id"], earlier["host"]) == ("same", "h1")
        for run in (latest, earlier):
            shown = viewer.get(f"/v1/runs/{urllib.parse.quote(run['run'])}")
            assert shown["counts"] == run["counts"] and shown["run"] == run["run"]
        assert latest["counts"] != earlier["counts"]


def test_the_stream_and_the_files_together_count_each_message_once(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "old")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
        play_fleet(daemon)
        expected = sum(run["counts"]["messages"] for run in json.loads(text_of(daemon, "/v1/runs"))["runs"])
        with Viewer(tmp_path / "v", lake, nats.url) as viewer:
            wait_until(lambda: viewer.fleet()["totals"]["messages"] == expected, "the stream's messages")
            before = viewer.fleet()
            assert before["stream"]["connected"] and before["stream"]["rows"] > 0
            assert [hit["run"] for hit in viewer.search("wool")["hits"]] == ["open"]
            details = viewer.get("/v1/runs/paid")
            collect(nats, lake)
            wait_until(lambda: viewer.fleet()["stream"]["rows"] == 0, "the collected files")
            assert viewer.fleet()["totals"] == before["totals"] and viewer.get("/v1/runs/paid") == details
            assert Store(lake).compact() > 0
            wait_until(lambda: viewer.fleet()["files"]["total"] <= 4, "the compacted files")
            wait_until(viewer.answers, "the compacted files")
            wait_until(lambda: viewer.fleet()["totals"] == before["totals"], "the same totals")
            assert [hit["run"] for hit in viewer.search("wool")["hits"]] == ["open"]


def test_an_open_run_goes_on_live(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        with daemon.client(run="r", agents=["a", "b"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, lake)
            with Viewer(tmp_path / "v", lake, nats.url) as viewer:
                assert viewer.get("/v1/runs/r")["counts"]["messages"] == 1
                running = subprocess.Popen(
                    [DIGCTL, "tail", "r", "--jsonl", "--since", "0", "--to", viewer.address],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                try:
                    assert json.loads(running.stdout.readline())["message"]["event"]["id"] == "task"
                    client.start("v0", "a", ["task"], ts=1)
                    client.event("lost", ["nobody"], source="v0", ts=2)
                    client.verdicts()
                    client.end("v0", ts=3)
                    client.tell("run_ended", outcome="success", ts=4)
                    client.wait_acked()
                    seen = []
                    while not seen or seen[-1].get("message", {}).get("type") != "run_ended":
                        seen.append(json.loads(running.stdout.readline()))
                finally:
                    running.terminate()
                    running.communicate()
                assert {"message", "detection", "verdicts"} <= {frame["type"] for frame in seen}
                wait_until(lambda: viewer.get("/v1/runs/r")["ended"] == "success", "the end of the run")
                own = json.loads(text_of(daemon, "/v1/runs/r"))
                assert viewer.get("/v1/runs/r")["counts"] == own["counts"]
                collect(nats, lake)  # the same rows again, from the files
                wait_until(lambda: viewer.fleet()["stream"]["rows"] == 0, "the collected files")
                assert viewer.get("/v1/runs/r")["counts"] == own["counts"]


def test_a_run_that_moved_is_shown_whole(nats, tmp_path):
    lake = tmp_path / "lake"
    with Host(tmp_path, "h1", nats.url) as first, Host(tmp_path, "h2", nats.url) as second:
        client, home = join([first, second], "r", agents=["a", "b"])
        assert home is first
        client.event("task", ["a"], ts=0)
        client.start("v0", "a", ["task"], ts=1)
        client.wait_acked()
        with Viewer(tmp_path / "v", lake, nats.url) as viewer:
            collect(nats, lake)
            wait_until(lambda: viewer.runs()["runs"], "the files")
            assert viewer.get("/v1/runs/r")["counts"]["messages"] == 2
            first.kill()
            client.drop()
            client, home = join([first, second], "r", agents=["a", "b"])
            assert home is second
            client.event("lost", ["nobody"], source="v0", ts=2)
            assert client.verdicts()
            client.end("v0", ts=3)
            client.tell("run_ended", outcome="success", ts=4)
            client.wait_acked()
            client.close()
            wait_until(lambda: all_published(second), "the publication")
            wait_until(lambda: viewer.get("/v1/runs/r")["ended"] == "success", "the new home's part")
            for _ in range(2):  # from the stream, then from the files
                (run,) = viewer.runs()["runs"]
                own = json.loads(text_of(second, "/v1/runs/r"))
                assert run["counts"] == own["counts"] == viewer.get("/v1/runs/r")["counts"]
                assert text_of(viewer, "/v1/runs/r/graph") == text_of(second, "/v1/runs/r/graph")
                collect(nats, lake)
                wait_until(lambda: viewer.fleet()["stream"]["rows"] == 0, "the collected files")


def test_a_deleted_run_disappears_while_it_is_shown(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play_fleet(daemon)
        collect(nats, lake)
        with Viewer(tmp_path / "v", lake) as viewer:
            assert viewer.get("/v1/runs/open")["counts"]["messages"] == 1
            assert viewer.search("wool")["hits"]
            assert finish(deletion(daemon, "open", lake, nats), nats, lake)[0] == 0
            wait_until(lambda: metric(viewer, "digd_view_runs") == 0, "the run's removal")
            assert status_of(viewer, "GET", "/v1/runs/open")[0] == 404
            assert "open" not in {run["run"] for run in viewer.runs()["runs"]}
            assert viewer.fleet()["totals"]["runs"] == 5 and viewer.search("wool")["hits"] == []
            assert b"wool" not in Path(viewer.data / "fleet-view.sqlite").read_bytes()


def test_search_finds_what_agents_said_page_by_page(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for batch in range(3):
            for i in range(4):
                with daemon.client(run=f"s{batch}{i}", agents=["a"], clock="trace") as client:
                    say(client, "e", ["a"], f"Straße {batch}{i}: a \"50%_off\" offer\nfor tea", ts=0)
                    client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            collect(nats, lake)
    everything = [f"s{batch}{i}" for batch in (2, 1, 0) for i in (3, 2, 1, 0)]
    with Viewer(tmp_path / "v", lake) as viewer:
        found, cursor = [], ""
        while cursor is not None:
            page = viewer.search("OFFER tea", limit=5, cursor=cursor)
            found.append([hit["run"] for hit in page["hits"]])
            cursor = page["next"]
        assert sum(found, []) == everything and all(len(page) <= 5 for page in found)
        assert [hit["run"] for hit in viewer.search("straße 21:")["hits"]] == ["s21"]
        hits = viewer.search('"50%_off"')["hits"]
        assert [hit["run"] for hit in hits] == everything and '"50%_off"' in hits[0]["excerpt"]
        assert viewer.search("50%off")["hits"] == [] and viewer.search("recipients")["hits"] == []
        assert status_of(viewer, "GET", "/v1/search?q=")[0] == 400
        viewer.get("/v1/runs/s00")  # within one run, the index of the opened runs answers
        wait_until(lambda: viewer.search("offer", run="s00")["hits"], "the index of the opened run")


def test_a_viewer_changes_nothing(filled, tmp_path):
    _, lake = filled
    with Viewer(tmp_path / "v", lake) as viewer:
        for method, path, body in [
            ("DELETE", "/v1/runs/r0", None),
            ("PUT", "/v1/mode", b'{"mode":"off"}'),
            ("POST", "/v1/runs/r0/detections/1/judgement", b'{"judgement":"right"}'),
            ("POST", "/v1/runs/r0/holds/1", b'{"decision":"release"}'),
            ("POST", "/v1/traces", b"{}"),
            ("POST", "/v1/hooks/claude-code", b"{}"),
            ("GET", "/v1/ingest", None),
            ("GET", "/v1/pilot", None),
            ("GET", "/v1/webhooks", None),
        ]:
            code, words = status_of(viewer, method, path, body)
            assert code == 404 and '"viewer"' in words, (method, path)
        assert viewer.get("/v1/mode") == {"mode": "off", "fleet": True}
        assert viewer.get("/v1/runs/r0")["counts"]["messages"] > 0
    with Daemon(tmp_path / "plain") as plain:
        assert status_of(plain, "GET", "/v1/fleet")[0] == 404 and "fleet" not in text_of(plain, "/v1/mode")


def child_of(viewer):
    return int(subprocess.check_output(["pgrep", "-P", str(viewer.process.pid), "-f", "digd.fleet"]).split()[0])


def test_a_killed_reader_is_started_again(filled, tmp_path):
    _, lake = filled
    with Viewer(tmp_path / "v", lake) as viewer:
        before = viewer.get("/v1/runs/r1")
        os.kill(child_of(viewer), signal.SIGKILL)
        wait_until(lambda: metric(viewer, "digd_view_restarts_total") == 1, "the restart")
        wait_until(viewer.answers, "the files")
        after = viewer.get("/v1/runs/r1")
        assert after.pop("number") > before.pop("number") and after == before
        assert metric(viewer, "digd_view_runs") == 1


def test_files_that_cannot_be_read_are_a_note_and_not_an_end(tmp_path):
    with Daemon(tmp_path / "v", '[fleet]\nview = ["/nowhere/at/all"]\n') as viewer:
        wait_until(lambda: status_of(viewer, "GET", "/v1/fleet")[0] == 200, "an answer")
        fleet = json.loads(text_of(viewer, "/v1/fleet"))
        assert (fleet["totals"]["runs"], fleet["files"]["total"], fleet["hosts"]) == (0, 0, [])


def test_without_a_server_the_page_names_it_and_the_reason(tmp_path):
    for urls in (["nats://me:secret@127.0.0.1:1"], ["nats://me:secret@127.0.0.1:1", str(tmp_path / "lake")]):
        with Viewer(tmp_path / "v", *urls) as viewer:
            wait_until(lambda: "Connect call failed" in viewer.fleet()["stream"]["problem"], "the reason")
            stream = viewer.fleet()["stream"]
            assert not stream["connected"] and stream["problem"].startswith("nats://127.0.0.1:1: ")
            assert viewer.runs()["runs"] == [] and "secret" not in viewer.log_text()


def test_without_the_right_to_read_the_page_shows_that(tmp_path):
    need_stream_client()
    rights = '{publish: ["$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.INFO.>"]}'
    reader = f"{{user: reader, password: pw, permissions: {rights}}}"
    users = f"authorization {{ users: [{{user: all, password: pw}}, {reader}] }}\n"
    with NatsServer(tmp_path / "nats", more=users) as server:
        everything = server.url.replace("//", "//all:pw@")
        config = fleet_config(server).replace(server.url, everything)
        with Daemon(tmp_path / "d", config) as daemon, Viewer(tmp_path / "v", everything) as viewer:
            play(daemon, "r")
            wait_until(lambda: viewer.fleet()["totals"]["runs"] == 1, "the run")
        with Viewer(tmp_path / "w", server.url.replace("//", "//reader:pw@")) as viewer:
            wait_until(lambda: "permissions violation" in viewer.fleet()["stream"]["problem"], "the reason")
            stream = viewer.fleet()["stream"]
            assert not stream["connected"] and "consumer.create.digd." in stream["problem"]


def test_the_stream_alone_shows_what_it_holds(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play_fleet(daemon)
        collect(nats, lake)  # without its files, a viewer shows also what is collected
        play(daemon, "late")
        wait_until(lambda: all_published(daemon), "the publication")
        with Viewer(tmp_path / "v", nats.url) as viewer:
            wait_until(lambda: viewer.fleet()["totals"]["runs"] == 7, "the stream's runs")
            fleet = viewer.fleet(by="label:team")
            assert fleet["stream"]["connected"] and fleet["stream"]["problem"] == ""
            own = json.loads(text_of(daemon, "/v1/runs?limit=100"))["runs"]
            assert fleet["totals"]["messages"] == sum(run["counts"]["messages"] for run in own)
            assert {group["value"]: group["runs"] for group in fleet["groups"]} == {None: 4, "x": 2, "y": 1}
            assert [run["run"] for run in viewer.runs()["runs"]] == [run["run"] for run in own]
            assert viewer.get("/v1/runs/paid")["counts"] == json.loads(text_of(daemon, "/v1/runs/paid"))["counts"]
            assert [hit["run"] for hit in viewer.search("wool")["hits"]] == ["open"]
            play(daemon, "live")
            wait_until(lambda: viewer.fleet()["totals"]["runs"] == 8, "a new run")
            assert finish(deletion(daemon, "paid", lake, nats), nats, lake)[0] == 0
            wait_until(lambda: viewer.fleet()["totals"]["runs"] == 7, "the run's removal")
            nats.kill()
            wait_until(lambda: not viewer.fleet()["stream"]["connected"], "the lost server")
            wait_until(lambda: "Connect call failed" in viewer.fleet()["stream"]["problem"], "the reason")
            assert nats.url in viewer.fleet()["stream"]["problem"] and viewer.fleet()["totals"]["runs"] == 7


def test_at_most_32_runs_are_in_the_temporary_archive(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(40):
            play(daemon, f"r{i}", steps=1)
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
    with Viewer(tmp_path / "v", lake) as viewer:
        details = [viewer.get(f"/v1/runs/r{i}")["counts"] for i in range(40)]
        assert metric(viewer, "digd_view_runs") == 32 and metric(viewer, "digd_view_evicted_total") == 8
        assert [viewer.get(f"/v1/runs/r{i}")["counts"] for i in range(40)] == details


def test_a_token_for_some_runs_sees_these_and_not_the_fleet(filled, tmp_path):
    _, lake = filled
    file = tmp_path / "tokens.toml"
    entries = [("everything", ""), ("some", 'runs = ["r"]\n')]
    digest = lambda name: hashlib.sha256(name.encode()).hexdigest()  # noqa: E731
    file.write_text(
        "".join(
            f'[[token]]\nname = "{name}"\nsha256 = "{digest(name)}"\nrights = ["read", "watch"]\n{runs}'
            for name, runs in entries
        )
    )
    file.chmod(0o600)
    viewer = Daemon(tmp_path / "v", f'tokens = "{file}"\n[fleet]\nview = ["{lake}"]\n')
    with viewer:

        def code(path, name):
            return status_of(viewer, "GET", path, None, {"Authorization": f"Bearer {name}"})[0]

        wait_until(lambda: code("/v1/runs/r1", "everything") == 200, "the files")
        for path in ("/v1/fleet", "/v1/fleet/runs", "/v1/runs", "/v1/search?q=wool"):
            assert (code(path, "everything"), code(path, "some"), code(path, "nobody")) == (200, 403, 401), path
        assert code("/v1/runs/r1", "some") == 200 and code("/v1/runs/paid", "some") == 403
        assert code("/v1/runs/r1~a-1", "some") == 403
        feed = {
            **{"Authorization": "Bearer some", "Connection": "Upgrade", "Upgrade": "websocket"},
            **{"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="},
            "Sec-WebSocket-Protocol": "digd.feed.v1",
        }
        connection = http.client.HTTPConnection(viewer.address)  # urllib would not ask for a WebSocket
        connection.request("GET", "/v1/feed?run=r1~a-1", headers=feed)
        assert connection.getresponse().status == 403
        connection.close()
        parent = str(viewer.process.pid)
        children = subprocess.run(["ps", "-o", "args=", "--ppid", parent], capture_output=True, text=True).stdout
        assert "digd.fleet" in children and str(lake) not in children  # a URL may have a password


def test_hosts_say_their_version_and_their_lag(nats, tmp_path):
    lake = tmp_path / "lake"
    with Viewer(tmp_path / "v", lake, nats.url) as viewer:
        collect_nothing = subprocess.Popen(
            [sys.executable, "-m", "digd.fleet", "collect", lake, "--nats", nats.url], stderr=subprocess.DEVNULL
        )
        try:
            with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
                play(daemon, "r")
                record = lambda: (viewer.fleet()["hosts"] or [{}])[0].get("record")  # noqa: E731
                known = wait_until(record, "the host's record", within=60)
                version = subprocess.run([DIGCTL, "--version"], capture_output=True, text=True).stdout.split()[1]
                assert (known["version"], known["stopping"], known["every_ms"]) == (version, False, 10_000)
                assert daemon.stop() == 0
            wait_until(lambda: record()["stopping"], "the last record")
            assert record()["lag"] == 0 and record()["open_runs"] == 0
            wait_until(lambda: viewer.fleet()["hosts"][0]["runs"] == 1, "the run")
        finally:
            collect_nothing.terminate()
            collect_nothing.wait(60)


def found(url):
    """The answer's JSON; nothing while digd.fleet starts, which a busy machine delays."""
    try:
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        assert error.code == 503
        return {}


def test_digctl_serves_the_page_until_it_is_interrupted(filled, tmp_path):
    _, lake = filled
    folder = tmp_path / "tmp"
    folder.mkdir()
    words = [DIGCTL, "--fleet", lake, "dashboard", "--listen", "127.0.0.1:0", "--no-open"]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment(TMPDIR=str(folder)))
    try:
        url = re.search(r"http://\S+", running.stderr.readline())[0]
        wait_until(lambda: found(url + "v1/runs").get("runs"), "the runs")
        with urllib.request.urlopen(url) as page:
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        foreign = urllib.request.Request(url, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign)
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0 and list(folder.iterdir()) == []


def test_digctl_refuses_a_page_for_everyone_and_one_without_a_fleet(tmp_path):
    wide = subprocess.run(
        [DIGCTL, "--fleet", tmp_path, "dashboard", "--listen", "0.0.0.0:0", "--no-open"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert wide.returncode == 2 and "token" in wide.stderr
    bare = subprocess.run([DIGCTL, "dashboard", "--no-open"], capture_output=True, text=True, env=environment())
    assert bare.returncode == 2 and "--fleet URL" in bare.stderr
