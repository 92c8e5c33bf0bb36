"""The HTTP interface of a running digd: health, metrics, runs, graphs, reports, the operator's switch, deletion."""

import http.client
import json
import re
import threading
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote

import pytest
from websockets.exceptions import InvalidStatus

from live import TIMEOUT_S, Client, Daemon, wait_until
from watching import NASTY, Feed, ask, get, metric, orphan, run_path, work


# ---- health


def test_a_running_daemon_is_healthy_and_ready(daemon):
    assert get(daemon, "/healthz") == "ok\n"
    assert get(daemon, "/readyz") == {"ready": True, "reasons": []}


def test_head_has_the_length_but_no_body_and_keeps_the_connection(daemon):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    for _ in range(3):
        c.request("HEAD", "/healthz")
        answer = c.getresponse()
        assert (answer.status, answer.read(), answer.getheader("Content-Length")) == (200, b"", "3")
        c.request("GET", "/v1/runs")
        answer = c.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"runs": [], "next": None})
    c.close()


def test_a_daemon_whose_archive_was_moved_is_not_ready(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        work(c)
        c.wait_acked()
        (daemon.data / "digd.sqlite").rename(daemon.data / "elsewhere")
        c.event("e9", ["a"])
        answer = wait_until(
            lambda: (r := ask(daemon, "GET", "/readyz"))[0] == 503 and json.loads(r[1]), "the daemon to be unready"
        )
        assert not answer["ready"] and answer["reasons"][0]["code"] == "archive"
        assert metric(daemon, "digd_archive_well") == 0 and metric(daemon, "digd_ready") == 0
        (daemon.data / "elsewhere").rename(daemon.data / "digd.sqlite")
        wait_until(lambda: ask(daemon, "GET", "/readyz")[0] == 200, "the daemon to be ready again")
        c.wait_acked()


# ---- metrics


def test_metrics_count_the_messages_of_a_run(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        work(c, 3)
        orphan(c)
        c.send_raw({"type": "event", "seq": c.seq + 1, "event": {"id": "e1", "recipients": ["a"]}})
        c.seq += 1
        c.wait_acked()
        expected = {
            'digd_messages_total{type="event"}': 3,
            'digd_messages_total{type="activation_ended"}': 4,
            'digd_refusals_total{code="duplicate_event"}': 1,
            'digd_detections_total{rule="orphaned_event",healed="true"}': 1,
            'digd_verdicts_total{action="reroute"}': 1,
            'digd_verdicts_total{action="deliver"}': 6,
            "digd_verdict_latency_seconds_count": 7,
            'digd_verdict_latency_seconds_bucket{le="+Inf"}': 7,
            "digd_sessions": 1,
            "digd_runs_open": 1,
            "digd_archive_queue_entries": 0,
        }
        for name, value in expected.items():
            wait_until(lambda: metric(daemon, name) == value, (name, metric(daemon, name)))
        assert metric(daemon, "digd_archive_entries_total") >= 13
        c.tell("run_ended", outcome="success")
        c.wait_acked()
    wait_until(lambda: metric(daemon, "digd_sessions") == 0, "the session to end")
    assert metric(daemon, "digd_runs_open") == 0 and metric(daemon, "digd_runs_ended_total") == 1


def test_metrics_are_well_formed_documented_and_name_no_run(daemon):
    from pathlib import Path

    documented = (Path(__file__).parents[2] / "docs/operate.md").read_text()
    with daemon.client(run="visible-run", agents=["visible-agent"]) as c:
        c.event("e1", ["visible-agent"])
        c.wait_acked()
        text = get(daemon, "/metrics")
    assert "visible" not in text
    families = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in families
            families[name] = kind
        elif not line.startswith("#"):
            found = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+', line)
            assert found, line
            base = re.sub("_(bucket|sum|count)$", "", found[1]) if found[1] not in families else found[1]
            assert base in families, line
    for name, kind in families.items():
        assert kind != "counter" or name.endswith("_total")
        assert f"`{name}`" in documented, name


# ---- runs


def test_runs_are_paged_newest_first(daemon):
    for i in range(5):
        with daemon.client(run=f"r{i}", agents=["a", "b"]) as c:
            work(c, i)
            c.tell("run_ended", outcome="success") if i == 0 else c.tell("time")
            c.wait_acked()
    seen, path = [], "/v1/runs?limit=2"
    while path:
        page = get(daemon, path)
        assert len(page["runs"]) <= 2
        seen += page["runs"]
        path = page["next"] and f"/v1/runs?limit=2&cursor={page['next']}"
    assert [r["run"] for r in seen] == ["r4", "r3", "r2", "r1", "r0"]
    assert [r["counts"]["messages"] for r in seen] == [13, 10, 7, 4, 1]
    assert (seen[-1]["state"], seen[-1]["ended"]) == ("ended", "success")
    assert (seen[0]["state"], seen[0]["ended"], seen[0]["mode"]) == ("open", None, "enforce")


def test_a_run_lists_the_healings_that_shadow_suppressed(daemon):
    with daemon.client(agents=["a", "b"], rules={"orphaned_event": {"mode": "shadow"}}, labels={"task": "t1"}) as c:
        orphan(c, "x")
        orphan(c, "y")
        c.wait_acked()
    run = get(daemon, "/v1/runs/r1")
    assert run["would_have"] == [{"rule": "orphaned_event", "healing": "reroute", "count": 2}]
    assert run["detections"] == [
        {"rule": "orphaned_event", "healed": False, "healing": "reroute", "cause": "mode", "outcome": None, "count": 2}
    ]
    assert (run["rules"]["orphaned_event"], run["rules"]["deadlock"]) == ("shadow", "enforce")
    assert (run["sessions"], run["labels"], run["settings"]["type"]) == (["main"], {"task": "t1"}, "hello")


def test_detections_are_paged_in_order(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        for i in range(5):
            orphan(c, f"x{i}")
        c.wait_acked()
    seen, path = [], "/v1/runs/r1/detections?limit=2"
    while path:
        page = get(daemon, path)
        seen += page["detections"]
        path = page["next"] and f"/v1/runs/r1/detections?limit=2&cursor={page['next']}"
    assert [d["detection"]["event"] for d in seen] == [f"x{i}" for i in range(5)]
    assert all(d["seq"] > 0 and d["detection"]["rule"] == "orphaned_event" for d in seen)


@pytest.mark.parametrize(
    "method, path, status, code",
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/runs/", 404, "not_found"),
        ("GET", "/v1/runs/none", 404, "no_such_run"),
        ("GET", "/v1/runs/none/graph", 404, "no_such_run"),
        ("GET", "/v1/runs/none/detections", 404, "no_such_run"),
        ("DELETE", "/v1/runs/none", 404, "no_such_run"),
        ("GET", "/v1/runs/" + "x" * 257, 404, "not_found"),
        ("GET", "/v1/runs/..%2f..%2fetc%2fpasswd", 404, "no_such_run"),
        ("GET", "/../../etc/passwd", 404, "not_found"),
        ("GET", "/v1/runs/%zz", 400, "bad_target"),
        ("GET", "/v1/runs?limit=0", 400, "limit"),
        ("GET", "/v1/runs?limit=501", 400, "limit"),
        ("GET", "/v1/runs?limit=many", 400, "limit"),
        ("GET", "/v1/runs?cursor=-1", 400, "cursor"),
        ("GET", "/v1/runs/none/graph?format=png", 400, "format"),
        ("GET", "/v1/runs/none/report", 404, "no_such_run"),
        ("GET", "/v1/runs/none/report?format=pdf", 400, "format"),
        ("GET", "/v1/feed", 426, "websocket"),
        ("GET", "/v1/ingest", 426, "websocket"),
        ("POST", "/v1/runs", 405, "wrong_method"),
        ("DELETE", "/v1/runs", 405, "wrong_method"),
        ("DELETE", "/healthz", 405, "wrong_method"),
        ("POST", "/v1/mode", 405, "wrong_method"),
        ("PUT", "/v1/mode", 400, "bad_json"),
    ],
)
def test_errors_are_reported_as_json(daemon, method, path, status, code):
    got, body, headers = ask(daemon, method, path)
    error = json.loads(body)["error"]
    assert (got, headers["Content-Type"]) == (status, "application/json")
    assert error["code"] == code or error["message"].startswith(code + ":")
    if status == 405:
        assert headers["Allow"]


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/v1/runs", "/v1/mode"])
def test_foreign_hosts_and_origins_are_refused_everywhere(daemon, path, headers, status):
    assert ask(daemon, "GET", path, headers=headers)[0] == status


def test_a_page_of_another_origin_cannot_delete_or_switch(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        work(c)
        c.wait_acked()
        evil = {"Origin": "http://evil.example"}
        assert ask(daemon, "DELETE", "/v1/runs/r1", headers=evil)[0] == 403
        assert ask(daemon, "PUT", "/v1/mode", '{"mode":"off"}', evil)[0] == 403
        assert get(daemon, "/v1/mode") == {"mode": "enforce"} and get(daemon, "/v1/runs/r1")


def test_bodies_and_headers_are_bounded(daemon):
    assert ask(daemon, "PUT", "/v1/mode", "x" * 5000)[0] == 413
    assert ask(daemon, "GET", "/healthz", headers={"X": "y" * 20000})[0] == 431
    assert ask(daemon, "GET", "/healthz?" + "&".join(f"a{i}=1" for i in range(40)))[0] == 400
    assert get(daemon, "/healthz") == "ok\n"


def test_without_an_archive_there_is_nothing_to_read(tmp_path):
    with Daemon(tmp_path, "archive = false\n") as daemon:
        for path in ("/v1/runs", "/v1/runs/r1", "/v1/runs/r1/graph", "/v1/runs/r1/report"):
            assert get(daemon, path, 503)["error"]["code"] == "archive_off"
        with pytest.raises(InvalidStatus) as refused:
            Feed(daemon)
        assert refused.value.response.status_code == 503
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"])
            assert c.verdicts()
            assert ask(daemon, "DELETE", "/v1/runs/r1")[0] == 204
            assert c.closed_with() == 4400
        assert get(daemon, "/readyz")["ready"]


# ---- graphs


def test_a_graph_escapes_names_in_every_format(daemon):
    agent = 'a"];evil[label="\x01<b>'
    with Client(daemon, quote(NASTY, safe=""), greet=False) as c:
        c.hello.update(run=NASTY, agents=[agent, "b"])
        c.send_raw(c.hello)
        c.wait_for("welcome")
        c.event('e"1\x02', [agent], event={"kind": "<k>&", "payload": {"text": "p"}})
        c.start("v1\\", agent, ['e"1\x02'])
        c.end("v1\\", [{"id": "e2]]>", "recipients": ["b"], "payload": "p2"}])
        c.wait_acked()
    graph = get(daemon, run_path(NASTY, "graph"))
    assert graph["run"] == NASTY and {a["name"] for a in graph["agents"]} == {agent, "b"}
    assert [e["id"] for e in graph["events"]] == ['e"1\x02', "e2]]>"]
    assert graph["activations"][0]["inputs"] == [{"event": 'e"1\x02', "reaction": "consume"}]
    tree = ElementTree.fromstring(get(daemon, run_path(NASTY, "graph?format=graphml")))
    names = [d.text for d in tree.iter() if d.tag.endswith("}data") and d.get("key") == "name"]
    assert "e2]]>" in names and "<k>&" in [d.text for d in tree.iter()]
    dot = get(daemon, run_path(NASTY, "graph?format=dot"))
    for line in dot.splitlines():  # outside strings there is only the syntax that digd writes
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        assert re.fullmatch(r'[\w \[\]{}=,;>"-]*', bare), line
        assert "evil" not in bare and "script" not in bare
    dig = get(daemon, run_path(NASTY, "graph?format=dig.graph.v2"))
    assert dig["schema"] == "dig.graph.v2" and dig["activations"]["v1\\"]["agent_id"] == agent
    assert get(daemon, run_path(NASTY))["run"] == NASTY


# ---- reports


def test_a_report_escapes_names_in_every_format(daemon):
    with Client(daemon, quote(NASTY, safe=""), greet=False) as c:
        c.hello.update(run=NASTY, agents=["a", "b"])
        c.send_raw(c.hello)
        c.wait_for("welcome")
        work(c)
        c.start("v2", "a", [])
        c.end("v2", [{"id": NASTY, "recipients": ["ghost"]}])
        c.wait_acked()
    document = get(daemon, run_path(NASTY, "report"))
    assert document["format"] == "digd.report" and document["run"]["id"] == NASTY
    assert [d["event"] for d in document["detections"]] == [NASTY] and document["detections"][0]["healed"]
    assert not any(part["ran"] for part in document["passes"].values())
    status, page, headers = ask(daemon, "GET", run_path(NASTY, "report?format=html"))
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    text = page.decode()
    assert text.count("<script>") == 1 and "\u202e" not in text and "digctl report" in text
    # The page has the same policy, without what a page itself cannot forbid.
    assert headers["Content-Security-Policy"].removesuffix("; frame-ancestors 'none'") in text
    markdown = get(daemon, run_path(NASTY, "report?format=md"))
    assert markdown.startswith("# Report of run") and "<script>" not in markdown
    assert ask(daemon, "HEAD", run_path(NASTY, "report?format=html"))[1] == b""


def test_a_run_can_be_deleted_while_its_report_is_requested(daemon):
    with daemon.client(agents=["a", "b"]) as c:
        work(c, 50)
        c.wait_acked()
    readers = [threading.Thread(target=ask, args=(daemon, "GET", "/v1/runs/r1/report")) for _ in range(8)]
    for reader in readers:
        reader.start()
    assert ask(daemon, "DELETE", "/v1/runs/r1")[0] == 204
    for reader in readers:
        reader.join(TIMEOUT_S)
        assert not reader.is_alive()
    assert ask(daemon, "GET", "/v1/runs/r1/report")[0] == 404


# ---- the operator's switch


def test_the_switch_affects_open_and_new_runs_until_a_restart(tmp_path):
    with Daemon(tmp_path, "threads = 2\n") as daemon:
        clients = {run: daemon.client(run=run, agents=["a", "b"]) for run in ("r1", "r2", "r3")}
        for c in clients.values():
            orphan(c, "x")
            assert c.verdicts()[0]["action"] == "reroute"
        status, body, _ = ask(daemon, "PUT", "/v1/mode", '{"mode":"observe"}')
        assert (status, json.loads(body)) == (200, {"mode": "observe", "switched": 3})
        assert get(daemon, "/v1/mode") == {"mode": "observe"}
        clients["new"] = daemon.client(run="new", agents=["a", "b"])
        assert clients["new"].welcome["mode"] == "observe"  # the effective mode
        with daemon.client(run="new", session="explicit", mode="observe") as second:
            assert second.welcome["mode"] == "observe"
        for c in clients.values():
            orphan(c, "y")
            assert [v["action"] for v in c.verdicts()] == ["deliver"]
            c.wait_acked()
        run = get(daemon, "/v1/runs/r1")
        assert (run["mode"], run["operator_mode"], run["rules"]["deadlock"]) == ("enforce", "observe", "observe")
        assert metric(daemon, 'digd_operator_mode{mode="observe"}') == 1
        for c in clients.values():
            c.drop()
        daemon.kill()
        daemon.start()
        assert get(daemon, "/v1/mode") == {"mode": "enforce"}
        for run in clients:
            with daemon.client(run=run, agents=["a", "b"]) as c:
                orphan(c, "z")
                assert c.verdicts()[0]["action"] == "reroute"
                c.wait_acked()
            assert get(daemon, f"/v1/runs/{run}")["operator_mode"] == "enforce"


# ---- deletion


def stored_anywhere(daemon, words):
    return [f.name for f in daemon.data.iterdir() if f.is_file() and words in f.read_bytes()]


def test_a_deleted_run_leaves_no_bytes_on_disk(daemon):
    secret, kept = b"the-secret-that-must-go", b"the-words-that-stay"
    with daemon.client(run="other", agents=["a", "b"]) as other:
        work(other, 3, payload=kept.decode())
        other.wait_acked()
        c = daemon.client(agents=["a", "b"])
        work(c, 50, payload=secret.decode())
        orphan(c)
        c.wait_acked()
        assert stored_anywhere(daemon, secret)
        assert ask(daemon, "DELETE", "/v1/runs/r1")[0] == 204
        assert c.closed_with() == 4400
        assert c.error()["code"] == "run_closed"
        assert ask(daemon, "GET", "/v1/runs/r1")[0] == 404 and ask(daemon, "DELETE", "/v1/runs/r1")[0] == 404
        wait_until(lambda: not stored_anywhere(daemon, secret), "the write-ahead log to be emptied")
        assert stored_anywhere(daemon, kept)
        work(other, 1, first=9)  # the other run continues
        other.wait_acked()
    with daemon.client(agents=["a", "b"]) as again:  # the name is free again
        assert again.welcome["acked_seq"] == 0
        work(again)
        again.tell("run_ended", outcome="success")
        again.wait_acked()
    assert get(daemon, "/v1/runs/r1")["counts"]["messages"] == 4
    assert ask(daemon, "DELETE", "/v1/runs/r1")[0] == 204  # the run has ended and is not in memory
    assert metric(daemon, "digd_runs_deleted_total") == 2
    assert metric(daemon, "digd_runs_open") == 1
