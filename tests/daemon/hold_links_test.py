"""Signed links to held events: only the POST of the page behind them decides, and once."""

import hashlib
import http.client
import json
import re
import stat
import urllib.parse

import pytest

from live import TIMEOUT_S, Daemon, wait_until
from watching import get, run_path
from webhook_receiver import Receiver, hook, reload

CAPABLE = {"capabilities": {"hold": True, "cancel": True}, "agents": ["planner", "coder"]}
HOLD_FAN_OUT = {"guards": {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 600_000}}
BASE = "http://digd.example.org:8080/"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def visit(daemon, method, link, form=None, **headers):
    """Opens the link as a browser does; returns status, page and headers."""
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        body = None if form is None else urllib.parse.urlencode(form)
        c.request(method, link, body, {**(FORM if body is not None else {}), **headers})
        answer = c.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        c.close()


def hold_an_event(c, event="e2", payload="<b>search</b>"):
    c.event("r" + event, ["planner"])
    c.start("v" + event, "planner", ["r" + event], usage={"input_tokens": 812, "cost": 2.5})
    c.event(event, ["coder"], source="v" + event, event={"payload": {"task": payload}})
    assert c.verdicts()[0]["action"] == "hold"
    c.wait_acked()


def link_in(body):
    assert body["link"].startswith(BASE + "hold?link=")
    return body["link"].removeprefix(BASE.rstrip("/"))


@pytest.fixture
def sent(tmp_path):
    """A daemon, a client with a held event, and the link that the webhook got."""
    with Receiver() as r:
        config = hook(tmp_path, r.url(), "on-call", send=["detections"], dashboard=BASE, hold_links=True)
        with Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            body = r.wait_for(1)[0]
            assert body["hold"] == "hold:1"
            yield daemon, c, link_in(body)


def holds(daemon):
    return [h["hold"] for h in get(daemon, run_path("r1", "holds"))["holds"]]


def test_the_page_shows_the_held_event_and_a_preview_decides_nothing(sent):
    daemon, _, link = sent
    for method in ("HEAD", "GET", "GET"):
        status, page, headers = visit(daemon, method, link, Purpose="prefetch")
        assert status == 200 and headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    for shown in ("planner", "coder", "fan_out: ", "2.5", "812", "&lt;b&gt;search&lt;/b&gt;", 'method="post"'):
        assert shown in page, page
    assert "<b>" not in page and "<script" not in page
    assert holds(daemon) == ["hold:1"]


def test_the_page_shows_a_deeply_nested_payload(tmp_path):
    payload = "deep"
    for _ in range(500):
        payload = [payload]
    with Receiver() as r:
        config = hook(tmp_path, r.url(), "on-call", send=["detections"], dashboard=BASE, hold_links=True)
        with Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c, payload=payload)
            link = link_in(r.wait_for(1)[0])
            status, page, _ = visit(daemon, "GET", link)
            assert status == 200 and "[[[&quot;deep&quot;]]]" in page
            assert visit(daemon, "POST", link, {"decision": "release"})[0] == 200


def test_forged_links_do_not_displace_lines_of_the_audit_log(sent):
    daemon, _, link = sent
    assert visit(daemon, "PUT", "/v1/mode")[0] == 400
    for _ in range(300):
        assert visit(daemon, "POST", "/hold?link=x.y", {"decision": "release"})[0] == 403
    assert visit(daemon, "POST", link, {"decision": "release"})[0] == 200
    assert visit(daemon, "POST", link, {"decision": "release"})[0] == 410
    file = daemon.data / "audit.jsonl"
    wait_until(lambda: '"status":200' in file.read_text(), "the decision")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (lines[0]["action"], lines[0]["status"]) == ("PUT /v1/mode", 400)
    assert [x["action"] for x in lines if x["status"] == 200] == ["POST /hold"]
    refused = [x for x in lines if x["status"] == 403]
    assert 0 < len(refused) < 300  # ten a second for each thread
    assert link not in daemon.log_text()


def test_a_post_decides_once_in_the_name_of_the_webhook(sent):
    daemon, c, link = sent
    status, page, _ = visit(daemon, "POST", link, {"text": "Use the cache & stop.", "decision": "return"})
    assert status == 200 and "Returned" in page
    ended = c.wait_for("intervention")
    assert (ended["id"], ended["action"], ended["inject"]) == ("hold:1", "reroute", "Use the cache & stop.")
    c.tell("delivery", of="hold:1", applied="rerouted")
    c.wait_acked()
    assert holds(daemon) == []
    for method, form in (("POST", {"decision": "release"}), ("GET", None)):
        status, page, _ = visit(daemon, method, link, form)
        assert status == 410 and "has ended" in page
    with daemon.client(run="r2"):
        lines = visit(daemon, "GET", run_path("r1", "trace"))[1].splitlines()
    decisions = [d for d in map(json.loads, lines) if d["type"] == "decision"]
    assert [(d["decision"], d["by"]) for d in decisions] == [("return", "webhook on-call")]


def test_a_forged_link_is_refused_and_a_form_must_be_complete(sent):
    daemon, _, link = sent
    start, signature = link.rsplit(".", 1)
    other_hold = bytes.fromhex(start.split("=")[1]).replace(b",1,1,", b",1,2,").hex()
    for wrong in (
        "/hold",
        "/hold?link=",
        "/hold?link=x.y",
        link[:-1],
        start + "." + signature[::-1],
        f"/hold?link={other_hold}.{signature}",
        "/hold?link=" + "a" * 9000 + "." + signature,
    ):
        for method, form in (("GET", None), ("POST", {"decision": "release"})):
            status, page, _ = visit(daemon, method, wrong, form)
            assert status == 403 and "not valid" in page, wrong
    for form in ({}, {"decision": "shrug"}, {"decision": "release", "text": "x" * 17_000}):
        status, page, _ = visit(daemon, "POST", link, form)
        assert status == 400 and "Not decided" in page
    assert visit(daemon, "POST", link, {"decision": "release"}, Origin="https://evil.example")[0] == 403
    assert visit(daemon, "PUT", link, {"decision": "release"})[0] == 405
    assert holds(daemon) == ["hold:1"]
    assert visit(daemon, "POST", link, {"decision": "release", "text": "ä" * 8_000})[0] == 200


def test_a_link_outlives_a_restart_but_not_its_key_nor_its_run(tmp_path):
    with Receiver() as r:
        config = hook(tmp_path, r.url(), "on-call", dashboard=BASE, hold_links=True)
        with Daemon(tmp_path, config) as daemon:
            key = next(tmp_path.rglob("hold_links.key"))
            assert stat.S_IMODE(key.stat().st_mode) == 0o600 and key.stat().st_size == 32
            with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
                hold_an_event(c)
            link = link_in(next(b for b in r.wait_for(1) if "link" in b))
            first_key = key.read_bytes()
        with Daemon(tmp_path, config) as daemon:
            assert key.read_bytes() == first_key
            assert visit(daemon, "GET", link)[0] == 200
        key.unlink()
        with Daemon(tmp_path, config) as daemon:
            assert visit(daemon, "GET", link)[0] == 403


def test_a_reload_without_hold_links_revokes_links(tmp_path):
    with Receiver() as r:
        config = hook(tmp_path, r.url(), "on-call", dashboard=BASE, hold_links=True)
        other = hook(tmp_path, r.url(), "other", dashboard=BASE, hold_links=True)
        with Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            link = link_in(next(b for b in r.wait_for(1) if "link" in b))
            without = (hook(tmp_path, r.url(), "on-call", dashboard=BASE), other, "")
            for revoking in without:
                reload(daemon, revoking, "reloaded")
                for method, form in (("GET", None), ("POST", {"decision": "release"})):
                    status, page, _ = visit(daemon, method, link, form)
                    assert status == 410 and "was revoked" in page
                assert holds(daemon) == ["hold:1"]


def test_a_link_of_a_deleted_run_does_not_open_a_new_run_with_its_id(tmp_path):
    links = {"dashboard": BASE, "hold_links": True}
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url(), "on-call", **links)) as daemon:
        with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            link = link_in(next(b for b in r.wait_for(1) if "link" in b))
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        assert visit(daemon, "DELETE", run_path("r1"))[0] in (200, 204)
        with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            assert holds(daemon) == ["hold:1"]
            for method, form in (("GET", None), ("POST", {"decision": "release"})):
                assert visit(daemon, method, link, form)[0] == 410
            assert holds(daemon) == ["hold:1"]


def test_with_tokens_a_link_needs_no_token_and_a_decision_over_the_api_does(tmp_path):
    tokens = tmp_path / "tokens.toml"
    secret = "0" * 64
    tokens.write_text(
        '[[token]]\nname = "team"\nsha256 = "%s"\nrights = ["ingest", "read"]\n'
        % hashlib.sha256(secret.encode()).hexdigest()
    )
    with Receiver() as r:
        config = f'tokens = "{tokens}"\n' + hook(tmp_path, r.url(), "on-call", dashboard=BASE, hold_links=True)
        with Daemon(tmp_path, config) as daemon, daemon.client(token=secret, **CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            link = link_in(next(b for b in r.wait_for(1) if "link" in b))
            bearer = {"Authorization": "Bearer " + secret}
            assert visit(daemon, "POST", run_path("r1", "holds", "hold:1"), {}, **bearer)[0] == 403
            assert visit(daemon, "POST", link, {"decision": "release"})[0] == 200
            assert c.wait_for("intervention")["action"] == "release"


def test_a_slack_message_has_the_link_and_without_hold_links_there_is_none(tmp_path):
    with Receiver() as r:
        config = hook(tmp_path, r.url("/slack"), "team", format="slack", dashboard=BASE, hold_links=True)
        config += hook(tmp_path, r.url("/plain"), "plain")
        with Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c)
            (text,) = [b["text"] for b in r.wait_for(1, "/slack")]
            assert "|Open the run>" in text
            link = re.search(r"\n<(\S+)\|Decide about the held event>", text)[1]
            assert visit(daemon, "GET", link_in({"link": link}))[0] == 200
            (plain,) = r.wait_for(1, "/plain")
            assert plain["hold"] == "hold:1" and "link" not in plain
