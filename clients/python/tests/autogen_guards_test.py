"""Guards against AutoGen teams that fan out, repeat themselves, overspend or hang, live through the daemon."""

import asyncio

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import AgentId, CancellationToken
from autogen_core.models import CreateResult, RequestUsage

import digd
import digd.autogen
from autogen_core_test import Answer, Ask, Part, healing_runtime, to, worker
from autogen_group_chat_test import INFO, agent, read_by
from autogen_ext.models.replay import ReplayChatCompletionClient
from client_helpers import async_test, url_of
from guards_helpers import detections_of_guard, person


def guarded(daemon, run, **guards):
    return digd.Run(run, mode="enforce", url=url_of(daemon), guards=guards)


@async_test
async def test_agents_that_publish_more_and_more_messages_are_asked_to_stop(shared_daemon):
    async with guarded(shared_daemon, "ag-fan-out", fan_out={"max_depth": 4}) as run:
        runtime = healing_runtime(run)

        async def splits(agent, message, reply, ctx):
            if "digd" not in message.content and "monitor" not in message.content:
                await agent.publish_message(Part("more"), to("worker" if agent.id.type == "other" else "other"))

        models = [await worker(runtime, name, splits, *["x"] * 90, topic=name) for name in ("worker", "other")]
        runtime.start()
        await runtime.publish_message(Part("begin"), to("worker"))
        await runtime.stop_when_idle()
    assert sum(len(model.prompts) for model in models) < 20
    found = detections_of_guard(shared_daemon, "fan_out", "ag-fan-out")
    assert found[0]["healed"] and found[0]["limits"] == ["max_depth"]


@async_test
async def test_an_agent_that_repeats_a_request_reads_why_it_came_back(shared_daemon):
    guard = {"max_repeats": 2, "action": "return"}
    async with guarded(shared_daemon, "ag-repeats", repetition=guard) as run:
        runtime = healing_runtime(run)

        async def lead(agent, message, reply, ctx):
            if "monitor" in message.content:
                return Answer("something else")
            for _ in range(5):
                await agent.send_message(Ask("the same"), AgentId("clerk", "default"))
            return Answer("never")

        async def clerk(agent, message, reply, ctx):
            return Answer("I do not know")

        await worker(runtime, "lead", lead, *["x"] * 9)
        model = await worker(runtime, "clerk", clerk, *["x"] * 9)
        runtime.start()
        answer = await runtime.send_message(Ask("Go."), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    assert answer.content == "something else" and len(model.prompts) == 2
    assert detections_of_guard(shared_daemon, "repetition", "ag-repeats")[0]["healing"] == "reroute"


def costly(text):
    usage = RequestUsage(prompt_tokens=100, completion_tokens=0)
    return CreateResult(finish_reason="stop", content=text, usage=usage, cached=False)


@pytest.mark.parametrize("decision", ["release", "return"])
@async_test
async def test_a_person_is_asked_about_a_chat_that_overspends(shared_daemon, decision):
    writer, critic = agent("writer", costly("a draft"), "shorter"), agent("critic", "fine", "fine")
    name = f"ag-held-{decision}"
    async with guarded(shared_daemon, name, budget={"max_model_calls": 0, "action": "hold"}) as run:
        runtime = digd.autogen.Runtime(run)
        team = RoundRobinGroupChat([writer, critic], termination_condition=MaxMessageTermination(3), runtime=runtime)
        with person(shared_daemon, (decision, "Write less.")) as decided:
            result = await runtime.run_team(team, task="Write.")
    assert [(h["guard"], h["sender"], h["recipients"]) for h in decided] == [("budget", "writer", ["critic"])]
    texts = [m.content for m in result.messages]
    assert texts[1] == "a draft"
    if decision == "release":
        assert len(critic._model_client.prompts) == 1
    else:
        assert texts[2] == "shorter" and "Write less." in read_by(writer)


@async_test
async def test_a_chat_whose_message_goes_to_nobody_stops_with_a_text(shared_daemon):
    writer, critic = agent("writer", "a draft"), agent("critic", "never")
    async with guarded(shared_daemon, "ag-stop", budget={"max_model_calls": 0, "action": "cancel"}) as run:
        runtime = digd.autogen.Runtime(run)
        team = RoundRobinGroupChat([writer, critic], termination_condition=MaxMessageTermination(9), runtime=runtime)
        result = await runtime.run_team(team, task="Write.")
    assert "max_model_calls" in result.stop_reason and not critic._model_client.prompts


class Hanging(ReplayChatCompletionClient):
    async def create(self, messages, **options):
        await asyncio.Event().wait()


STALL = {"after_ms": 100, "action": "cancel"}


@async_test
async def test_a_speaker_that_hangs_ends_its_chat_with_a_text(shared_daemon):
    writer = AssistantAgent("writer", Hanging([], model_info=INFO))
    async with guarded(shared_daemon, "ag-hangs", stall=STALL) as run:
        runtime = digd.autogen.Runtime(run)
        team = RoundRobinGroupChat([writer], termination_condition=MaxMessageTermination(9), runtime=runtime)
        with pytest.raises(RuntimeError, match="silent for 100 ms"):
            await runtime.run_team(team, task="Write.")
    assert detections_of_guard(shared_daemon, "stall", "ag-hangs")[0]["healed"]


@async_test
async def test_the_caller_of_an_agent_that_hangs_gets_the_text(shared_daemon):
    async with guarded(shared_daemon, "ag-core-hangs", stall={**STALL, "except": ["lead"]}) as run:
        runtime = healing_runtime(run)

        async def lead(agent, message, reply, ctx):
            try:
                await agent.send_message(Ask("do it"), AgentId("clerk", "default"))
            except digd.Cancelled as text:
                return Answer(f"without the clerk: {text}")

        async def clerk(agent, message, reply, ctx):
            await asyncio.Event().wait()

        await worker(runtime, "lead", lead, "x")
        await worker(runtime, "clerk", clerk, "x")
        runtime.start()
        answer = await runtime.send_message(Ask("Go."), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    text = answer.content
    assert text.startswith("without the clerk: The monitor cancelled agent 'clerk'.") and "silent for 100 ms" in text
    assert "go on without it" in text


@async_test
async def test_work_linked_to_a_cancelled_agents_token_ends_and_other_agents_continue(shared_daemon):
    async with guarded(shared_daemon, "ag-token", stall={**STALL, "except": ["lead", "other"]}) as run:
        runtime = healing_runtime(run)
        jobs, tokens = {}, {}

        async def lead(agent, message, reply, ctx):
            tokens["lead"] = ctx.cancellation_token
            linked = {"cancellation_token": ctx.cancellation_token}
            jobs["other"] = asyncio.ensure_future(
                agent.send_message(Ask("slowly"), AgentId("other", "default"), **linked)
            )
            try:
                await agent.send_message(Ask("do it"), AgentId("clerk", "default"), **linked)
            except digd.Cancelled:
                released.set()
                return Answer((await jobs["other"]).content)

        async def clerk(agent, message, reply, ctx):
            tokens["clerk"] = ctx.cancellation_token
            jobs["clerk"] = ctx.cancellation_token.link_future(asyncio.ensure_future(asyncio.Event().wait()))
            await asyncio.shield(jobs["clerk"])  # only the token ends the job

        async def other(agent, message, reply, ctx):
            await released.wait()
            return Answer("the other went on")

        released = asyncio.Event()
        for name, work in (("lead", lead), ("clerk", clerk), ("other", other)):
            await worker(runtime, name, work, "x")
        runtime.start()
        answer = await runtime.send_message(Ask("Go."), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    assert answer.content == "the other went on"
    assert jobs["clerk"].cancelled() and tokens["clerk"].is_cancelled() and not tokens["lead"].is_cancelled()


@async_test
async def test_tokens_that_the_program_cancels_work_as_without_digd(shared_daemon):
    async with guarded(shared_daemon, "ag-own-token") as run:
        runtime = healing_runtime(run)
        seen = []

        async def lead(agent, message, reply, ctx):
            if message.content == "cancel yourself":
                ctx.cancellation_token.cancel()
            job = ctx.cancellation_token.link_future(asyncio.ensure_future(asyncio.Event().wait()))
            begun.set()
            await asyncio.wait([job])
            seen.append(job.cancelled() and ctx.cancellation_token.is_cancelled())
            return Answer("done")

        await worker(runtime, "lead", lead, "x", "x")
        runtime.start()
        for task in ("cancel yourself", "wait"):
            begun, token = asyncio.Event(), CancellationToken()
            sent = asyncio.ensure_future(
                runtime.send_message(Ask(task), AgentId("lead", "default"), cancellation_token=token)
            )
            await begun.wait()
            token.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sent
        await runtime.stop_when_idle()
    assert seen == [True, True]


@async_test
async def test_a_request_that_goes_to_nobody_raises_the_text(shared_daemon):
    async with guarded(shared_daemon, "ag-nobody", fan_out={"max_depth": 0, "action": "cancel"}) as run:
        runtime = healing_runtime(run)

        async def lead(agent, message, reply, ctx):
            try:
                await agent.send_message(Ask("do it"), AgentId("clerk", "default"))
            except digd.Cancelled as text:
                return Answer(str(text))

        async def clerk(agent, message, reply, ctx):
            return Answer("never")

        await worker(runtime, "lead", lead, "x")
        model = await worker(runtime, "clerk", clerk, "x")
        runtime.start()
        answer = await runtime.send_message(Ask("Go."), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    assert answer.content != "never" and not model.prompts
