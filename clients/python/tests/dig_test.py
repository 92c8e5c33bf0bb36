"""The adapter for the paper's library, on a stand-in for it (dig_double.py): what is recorded is what digd is told."""

import json
import sqlite3

import pytest

import digd
from dig_double import DIGActivation, DIGEvent, DIGGraph, Label, Reaction
from client_helpers import nobody, url_of


@pytest.fixture
def graph():
    graph = DIGGraph()
    for agent in ("a", "b", "c"):
        graph.register(agent)
    return graph


def rows(daemon, query):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


def told(daemon, *types):
    assert rows(daemon, "SELECT code, frame FROM entries WHERE kind = 'refused'") == []
    said = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'message' ORDER BY id")]
    return [f for f in said if not types or f["type"] in types]


def rules_of(daemon):
    return [rule for (rule,) in rows(daemon, "SELECT rule FROM detections ORDER BY id")]


def fire(graph, agent, inputs, outputs=(), reactions=None, **dig):
    return graph.record_activation(DIGActivation(agent, list(inputs), list(outputs), reactions or {}, {"dig": dig}))


def test_a_graph_is_streamed_as_it_is_recorded(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)) as attached:
        task = graph.record_event(DIGEvent({"text": "go"}, ["a"]))
        fire(graph, "a", [task], [DIGEvent({"text": "plan"}, ["b"])])
        assert attached.run.flush()
        assert [f["type"] for f in told(daemon)] == ["event", "activation_started", "activation_ended"]
        plan = graph.events["e2"]
        fire(graph, "b", [plan], [DIGEvent({"text": "done"})], submitting=True)
    ends = told(daemon, "activation_ended")
    assert ends[0]["outputs"][0] == {"id": "e2", "recipients": ["b"], "kind": "communication", "payload": {"text": "plan"}}
    assert ends[1]["outputs"][0]["submit"] is True and ends[1]["reactions"] == {"e2": "consume"}
    assert told(daemon)[-1]["type"] == "run_ended" and rules_of(daemon) == []


def test_what_was_recorded_before_is_told_too(daemon, graph):
    task = graph.record_event(DIGEvent({}, ["a"]))
    fire(graph, "a", [task])
    with digd.attach(graph, "r1", url=url_of(daemon)):
        pass
    assert [f["type"] for f in told(daemon)][:3] == ["event", "activation_started", "activation_ended"]


def test_a_failed_activation_leaves_its_inputs(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a"]))
        fire(graph, "a", [task], [DIGEvent()], failed={"error": "TimeoutError", "message": "no model"})
    (end,) = told(daemon, "activation_ended")
    assert (end["failed"], end["error"]) == (True, "TimeoutError: no model")


def test_reroutes_by_an_agent_and_by_a_healer(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a"]))
        done = fire(graph, "a", [task], reactions={task.id: Reaction(Label.REROUTE)})
        graph.reroute_event(task, to=["b"], by=done.id, from_recipients=[])
        healer = fire(graph, "system", [], intervention="orphan")
        graph.reroute_event(task, to=["c"], by=healer.id)
    ends = told(daemon, "activation_ended")
    assert [e["reactions"] for e in ends] == [{"e1": {"reroute": ["b"]}}, {"e1": {"reroute": ["c"]}}]
    assert [f["agent"] for f in told(daemon, "activation_started")] == ["a", "b"]


def test_a_healers_event_asks_nothing(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        fire(graph, "system", [], [DIGEvent({}, ["a"], metadata={"message": "wake up"})], intervention="deadlock")
    (event,) = told(daemon, "event")
    assert (event["event"]["kind"], event["event"]["fyi"], event["event"]["payload"]) == ("intervention", True, "wake up")


def test_agents_that_come_and_go(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        graph.record_event(DIGEvent({}, ["a"]))
        graph.register("d")
        del graph.agents["c"]
        graph.record_event(DIGEvent({}, ["d"]))
    assert [(f["type"], f["agent"]) for f in told(daemon, "agent_joined", "agent_left")] == [("agent_joined", "d"), ("agent_left", "c")]


def late(graph):
    first, other = graph.record_event(DIGEvent({}, ["a"])), graph.record_event(DIGEvent({}, ["b"]))
    fire(graph, "a", [first], [DIGEvent()], submitting=True)
    return other


def passed_round(graph):
    task = graph.record_event(DIGEvent({}, ["a"]))
    for here, there in (("a", "b"), ("b", "c"), ("c", "a")):
        done = fire(graph, here, [task], reactions={task.id: Reaction(Label.REROUTE)})
        graph.reroute_event(task, to=[there], by=done.id, from_recipients=[])


def halves(graph):
    for agent in ("a", "b"):
        fire(graph, agent, [graph.record_event(DIGEvent({}, [agent]))], [DIGEvent({}, ["c"]), DIGEvent({}, [agent])])


def twice(graph):
    task = graph.record_event(DIGEvent({}, ["a", "b"]))
    for agent in ("a", "b"):
        fire(graph, agent, [task], [DIGEvent({}, ["c"])])


def to_nobody(graph):
    fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))], [DIGEvent({}, ["ghost"])])


def left_lying(graph):
    fire(graph, "b", [])
    graph.record_event(DIGEvent({}, ["a"]))


def nothing_submitted(graph):
    fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))])


@pytest.mark.parametrize("rule, story", [
    ("early_termination", late), ("excessive_rerouting", passed_round), ("cross_lineage_aggregation", halves),
    ("repeated_subproblem", twice), ("orphaned_event", to_nobody), ("deadlock", left_lying),
    ("missing_termination", nothing_submitted)])
def test_each_rule_is_reported_and_none_healed(daemon, graph, rule, story, monkeypatch):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        story(graph)
        if rule in ("deadlock", "missing_termination"):  # nothing more is recorded for a minute
            now = digd.dig.time.time()
            monkeypatch.setattr(digd.dig.time, "time", lambda: now + 60)
    assert rule in rules_of(daemon)
    assert rows(daemon, "SELECT count(*) FROM detections WHERE healed") == [(0,)]


def test_without_a_daemon_the_graph_is_recorded_as_ever(graph):
    with digd.attach(graph, url=nobody()):
        twice(graph)
    assert len(graph.activations) == 2 and len(graph.events) == 3
