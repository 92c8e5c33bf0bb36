"""What an activation used reaches the daemon with its next work output or with its end."""

import pytest
from agents import Runner, function_tool
from agents.usage import Usage as AgentsUsage
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState
from langgraph.types import Command

import digd
import digd.autogen
import digd.openai_agents
import digd.sync
from client_helpers import async_test, url_of
from digd import Usage
from digd.langgraph.usage import usage_of
from digd.usage import model_call
from langgraph_helpers import Team, frames
from openai_agents_helpers import answers, calls, scripted


def ai(id, tokens, **more):
    counts = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    return AIMessage("text", id=id, usage_metadata=counts, **more)


def test_only_messages_that_the_node_added_count_and_each_once():
    old, new = ai("old", 1000), ai("new", 10, tool_calls=[{"name": "search", "args": {}, "id": "c1"}])
    before = {"messages": [HumanMessage("ask"), old]}
    once = Usage(input_tokens=10, output_tokens=1, model_calls=1, tool_calls=1)
    update = {"messages": [old, new], "last": new}
    for value in (update, [update], Command(update=update), [Command(update=update), update], new, [new]):
        assert usage_of(value, before) == once
    assert usage_of({"messages": AIMessage("no counts")}, before) == usage_of(None, before) == Usage()


@pytest.mark.parametrize("counts", [None, {}, {"input_tokens": -1}, {"input_tokens": "3"}, {"input_tokens": 10**12}])
def test_counts_that_are_none_are_zero(counts):
    assert model_call(counts) == Usage(model_calls=1)


def test_a_graph_reports_what_its_nodes_used(daemon):
    team = Team(MessagesState).node("a", {"messages": [ai("m1", 7)]}).node("b", {"messages": [ai("m2", 20)]})
    team.edges((START, "a"), ("a", "b"), ("b", END)).compile(daemon).invoke({"messages": [HumanMessage("ask")]})
    used = [f["usage"] for f in frames(daemon, "activation_ended") if "usage" in f]
    assert [u["input_tokens"] for u in used] == [7, 20] and all(u["model_calls"] == 1 for u in used)


@async_test
async def test_a_group_chat_reports_what_its_speakers_used(daemon):
    info = ModelInfo(
        vision=False, function_calling=True, json_output=False, structured_output=False, family=ModelFamily.UNKNOWN
    )
    reply = CreateResult(
        finish_reason="stop", content="done", usage=RequestUsage(prompt_tokens=30, completion_tokens=4), cached=False
    )
    speaker = AssistantAgent("writer", ReplayChatCompletionClient([reply], model_info=info))
    async with digd.Run(url=url_of(daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        ends = MaxMessageTermination(2)
        await runtime.run_team(RoundRobinGroupChat([speaker], termination_condition=ends, runtime=runtime), task="Go.")
    (used,) = [f["usage"] for f in frames(daemon, "activation_ended") if "usage" in f]
    assert used["model_calls"] == 1 and used["output_tokens"] > 0


@async_test
async def test_a_run_of_the_agents_sdk_reports_its_model_and_tool_calls(daemon):
    tool = function_tool(lambda: "42", name_override="search", description_override="searches", strict_mode=False)
    asking = scripted("ann", [calls("search")], answers("42"), tools=[tool])
    async with digd.Run(url=url_of(daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(asking, "How many?")
    (used,) = [f["usage"] for f in frames(daemon, "activation_ended") if "usage" in f]
    assert (used["model_calls"], used["tool_calls"]) == (2, 1)


@async_test
async def test_an_output_is_judged_with_what_its_activation_used_so_far(daemon):
    async with digd.Run(url=url_of(daemon), agents=["ann", "bob"], guards={"budget": {"max_cost": 5}}) as run:
        async with run.activation("ann", [await run.emit(["ann"])]) as ann:
            ann.add_usage(Usage(cost=6))
            note = await ann.emit(["bob"], fyi=True)
            costly = await ann.emit(["bob"])
            ann.add_usage(Usage(model_calls=1))
    assert (note.action, costly.action) == ("deliver", "reroute") and "budget" in costly.inject
    outputs = [f for f in frames(daemon, "event") if f["event"].get("source")]
    assert [f.get("usage") for f in outputs] == [None, {"cost": 6}]
    assert [f["usage"] for f in frames(daemon, "activation_ended")] == [{"model_calls": 1}]


def test_a_thread_reports_usage_with_its_output(daemon):
    with digd.sync.Run(url=url_of(daemon), agents=["ann", "bob"], guards={"budget": {"max_cost": 5}}) as run:
        with run.activation("ann", [run.emit(["ann"])]) as ann:
            ann.add_usage(Usage(cost=6))
            assert ann.emit(["bob"]).action == "reroute"
    assert all("usage" not in f for f in frames(daemon, "activation_ended"))


def test_counts_of_the_agents_sdk_have_the_protocols_names():
    counts = AgentsUsage(requests=1, input_tokens=5, output_tokens=6, total_tokens=11)
    assert model_call(counts, 2) == Usage(input_tokens=5, output_tokens=6, model_calls=1, tool_calls=2)


def test_tokens_are_reported_with_the_name_of_their_model():
    named = [
        ai("m1", 7, response_metadata={"model_name": "large"}),
        ai("m2", 20, response_metadata={"model": "small"}),
        ai("m3", 5, response_metadata={"model_name": "large"}),
        ai("m4", 1, response_metadata={"model_name": 3}),
    ]
    used = usage_of({"messages": named}, None).members()
    assert used["input_tokens"] == 33
    assert used["models"] == {
        "large": {"input_tokens": 12, "output_tokens": 2},
        "small": {"input_tokens": 20, "output_tokens": 1},
    }
    assert "models" not in usage_of({"messages": [ai("m5", 2)]}, None).members()
    assert model_call({"input_tokens": 1}, model="x" * 257).models == ()
