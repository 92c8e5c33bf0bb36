"""The adapter for the paper's library, on a test double (dig_double.py): the daemon gets what the library records."""

import json
import logging
import random
import sqlite3
import threading

import pytest

import digd
from client_helpers import unused_address, url_of
from dig_double import Agent, DIGActivation, DIGEvent, DIGGraph, Label, Reaction
from framework_runs import fired


@pytest.fixture
def graph():
    graph = DIGGraph()
    for agent in ("a", "b", "c"):
        graph.register(agent)
    return graph


def rows(daemon, query):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


def messages(daemon, *types):
    assert rows(daemon, "SELECT code, frame FROM entries WHERE kind = 'refused'") == []
    frames = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'message' ORDER BY id")]
    return [f for f in frames if not types or f["type"] in types]


def reactions(daemon):
    return [end.get("reactions", {}) for end in messages(daemon, "activation_ended")]


def rules_of(daemon):
    return [rule for (rule,) in rows(daemon, "SELECT rule FROM detections ORDER BY id")]


def fire(graph, agent, inputs, outputs=(), reactions=None, **dig):
    return graph.record_activation(DIGActivation(agent, list(inputs), list(outputs), reactions or {}, {"dig": dig}))


def rerouting(graph, agent, event):
    return fire(graph, agent, [event], reactions={event.id: Reaction(Label.REROUTE)})


def test_a_graph_is_streamed_as_it_is_recorded(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)) as attached:
        task = graph.record_event(DIGEvent({"text": "go"}, ["a"]))
        fire(graph, "a", [task], [DIGEvent({"text": "plan"}, ["b"])])
        assert attached.run.flush()
        assert [f["type"] for f in messages(daemon)] == ["event", "activation_started", "activation_ended"]
        plan = graph.events["e2"]
        fire(graph, "b", [plan], [DIGEvent({"text": "done"})], submitting=True)
    ends = messages(daemon, "activation_ended")
    assert ends[0]["outputs"][0] == {
        "id": "e2",
        "recipients": ["b"],
        "kind": "communication",
        "payload": {"text": "plan"},
    }
    assert ends[1]["outputs"][0]["submit"] is True and ends[1]["reactions"] == {"e2": "consume"}
    assert messages(daemon)[-1]["type"] == "run_ended" and messages(daemon)[-1]["outcome"] == "success"
    assert rules_of(daemon) == []


def test_a_graph_with_a_history_is_streamed_from_its_beginning(daemon, graph):
    task = graph.record_event(DIGEvent({}, ["a"]))
    passed = rerouting(graph, "a", task)
    graph.reroute_event(task, to=["b"], by=passed.id, from_recipients=[])
    fire(graph, "b", [task], [DIGEvent({}, ["c"])])
    with digd.attach(graph, "r1", url=url_of(daemon)):
        pass
    assert reactions(daemon) == [{"e1": {"reroute": ["b"]}}, {"e1": "consume"}] and rules_of(daemon) == []


def test_a_failed_activation_leaves_its_inputs_pending(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a"]))
        fire(graph, "a", [task], [DIGEvent()], failed={"error": "TimeoutError", "message": "no model"})
    (end,) = messages(daemon, "activation_ended")
    assert (end["failed"], end["error"]) == (True, "TimeoutError: no model")


# ---- reroutes


def test_reroutes_by_an_agent_and_by_a_healer_are_reported(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a"]))
        done = rerouting(graph, "a", task)
        graph.reroute_event(task, to=["b"], by=done.id, from_recipients=[])
        healer = fire(graph, "system", [], intervention="orphan")
        graph.reroute_event(task, to=["c"], by=healer.id)
    assert reactions(daemon) == [{"e1": {"reroute": ["b"]}}, {"e1": {"reroute": ["c"]}}]
    assert [f["agent"] for f in messages(daemon, "activation_started")] == ["a", "b"]


def test_an_event_whose_reroute_target_is_not_known_yet_is_not_an_orphan(daemon, graph):
    """Other agents record between the activation and the call that names the reroute's targets."""
    with digd.attach(graph, "r1", url=url_of(daemon)) as attached:
        task, other = graph.record_event(DIGEvent({}, ["a"])), graph.record_event(DIGEvent({}, ["b"]))
        done = rerouting(graph, "a", task)
        fire(graph, "b", [other], [DIGEvent({}, ["c"])])
        graph.record_event(DIGEvent({}, ["c"]))
        assert attached.run.flush()
        assert [f["activation"] for f in messages(daemon, "activation_ended")] == ["a2"]
        graph.reroute_event(task, to=["c"], by=done.id, from_recipients=[])
        fire(
            graph,
            "c",
            list(graph.events.values())[0:1] + list(graph.events.values())[2:],
            [DIGEvent()],
            submitting=True,
        )
    assert {"e1": {"reroute": ["c"]}} in reactions(daemon) and rules_of(daemon) == []


def test_an_agent_that_acts_again_before_its_reroute_target_is_known_still_reroutes(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a"]))
        done = rerouting(graph, "a", task)
        fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))], [DIGEvent({}, ["b"])])
        graph.reroute_event(task, to=["c"], by=done.id, from_recipients=[])
        fire(graph, "c", [task], [DIGEvent()])
    assert {"e1": "wait"} in reactions(daemon) and {"e1": {"reroute": ["c"]}} in reactions(daemon)
    assert "orphaned_event" in rules_of(daemon)  # of the output of c alone
    assert [d["event"] for d in fired(daemon, "r1", "orphaned_event")] == ["e4"]


def test_a_reroute_discards_the_event_for_its_other_holders(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["a", "b"]))
        done = rerouting(graph, "a", task)
        graph.reroute_event(task, to=["c"], by=done.id)
        fire(graph, "c", [task], [DIGEvent({}, [])], submitting=True)
    assert reactions(daemon)[:2] == [{"e1": {"reroute": ["c"]}}, {"e1": "discard"}]
    assert [f["agent"] for f in messages(daemon, "activation_started")] == ["a", "b", "c"] and rules_of(daemon) == []


def test_a_reroute_without_a_known_target_reaches_nobody(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        rerouting(graph, "a", graph.record_event(DIGEvent({}, ["a"])))
    assert reactions(daemon) == [{"e1": {"reroute": []}}] and "orphaned_event" in rules_of(daemon)


# ---- events without a recipient


def test_an_event_to_nobody_is_an_orphan(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))], [DIGEvent({"text": "lost"}), DIGEvent({}, ["b"])])
        graph.record_event(DIGEvent({"text": "for nobody"}))
    assert [d["event"] for d in fired(daemon, "r1", "orphaned_event")] == ["e2", "e4"]


def test_an_event_to_nobody_that_an_agent_takes_in_gets_that_recipient(daemon, graph):
    """A framework carries the messages, and the library learns the recipient when that agent has acted."""
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}))
        first, second = DIGEvent({}), DIGEvent({})
        fire(graph, "a", [task], [first, second])
        fire(graph, "b", [first], [DIGEvent({}, ["c"])])
        fire(graph, "c", [second, graph.events["e4"]], [DIGEvent()], submitting=True)
    assert rules_of(daemon) == []
    (end, *_) = messages(daemon, "activation_ended")
    assert [o["recipients"] for o in end["outputs"]] == [["b"]]


def test_an_event_received_by_an_agent_that_it_does_not_name_gets_that_recipient(daemon):
    graph = DIGGraph()
    a = Agent("a", graph)
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = DIGEvent({})
        a.receive(task)
        graph.record_event(task)
    (event,) = messages(daemon, "event")
    assert event["event"]["recipients"] == ["a"]


def test_an_agent_that_registers_after_its_first_event_gets_it(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        task = graph.record_event(DIGEvent({}, ["late"]))
        graph.register("late")
        fire(graph, "late", [task], [DIGEvent()], submitting=True)
    assert rules_of(daemon) == []
    assert [f["type"] for f in messages(daemon)][:2] == ["agent_joined", "event"]


def test_withheld_activations_and_events_are_bounded(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)) as attached:
        for _ in range(90):  # fewer messages than credits: none is dropped
            rerouting(graph, "b", graph.record_event(DIGEvent({}, ["b"])))
            graph.record_event(DIGEvent({}))
            fire(graph, "a", [], [DIGEvent({})])
        bound = digd.dig.MAX_WITHHELD
        assert len(attached._withheld) <= bound and len(attached._unaddressed) <= bound
        assert len(attached._output_of) <= bound
    assert rules_of(daemon).count("orphaned_event") >= 180


def test_a_healers_event_is_a_notice(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        fire(graph, "system", [], [DIGEvent({}, ["a"], metadata={"message": "wake up"})], intervention="deadlock")
    (event,) = messages(daemon, "event")
    assert (event["event"]["kind"], event["event"]["fyi"], event["event"]["payload"]) == (
        "intervention",
        True,
        "wake up",
    )


def test_agents_that_register_and_leave_are_reported(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        graph.record_event(DIGEvent({}, ["a"]))
        graph.register("d")
        del graph.agents["c"]
        graph.record_event(DIGEvent({}, ["d"]))
    assert [(f["type"], f["agent"]) for f in messages(daemon, "agent_joined", "agent_left")] == [
        ("agent_joined", "d"),
        ("agent_left", "c"),
    ]


# ---- time, and how a run ends


def test_the_time_between_records_fires_no_rule(daemon, graph, monkeypatch):
    """Agent a works for an hour while b acts twice: the library records a only when it has ended."""
    now = [1000.0]
    monkeypatch.setattr("dig_double.time.time", lambda: now[0])
    with digd.attach(graph, "r1", url=url_of(daemon)):
        for_a, for_b = graph.record_event(DIGEvent({}, ["a"])), graph.record_event(DIGEvent({}, ["b"]))
        begun = now[0]
        for _ in range(2):
            now[0] += 1800
            found = DIGEvent({}, ["b"])
            fire(graph, "b", [for_b], [found])
            for_b = found
        last = DIGActivation(
            "a", [for_a, for_b], [DIGEvent()], metadata={"dig": {"submitting": True}}, started_at=begun
        )
        graph.record_activation(last)
    assert rules_of(daemon) == []


def outcome_of(daemon):
    return messages(daemon, "run_ended")[0].get("outcome")


def test_a_run_that_ends_with_a_last_message_has_succeeded(daemon, graph):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))], [DIGEvent({}, ["b"])])
        fire(graph, "b", [graph.events["e2"]], [DIGEvent({}, ["a"])])
    assert outcome_of(daemon) == "success" and rules_of(daemon) == []


def test_a_run_that_raised_has_failed(daemon, graph):
    with pytest.raises(KeyError), digd.attach(graph, "r1", url=url_of(daemon)):
        graph.record_event(DIGEvent({}, ["a"]))
        raise KeyError("x")
    assert outcome_of(daemon) == "failure"


def test_an_outcome_passed_to_close_is_reported(daemon, graph):
    attached = digd.attach(graph, "r1", url=url_of(daemon))
    graph.record_event(DIGEvent({}, ["a"]))
    attached.close(outcome="success")
    assert outcome_of(daemon) == "success" and rules_of(daemon) == []


# ---- no effect on the program


@pytest.mark.parametrize("given_as", ["argument", "variable"])
def test_off_leaves_no_trace(graph, monkeypatch, given_as):
    monkeypatch.setattr(digd.sync, "Run", lambda *a, **k: pytest.fail("a run was made"))
    if given_as == "variable":
        monkeypatch.setenv("DIGD_MODE", "off")
    before, threads = dict(vars(graph)), threading.active_count()
    with digd.attach(graph, mode="off" if given_as == "argument" else None) as attached:
        assert vars(graph) == before and graph._listeners == []
        solved_twice(graph)
    assert attached.run is None and threading.active_count() == threads


def test_after_close_the_graph_is_unchanged(daemon, graph):
    names = set(vars(graph))
    with digd.attach(graph, "r1", url=url_of(daemon)):
        solved_twice(graph)
    assert set(vars(graph)) == names
    count = len(messages(daemon))
    solved_twice(graph)
    assert len(messages(daemon)) == count


def test_an_error_of_the_adapter_stays_out_of_the_program(daemon, graph, caplog):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        event = DIGEvent({}, ["a"])
        event.label = None
        event.recipients = 7  # a library of another version
        graph.record_event(event)
        graph.record_event(DIGEvent({}, ["a"]))
    assert len(graph.events) == 2
    assert ["the dig adapter failed" in r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        True
    ]


@pytest.mark.parametrize("error, outcome", [(None, "aborted"), (KeyError("x"), "failure")])
def test_after_an_error_of_the_adapter_the_run_ends_once(daemon, graph, error, outcome):
    attached = digd.attach(graph, "r1", url=url_of(daemon))
    graph.record_event(DIGEvent({}, ["a"]))
    wrong = DIGEvent({}, ["a"])
    wrong.recipients = 7  # a library of another version
    graph.record_event(wrong)
    attached.close(error)
    attached.close()
    assert [f.get("outcome") for f in messages(daemon, "run_ended")] == [outcome]


def test_the_default_mode_is_observe(daemon, graph, monkeypatch):
    for run, options in (("r1", {}), ("r2", {"mode": "enforce"})):
        graph = DIGGraph()
        with digd.attach(graph, run, url=url_of(daemon), **options) as attached:
            solved_twice(graph)
            assert attached.run.flush()
            assert attached.run.welcome["mode"] == options.get("mode", "observe")
    assert [d["cause"] for run in ("r1", "r2") for d in fired(daemon, run, "repeated_subproblem")] == ["mode", "as_is"]
    with pytest.raises(ValueError, match="mode"):
        digd.attach(DIGGraph(), mode="heal")


def test_without_a_daemon_the_graph_is_recorded_as_before(graph):
    with digd.attach(graph, url=unused_address()):
        solved_twice(graph)
    assert len(graph.activations) == 2 and len(graph.events) == 3


# ---- each rule


def answer_before_other_work(graph):
    first, other = graph.record_event(DIGEvent({}, ["a"])), graph.record_event(DIGEvent({}, ["b"]))
    fire(graph, "a", [first], [DIGEvent()], submitting=True)
    return other


def passed_around(graph):
    task = graph.record_event(DIGEvent({}, ["a"]))
    for here, there in (("a", "b"), ("b", "c"), ("c", "a")):
        done = rerouting(graph, here, task)
        graph.reroute_event(task, to=[there], by=done.id, from_recipients=[])


def parts_of_two_plans(graph):
    for agent in ("a", "b"):
        fire(graph, agent, [graph.record_event(DIGEvent({}, [agent]))], [DIGEvent({}, ["c"]), DIGEvent({}, [agent])])


def solved_twice(graph):
    task = graph.record_event(DIGEvent({}, ["a", "b"]))
    for agent in ("a", "b"):
        fire(graph, agent, [task], [DIGEvent({}, ["c"])])


def sent_to_a_ghost(graph):
    fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))], [DIGEvent({}, ["ghost"])])


def left_pending(graph):
    fire(graph, "b", [graph.record_event(DIGEvent({}, ["b"]))], [DIGEvent({}, ["c"])])
    graph.record_event(DIGEvent({}, ["a"]))


def waiting_for_each_other(graph):
    asked = [DIGEvent({}, ["b"]), DIGEvent({}, ["a"])]
    for agent, question in zip("ab", asked):
        fire(graph, agent, [graph.record_event(DIGEvent({}, [agent]))], [question])
    for agent, question in zip("ba", asked):
        fire(graph, agent, [question], reactions={question.id: Reaction(Label.WAIT)})


def nothing_submitted(graph):
    fire(graph, "a", [graph.record_event(DIGEvent({}, ["a"]))])


@pytest.mark.parametrize(
    "rule, scenario",
    [
        ("early_termination", answer_before_other_work),
        ("excessive_rerouting", passed_around),
        ("cross_lineage_aggregation", parts_of_two_plans),
        ("repeated_subproblem", solved_twice),
        ("orphaned_event", sent_to_a_ghost),
        ("deadlock", left_pending),
        ("deadlock", waiting_for_each_other),
        ("missing_termination", nothing_submitted),
    ],
)
def test_each_rule_is_reported_and_none_healed(daemon, graph, rule, scenario):
    with digd.attach(graph, "r1", url=url_of(daemon)):
        scenario(graph)
    assert rule in rules_of(daemon)
    assert rows(daemon, "SELECT count(*) FROM detections WHERE healed") == [(0,)]


# ---- any history


def random_history(graph, random):
    """Records anything that the library allows, in any order. A reroute's target may be named much later, or never."""
    names, unnamed = ["a", "b", "c", "ghost"], []
    events = lambda: list(graph.events.values())  # noqa: E731
    for _ in range(40):
        act = random.random()
        if act < 0.2 or not graph.events:
            graph.record_event(DIGEvent({}, random.sample(names, random.randrange(3))))
        elif act < 0.3 and unnamed:
            event, by = unnamed.pop(random.randrange(len(unnamed)))
            graph.reroute_event(
                event, to=random.sample(names, random.randrange(1, 3)), by=by, from_recipients=random.choice([None, []])
            )
        elif act < 0.4:
            healer = fire(graph, "system", [], [DIGEvent({}, ["a"])] if random.random() < 0.5 else [], intervention="x")
            graph.reroute_event(random.choice(events()), to=[random.choice(names)], by=healer.id)
        elif act < 0.45:
            graph.agents.pop("c", None) if random.random() < 0.5 else graph.register("c")
        else:
            inputs = random.sample(events(), min(len(graph.events), random.randrange(3)))
            chosen = {e.id: Reaction(random.choice(list(Label))) for e in inputs if random.random() < 0.6}
            outputs = [DIGEvent({}, random.sample(names, random.randrange(3))) for _ in range(random.randrange(3))]
            notes = {"failed": {"error": "E", "message": "m"}} if random.random() < 0.1 else {}
            done = fire(graph, random.choice("abc"), inputs, outputs, chosen, **notes)
            unnamed += [
                (e, done.id) for e in inputs if done.input_reactions.get(e.id, Reaction()).label == Label.REROUTE
            ]


@pytest.mark.parametrize("seed", range(40))
def test_any_history_is_accepted_and_leaves_nothing_withheld(shared_daemon, graph, caplog, seed):
    if seed % 2:
        graph.agents.clear()  # an open roster
    with digd.attach(graph, f"any-{seed}", url=url_of(shared_daemon)) as attached:
        random_history(graph, random.Random(seed))
    assert attached.run.counters.errors == {} and attached.run.dropped == 0
    assert attached._withheld == {} and attached._unaddressed == {} and attached._output_of == {}
    assert [r.getMessage() for r in caplog.records] == []
