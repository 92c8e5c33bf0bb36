"""Holds of LangGraph graphs as interrupts: the graph stops, and a person's decision resumes it, live."""

import subprocess
import sys
import textwrap

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START
from langgraph.types import Command, Send, interrupt

import digd.langgraph
import digd.langgraph.holds
from client_helpers import async_test, url_of
from guards_helpers import detections_of_guard, run_ids
from langgraph_helpers import Team, frames

GO = {"log": ["task"]}
THREAD = {"configurable": {"thread_id": "t"}}
HELD = {"fan_out": {"max_depth": 1, "action": "hold"}}  # what START and the first node start passes; later work waits


def chain(daemon, *, guards=HELD, **more):
    """planner, then coder, then tester. digd holds what the coder starts."""
    team = Team().node("planner").node("coder").node("tester")
    team.edges((START, "planner"), ("planner", "coder"), ("coder", "tester"))
    options = {"checkpointer": InMemorySaver(), "holds": "interrupt", "guards": guards, **more}
    return team, team.compile(daemon, **options)


def question(result):
    (asked,) = result["__interrupt__"]
    return asked.value


def test_a_held_event_interrupts_the_graph_and_a_release_resumes_it(daemon):
    team, graph = chain(daemon)
    held = question(graph.invoke(GO, THREAD))
    assert (held["monitor"], held["hold"], held["from"], held["to"]) == ("digd", "hold:1", "coder", ["tester"])
    assert "max_depth" in held["why"] and held["run"] in run_ids(daemon)
    assert graph.get_state(THREAD).next == ("__digd_hold__",)
    assert team.ran == ["planner", "coder"]
    result = graph.invoke(Command(resume={"decision": "release", "by": "kim"}), THREAD)
    assert team.ran == ["planner", "coder", "tester"]  # nothing runs twice
    assert result["log"] == ["task", *team.ran] and "__interrupt__" not in result
    assert {d["healing"] for d in detections_of_guard(daemon, "fan_out", held["run"])} == {"hold"}
    (decided,) = [
        e for f in frames(daemon, "activation_ended") for e in f.get("outputs", ()) if e.get("kind") == "decision"
    ]
    assert decided["payload"]["by"] == "kim" and decided["payload"]["held"]["run"] == held["run"]


@async_test
async def test_the_sender_of_a_returned_event_runs_again_with_the_text(daemon):
    team, graph = chain(daemon)
    held = question(await graph.ainvoke(GO, THREAD))
    assert held["from"] == "coder"
    result = await graph.ainvoke(Command(resume={"decision": "return", "text": "Write it shorter."}), THREAD)
    assert team.ran == ["planner", "coder", "coder", "tester"]
    (text,) = team.notes["coder"]
    assert "'tester'" in text and text.endswith("Write it shorter.")
    assert result["log"] == ["task", *team.ran]


def test_a_resume_without_a_decision_asks_again_until_the_time_is_over(daemon, monkeypatch):
    team, graph = chain(daemon, guards={**HELD, "on_timeout": "return"})
    held = question(graph.invoke(GO, THREAD))
    assert held["on_timeout"] == "return"
    assert question(graph.invoke(None, THREAD)) == held
    assert "error" in question(graph.invoke(Command(resume="perhaps"), THREAD))
    assert team.ran == ["planner", "coder"]
    graph.invoke(Command(resume="release"), THREAD)
    assert team.ran == ["planner", "coder", "tester"]

    other = {"configurable": {"thread_id": "late"}}
    held = question(graph.invoke(GO, other))
    team.ran.clear()
    monkeypatch.setattr(digd.langgraph.holds, "_now_ms", lambda: held["since"] + held["hold_ms"])
    graph.invoke(None, other)
    assert team.ran == ["coder", "tester"]


def test_each_held_send_asks_its_own_question(daemon):
    parts = [Send("worker", {"log": [str(i)]}) for i in range(2)]
    team = Team().node("lead", Command(goto=parts)).node("worker", lambda state: {"log": state["log"]})
    team.edges((START, "lead"))
    guards = {"fan_out": {"max_depth": 0, "action": "hold", "except": ["__start__"]}}
    graph = team.compile(daemon, checkpointer=InMemorySaver(), holds="interrupt", guards=guards)
    asked = graph.invoke(GO, THREAD)["__interrupt__"]
    assert [a.value["hold"] for a in asked] == ["hold:1", "hold:2"] and team.ran == ["lead"]
    result = graph.invoke(Command(resume={a.id: "release" for a in asked}), THREAD)
    assert team.ran == ["lead", "worker", "worker"] and sorted(result["log"]) == ["0", "1", "task"]


def test_a_nodes_own_interrupt_keeps_its_answer_beside_a_hold(daemon):
    def asks(state):
        return {"log": [interrupt("which?"), interrupt("sure?")]}

    team = Team().node("planner").node("coder").node("tester", asks)
    team.edges((START, "planner"), ("planner", "coder"), ("coder", "tester"))
    graph = team.compile(daemon, checkpointer=InMemorySaver(), holds="interrupt", guards=HELD)
    assert question(graph.invoke(GO, THREAD))["hold"] == "hold:1"
    assert question(graph.invoke(Command(resume="release"), THREAD)) == "which?"
    assert question(graph.invoke(Command(resume="this"), THREAD)) == "sure?"
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["task", "planner", "coder", "this", "yes"]


def test_without_a_hold_a_graph_that_interrupts_is_as_without_digd(daemon):
    def asks(state):
        return {"log": [interrupt("which?")]}

    def run(compile_):
        team = Team().node("planner").node("coder", asks).node("tester")
        team.edges((START, "planner"), ("planner", "coder"), ("coder", "tester"))
        graph = compile_(team)
        calls = [list(graph.stream(GO, THREAD, stream_mode=["updates", "values"]))]
        state = graph.get_state(THREAD)
        calls.append(list(graph.stream(Command(resume="this"), THREAD, stream_mode=["updates", "values"])))
        steps = [(s.next, s.values) for s in graph.get_state_history(THREAD)]
        return [without_ids(c) for c in calls], state.next, steps, graph.get_graph().to_json()

    def without_ids(chunks):
        return [[(i.value) for i in c["__interrupt__"]] if "__interrupt__" in c else c for _, c in chunks]

    plain = run(lambda team: team.builder.compile(checkpointer=InMemorySaver()))
    guards = {"budget": {"max_activations": 99, "action": "hold"}}
    options = {"checkpointer": InMemorySaver(), "holds": "interrupt", "guards": guards}
    assert run(lambda team: team.compile(daemon, **options)) == plain


PROGRAM = """
    import operator, sqlite3, sys
    from typing import Annotated, TypedDict
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command
    import digd.langgraph

    class State(TypedDict):
        log: Annotated[list, operator.add]

    def node(name):
        return lambda state: {"log": [name, *(["told"] if digd.langgraph.notes() else [])]}

    builder = StateGraph(State)
    for start, end in (("planner", "coder"), ("coder", "tester")):
        builder.add_node(start, node(start))
        builder.add_edge(start, end)
    builder.add_node("tester", node("tester"))
    builder.add_edge(START, "planner")
    guards = {"fan_out": {"max_depth": 1, "action": "hold"}}
    digd.langgraph.instrument(builder, url=sys.argv[1], mode="enforce", holds="interrupt", guards=guards)
    with SqliteSaver.from_conn_string(sys.argv[2]) as saver:
        graph = builder.compile(checkpointer=saver)
        call = {"log": []} if sys.argv[3] == "begin" else Command(resume=sys.argv[3])
        print(",".join(graph.invoke(call, {"configurable": {"thread_id": "t"}})["log"]))
"""


@pytest.mark.parametrize("decision, log", [
    ("release", "planner,coder,tester"),
    ("return", "planner,coder,coder,told,tester"),
])
def test_another_process_resumes_a_held_thread(daemon, tmp_path, decision, log):
    pytest.importorskip("langgraph.checkpoint.sqlite")
    program = tmp_path / "held_team.py"
    program.write_text(textwrap.dedent(PROGRAM))

    def run(call):
        arguments = [sys.executable, program, url_of(daemon), tmp_path / "threads.sqlite", call]
        return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.strip()

    assert run("begin") == "planner,coder"
    assert run(decision) == log


def test_without_a_checkpointer_the_task_waits_for_digds_decision(daemon):
    from guards_helpers import person

    team, graph = chain(daemon, checkpointer=None)
    with person(daemon, "release") as decided:
        result = graph.invoke(GO)
    assert [h["recipients"] for h in decided] == [["tester"]] and result["log"] == ["task", *team.ran]
    assert team.ran == ["planner", "coder", "tester"]


def test_an_unknown_way_to_hold_is_refused():
    with pytest.raises(ValueError, match="'wait' or 'interrupt'"):
        digd.langgraph.instrument(Team().node("a").edges((START, "a")).builder, holds="later")
