"""Every body that digd posts fits the schema of its receiver: PagerDuty's Events API v2, an incoming webhook of Slack,
and digd's own format."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest

from hold_links_test import BASE, CAPABLE, HOLD_FAN_OUT, hold_an_event
from live import Daemon
from webhook_receiver import Receiver, hook, orphan, stuck


def schema(name):
    text = Path(__file__).with_name(name + ".schema.json").read_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text), format_checker=jsonschema.FormatChecker())


SCHEMAS = {
    "pagerduty": schema("pagerduty_events_v2"),
    "slack": schema("slack_incoming_webhook"),
    "generic": schema("callback"),
}
KEY = "0123456789abcdef0123456789abcdef"
MAX_BYTES = 512 * 1024  # PagerDuty's limit
each_format = pytest.mark.parametrize("format", SCHEMAS)


def alerts(folder, receiver, format, **options):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secret").write_text(KEY + "\n")
    if format == "slack":
        options["secret_file"] = None
    return hook(folder, receiver.url(), format=format, **{"dashboard": BASE, "group_ms": 0, **options})


def posted(receiver, n, format):
    receiver.wait_for(n)
    for post in receiver.posts:
        SCHEMAS[format].validate(post["body"])
        assert len(post["raw"]) < MAX_BYTES
        assert ("Digd-Signature" in post["headers"]) == (format == "generic")
    return [post["body"] for post in receiver.posts]


@each_format
def test_a_healed_and_an_unhealed_detection_and_an_intervention_fit(tmp_path, format):
    with Receiver() as r, Daemon(tmp_path, alerts(tmp_path, r, format)) as daemon:
        with daemon.client(run="run 1", place=False, agents=["a", "b"], witness=True) as c:
            stuck(c)
            healed, made = posted(r, 2, format)
        with daemon.client(run="r2", agents=["a"], mode="observe") as c:
            orphan(c)
            unhealed = posted(r, 3, format)[2]
    if format == "pagerduty":
        assert [b["payload"]["severity"] for b in (healed, made, unhealed)] == ["info", "info", "error"]
        assert [b["payload"]["custom_details"]["kind"] for b in (healed, made)] == ["detection", "intervention"]
        assert unhealed["payload"]["class"] == "orphaned_event"
        assert {b["routing_key"] for b in (healed, made, unhealed)} == {KEY}
        assert healed["client_url"] == BASE + "#/run/run%201" == healed["links"][0]["href"]
    elif format == "slack":
        assert healed["text"].startswith("*deadlock* (failure) in run `run 1`, healed: create\n`")
        assert made["text"].startswith("digd intervened in run `run 1`: create for `a`, `b`, because of *deadlock*\n`")
        assert unhealed["text"].startswith("*orphaned_event* (failure) in run `r2`, not healed: mode\n`")
        assert healed["text"].endswith(f"\n<{BASE}#/run/run%201|Open the run>")
    else:
        assert [b["run"] for b in (healed, made, unhealed)] == ["run 1", "run 1", "r2"]
        assert healed["detection"]["witness"]["events"] and healed["detection"]["healing"] == "create"
        assert made["intervention"]["detections"][0]["rule"] == "deadlock"
        assert unhealed["detection"]["cause"] == "mode"


@each_format
def test_an_alert_about_a_hold_links_to_its_decision(tmp_path, format):
    config = alerts(tmp_path, r := Receiver(), format, send=["detections"], hold_links=True)
    with r, Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c)
        (held,) = posted(r, 1, format)
    if format == "pagerduty":
        assert [link["href"].startswith(BASE) for link in held["links"]] == [True, True]
    elif format == "slack":
        assert f"\n<{BASE}hold?link=" in held["text"] and held["text"].endswith("|Decide about the held event>")
    else:
        assert held["hold"] == "hold:1" and held["link"].startswith(BASE)
        assert held["detection"]["action"] == "hold" and held["detection"]["limits"]


@pytest.mark.parametrize("action", ["return", "cancel"])
@each_format
def test_an_alert_of_a_guard_fits(tmp_path, format, action):
    guards = {"guards": {"fan_out": {"max_depth": 0, "action": action}}}
    with Receiver() as r, Daemon(tmp_path, alerts(tmp_path, r, format)) as daemon:
        with daemon.client(**CAPABLE, **guards) as c:
            c.event("task", ["planner"])
            c.start("v", "planner", ["task"])
            c.event("e", ["coder"], source="v")
            assert c.verdicts()[0]["action"] == "reroute"
            bodies = posted(r, 2 if action == "cancel" else 1, format)
    assert any("fan_out" in json.dumps(body) for body in bodies)


@pytest.mark.parametrize("character", ["x", "é", "😀", '"', "\n", "\u202e", "&", "<", "`", "."])
@each_format
def test_names_of_maximum_length_fit(tmp_path, character, format):
    def name(ends):
        unit = character * 300
        while len((unit + ends).encode()) > 256:
            unit = unit[:-1]
        return unit + ends

    with Receiver() as r, Daemon(tmp_path, alerts(tmp_path, r, format, dashboard=None)) as daemon:
        agents = [name(str(i)) for i in range(10)]
        with daemon.client(run=name("r"), place=False, agents=agents) as c:
            c.start("v", agents[0], [])
            c.end("v", [{"id": name("e"), "recipients": [name("ghost")]}])
            c.event("waits", [agents[1]], ts=0)
            c.tell("time", ts=15_000)
            c.wait_for("intervention")
            sent = posted(r, 3, format)
    if format == "pagerduty":
        assert not any("links" in body or "client_url" in body for body in sent)
    elif format == "slack":
        assert any(re.search(r" and [5-9] more", body["text"]) for body in sent)
        assert all(body["text"].count("`") % 2 == 0 and "(nothing)" not in body["text"] for body in sent)
    else:
        assert {body["run"] for body in sent} == {name("r")}


PAGERDUTY = {
    "routing_key": KEY,
    "event_action": "trigger",
    "dedup_key": "k",
    "payload": {"summary": "s", "source": "a", "severity": "error"},
}
SLACK = {"text": "*deadlock* in run `a &lt; b`\n<https://digd.example.org/#/run/r1|Open the run>"}
DETECTION = {
    **{"rule": "deadlock", "severity": "failure", "session": None, "at": None, "ts": 5, "event": None, "agent": None},
    **{"evidence": ["e1"], "healed": True, "healing": "create", "cause": None, "reason": "e1 waits."},
}
GENERIC = {"id": "0123456789abcdef-detection-1", "run": "r1", "detection": DETECTION}


def of_detection(**fields):
    return lambda b: b["detection"].update(fields)


@pytest.mark.parametrize(
    "format, body, change",
    [("pagerduty", PAGERDUTY, change) for change in [
        lambda b: b.update(routing_key=KEY[1:]),
        lambda b: b.update(event_action="triggered"),
        lambda b: b.update(dedup_key="k" * 256),
        lambda b: b.update(summary="outside the payload"),
        lambda b: b.pop("payload"),
        lambda b: b["payload"].update(summary="s" * 1025),
        lambda b: b["payload"].update(source=""),
        lambda b: b["payload"].update(severity="fatal"),
        lambda b: b["payload"].update(custom_details="text"),
        lambda b: b.update(links=[{"text": "no address"}]),
    ]]
    + [("slack", SLACK, change) for change in [
        lambda b: b.pop("text"),
        lambda b: b.update(text=""),
        lambda b: b.update(text="t" * 4_001),
        lambda b: b.update(text="a < b"),
        lambda b: b.update(text="a & b"),
        lambda b: b.update(text="<!channel>"),
        lambda b: b.update(text="<@U012ABCDEF>"),
        lambda b: b.update(text=["lines"]),
        lambda b: b.update(messages="misspelt"),
        lambda b: b.update(blocks=[{"text": "no type"}]),
    ]]
    + [("generic", GENERIC, change) for change in [
        lambda b: b.pop("run"),
        lambda b: b.pop("detection"),
        lambda b: b.update(intervention={"type": "intervention", "id": "sys:1", "action": "create", "recipients": []}),
        lambda b: b.update(id="detection-1"),
        lambda b: b.update(link="https://digd.example.org/"),
        lambda b: b.update(payload="text"),
        of_detection(rule="dead_lock"),
        of_detection(severity="error"),
        of_detection(at=0),
        of_detection(evidence=["e"] * 65),
        of_detection(healing=None),
        of_detection(cause="mode"),
        of_detection(action="hold"),
        of_detection(payload="text"),
        lambda b: b["detection"].pop("reason"),
    ]],
)  # fmt: skip
def test_a_schema_refuses_what_its_receiver_refuses(format, body, change):
    SCHEMAS[format].validate(body)
    changed = copy.deepcopy(body)
    change(changed)
    with pytest.raises(jsonschema.ValidationError):
        SCHEMAS[format].validate(changed)
