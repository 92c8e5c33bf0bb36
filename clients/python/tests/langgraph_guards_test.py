"""Guards against LangGraph teams that fan out, repeat themselves, overspend or hang, live through the daemon."""

import asyncio
import contextlib

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState
from langgraph.types import Command, Send

import digd
import digd.langgraph
from client_helpers import async_test
from guards_helpers import detections_of_guard, person
from langgraph_helpers import Team, frames

GO = {"log": ["task"]}


def fans_out(state):
    """A worker that starts two more, until it reads a text."""
    if digd.langgraph.notes():
        return {"log": ["stopped"]}
    return Command(update={"log": ["split"]}, goto=[Send("worker", {"log": []}), Send("helper", {"log": []})])


def test_a_team_that_fans_out_without_end_is_asked_to_stop(daemon):
    team = Team().node("worker", fans_out, asks=False).node("helper").edges((START, "worker"))
    result = team.compile(daemon, guards={"fan_out": {"max_depth": 4}}).invoke(GO, {"recursion_limit": 60})
    assert "stopped" in result["log"] and len(team.ran) < 15
    found = detections_of_guard(daemon, "fan_out")
    assert found and found[0]["healed"] and found[0]["limits"] == ["max_depth"]


def test_a_team_that_doubles_at_each_step_is_cancelled(daemon):
    both = [Send("worker", {"log": []}), Send("worker", {"log": []})]
    team = Team().node("worker", Command(goto=both), asks=False).edges((START, "worker"))
    graph = team.compile(daemon, guards={"fan_out": {"max_depth": 4, "action": "cancel"}})
    with contextlib.suppress(digd.Cancelled):  # raised if another worker still runs
        graph.invoke(GO, {"recursion_limit": 60})
    assert len(team.ran) < 40
    assert {d["healing"] for d in detections_of_guard(daemon, "fan_out")} == {"cancel"}


def test_a_team_that_ignores_the_text_stops_spending_all_the_same(daemon):
    """After its returns are used up, a budget gives the events to nobody."""
    team = Team().node("worker", Command(update={"log": ["again"]}, goto=["worker"])).edges((START, "worker"))
    guards = {"budget": {"max_activations": 6}}
    team.compile(daemon, guards=guards, max_returns_per_agent=2).invoke(GO, {"recursion_limit": 90})
    assert 6 < len(team.ran) < 20
    found = [d for d in detections_of_guard(daemon, "budget") if d["severity"] == "failure"]
    assert found and all(d["healed"] for d in found)


def test_a_node_that_repeats_itself_is_asked_to_do_something_else(daemon):
    def asks(state):
        return Command(update={"log": ["?"]}, goto="done" if digd.langgraph.notes() else "tool")

    team = Team().node("agent", asks, asks=False).node("tool", Command(goto="agent")).node("done")
    guards = {"repetition": {"max_repeats": 2, "action": "return"}}
    result = team.edges((START, "agent")).compile(daemon, guards=guards).invoke(GO, {"recursion_limit": 60})
    assert result["log"] == ["task", *["?"] * 4, "done"] and team.ran.count("tool") == 2
    assert {d["action"] for d in detections_of_guard(daemon, "repetition")} == {"return"}


def overspending_team():
    """A writer that calls its model again and again, until the last message is a text for it."""

    def writes(state):
        used = {"input_tokens": 60, "output_tokens": 0, "total_tokens": 60}
        reply = AIMessage("again", id=str(len(state["messages"])), usage_metadata=used)
        stops = isinstance(state["messages"][-1], HumanMessage) and "STOP" in state["messages"][-1].content
        return Command(update={"messages": [reply]}, goto=END if stops else "writer")

    return Team(MessagesState).node("writer", writes).edges((START, "writer"))


@pytest.mark.parametrize("decisions", [["release", ("return", "STOP now")], [("return", "STOP now")]])
def test_a_person_is_asked_about_a_team_that_overspends(daemon, decisions):
    guards = {"budget": {"max_tokens": 100, "action": "hold", "warn_at": 1}}
    graph = overspending_team().compile(daemon, guards=guards)
    with person(daemon, *decisions) as decided:
        result = graph.invoke({"messages": [HumanMessage("Write.")]}, {"recursion_limit": 60})
    asked = [(h["guard"], h["sender"], h["recipients"]) for h in decided]
    assert asked == [("budget", "writer", ["writer"])] * len(decisions)
    assert len(result["messages"]) < 10
    assert {d["healing"] for d in detections_of_guard(daemon, "budget")} == {"hold"}


@async_test
async def test_a_node_that_hangs_is_cancelled_with_a_text(daemon):
    cleaned_up = []

    async def hangs(state):
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.append(True)

    team = Team()
    team.builder.add_node("worker", hangs)
    graph = team.edges((START, "worker")).compile(daemon, guards={"stall": {"after_ms": 100, "action": "cancel"}})
    with pytest.raises(digd.Cancelled, match="worker"):
        await graph.ainvoke(GO)
    assert cleaned_up == [True]
    (ended,) = [f for f in frames(daemon, "activation_ended") if f.get("failed")]
    assert ended["error"].startswith("Cancelled: ")
    (found,) = detections_of_guard(daemon, "stall")
    assert found["healed"] and found["healing"] == "cancel"


@async_test
async def test_a_run_that_overspends_cancels_everything_that_is_open(daemon):
    async def waits(state):
        await asyncio.Event().wait()

    team = Team().node("worker", Command(update={"log": ["again"]}, goto=["worker"]))
    team.builder.add_node("waiter", waits)
    guards = {"budget": {"max_activations": 2, "action": "cancel"}}
    graph = team.edges((START, "worker"), (START, "waiter")).compile(daemon, guards=guards)
    with pytest.raises(digd.Cancelled):
        await graph.ainvoke(GO)
    assert len(team.ran) < 5


def test_guards_change_nothing_in_shadow(daemon):
    team = Team().node("worker", {"log": ["1"]}, Command(goto="worker"), Command(goto="worker"), {"log": ["2"]})
    guards = {"budget": {"max_activations": 1, "action": ["hold", "cancel"]}, "repetition": {"max_repeats": 1}}
    graph = team.edges((START, "worker")).compile(daemon, guards=guards, mode="shadow")
    assert graph.invoke(GO)["log"] == ["task", "1"]
