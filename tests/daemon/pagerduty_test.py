"""Every body that digd posts to PagerDuty fits the schema of its Events API v2."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

from hold_links_test import BASE, CAPABLE, HOLD_FAN_OUT, hold_an_event
from live import Daemon
from webhook_receiver import Receiver, hook, orphan, stuck

SCHEMA = jsonschema.Draft202012Validator(
    json.loads(Path(__file__).with_name("pagerduty_events_v2.schema.json").read_text()),
    format_checker=jsonschema.FormatChecker(),
)
KEY = "0123456789abcdef0123456789abcdef"


def pagerduty(folder, receiver, **options):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secret").write_text(KEY + "\n")
    return hook(folder, receiver.url(), format="pagerduty", **{"dashboard": BASE, **options})


def posted(receiver, n):
    receiver.wait_for(n)
    for post in receiver.posts:
        SCHEMA.validate(post["body"])
        assert len(post["raw"]) < 512 * 1024
        assert "Digd-Signature" not in post["headers"]
    return [post["body"] for post in receiver.posts]


def test_a_healed_and_an_unhealed_detection_and_an_intervention_fit(tmp_path):
    with Receiver() as r, Daemon(tmp_path, pagerduty(tmp_path, r)) as daemon:
        with daemon.client(run="run 1", place=False, agents=["a", "b"], witness=True) as c:
            stuck(c)
            healed, made = posted(r, 2)
        with daemon.client(run="r2", agents=["a"], mode="observe") as c:
            orphan(c)
            unhealed = posted(r, 3)[2]
    assert [b["payload"]["severity"] for b in (healed, made, unhealed)] == ["info", "info", "error"]
    assert [b["payload"]["custom_details"]["kind"] for b in (healed, made)] == ["detection", "intervention"]
    assert unhealed["payload"]["class"] == "orphaned_event"
    assert {b["routing_key"] for b in (healed, made, unhealed)} == {KEY}
    assert healed["client_url"] == BASE + "#/run/run%201" == healed["links"][0]["href"]


def test_an_alert_about_a_hold_links_to_its_decision(tmp_path):
    config = pagerduty(tmp_path, r := Receiver(), send=["detections"], hold_links=True)
    with r, Daemon(tmp_path, config) as daemon, daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c)
        (held,) = posted(r, 1)
    assert [link["href"].startswith(BASE) for link in held["links"]] == [True, True]


@pytest.mark.parametrize("character", ["x", "é", "😀", '"', "\n", "\u202e"])
def test_names_of_maximum_length_are_cut_to_fit(tmp_path, character):
    def name(ends):
        unit = character * 300
        while len((unit + ends).encode()) > 256:
            unit = unit[:-1]
        return unit + ends

    with Receiver() as r, Daemon(tmp_path, pagerduty(tmp_path, r, dashboard=None)) as daemon:
        with daemon.client(run=name("r"), place=False, agents=[name("a")]) as c:
            c.start("v", name("a"), [])
            c.end("v", [{"id": name("e"), "recipients": [name("ghost")]}])
            (sent,) = posted(r, 1)
    assert "links" not in sent and "client_url" not in sent


def changed(change):
    body = copy.deepcopy(
        {
            "routing_key": KEY,
            "event_action": "trigger",
            "dedup_key": "k",
            "payload": {"summary": "s", "source": "a", "severity": "error"},
        }
    )
    change(body)
    return body


@pytest.mark.parametrize(
    "change",
    [
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
    ],
)
def test_the_schema_refuses_what_pagerduty_refuses(change):
    SCHEMA.validate(changed(lambda b: None))
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(changed(change))
