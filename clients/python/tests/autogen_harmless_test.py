"""The AutoGen adapter does not change a program. Its cost is counted, not timed."""

import asyncio
from dataclasses import dataclass

import digd
import digd.autogen
import digd.sync
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import (AgentId, DefaultTopicId, MessageContext, RoutedAgent, SingleThreadedAgentRuntime, TopicId,
                          TypeSubscription, message_handler)
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.replay import ReplayChatCompletionClient
from digd.line import Mail
from digd.session import Session

from autogen_group_chat_test import tools
from client_helpers import async_test, url_of
from framework_runs import read_run

INFO = ModelInfo(vision=False, function_calling=True, json_output=False, structured_output=False,
                 family=ModelFamily.UNKNOWN)


@dataclass
class Number:
    value: int


@dataclass
class Question:
    text: str


class Doubler(RoutedAgent):
    def __init__(self):
        super().__init__("doubles")
        self.notes = []

    @message_handler
    async def on_number(self, message: Number, ctx: MessageContext) -> Number:
        self.notes += digd.autogen.notes()
        return Number(2 * message.value)


def chat(*replies, **options):
    models = {name: ReplayChatCompletionClient(list(replies), model_info=INFO) for name in ("ann", "bob")}
    agents = [AssistantAgent(name, model) for name, model in models.items()]
    return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3), **options)


def detections(daemon, run):
    return [entry["detection"]["rule"] for entry in read_run(daemon, f"{run}/detections?limit=100")["detections"]]


@pytest.fixture
def waits(monkeypatch):
    """Counts how often the client waits for a verdict."""
    counted = []
    inner = Session.verdicts

    async def verdicts(self, ticket):
        if ticket.verdicts is None:
            counted.append(ticket)
        return await inner(self, ticket)

    monkeypatch.setattr(Session, "verdicts", verdicts)
    return counted


@async_test
async def test_mode_off_leaves_no_trace(shared_daemon):
    async with digd.Run(mode="off", url=url_of(shared_daemon)) as run:
        team = chat("1", "2")
        before = dict(vars(team))
        assert digd.autogen.instrument(team, run) is team
        assert vars(team) == before and type(team._runtime) is SingleThreadedAgentRuntime
        runtime = digd.autogen.Runtime(run)
        await Doubler.register(runtime, "doubler", Doubler)
        runtime.start()
        assert await runtime.send_message(Number(2), AgentId("doubler", "default")) == Number(4)
        assert await runtime.answer() == Number(4)
        await runtime.stop_when_idle()
        assert (await runtime.run_team(chat("1", "2", runtime=runtime), task="Count.")).messages[-1].content == "1"
    assert run.counters.connections == 0 and run.counters.told == 0


@async_test
async def test_the_default_mode_waits_for_no_verdict(shared_daemon, waits):
    async with digd.Run("harmless-shadow", url=url_of(shared_daemon)) as run:
        await digd.autogen.instrument(chat("1", "2"), run).run(task="Count.")
    assert run.mode == "shadow" and waits == []
    assert len(read_run(shared_daemon, "harmless-shadow/graph")["events"]) == 3


@async_test
async def test_enforce_waits_once_for_each_event(shared_daemon, waits):
    async with digd.Run("harmless-enforce", mode="enforce", url=url_of(shared_daemon)) as run:
        await digd.autogen.instrument(chat("1", "2"), run).run(task="Count.")
        runtime = digd.autogen.Runtime(run)
        await Doubler.register(runtime, "doubler", Doubler)
        runtime.start()
        await runtime.send_message(Number(2), AgentId("doubler", "default"))
        await runtime.stop_when_idle()
    assert len(waits) == len(read_run(shared_daemon, "harmless-enforce/graph")["events"]) == 5


@async_test
async def test_a_team_attached_again_to_the_same_run_is_attached_once(shared_daemon):
    async with digd.Run("harmless-again", mode="enforce", url=url_of(shared_daemon)) as run:
        team = chat("1", "2")
        for _ in range(2):
            assert digd.autogen.instrument(team, run) is team
        assert team._runtime.state.runtimes == [team._runtime] and len(run._end_hooks) == 1
        assert (await team.run(task="Count.")).messages[-1].content == "1"


@async_test
async def test_by_default_nothing_waits_for_healing(shared_daemon, monkeypatch):
    async def wait(self, *_):
        raise AssertionError("waited")

    monkeypatch.setattr(Mail, "wait", wait)
    async with digd.Run("harmless-end", mode="enforce", url=url_of(shared_daemon)) as run:
        team = digd.autogen.instrument(chat("1", "2"), run, is_answer=lambda result: False)
        await team.run(task="Count.")
    assert detections(shared_daemon, "harmless-end") == ["missing_termination"]  # reported at the end of the run


@async_test
async def test_registered_agents_join_a_closed_roster(shared_daemon):
    async with digd.Run("harmless-roster", agents=["lead"], url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        await Doubler.register(runtime, "doubler", Doubler)
        await runtime.add_subscription(TypeSubscription("numbers", "doubler"))
        runtime.start()
        await runtime.publish_message(Number(1), TopicId("numbers", "key"))
        await runtime.send_message(Number(2), AgentId("doubler", "default"))
        await runtime.stop_when_idle()
    assert detections(shared_daemon, "harmless-roster") == []


@async_test
async def test_an_event_to_a_person_outside_a_closed_roster_is_not_an_orphan(shared_daemon):
    async with digd.Run("harmless-person", agents=["clerk"], url=url_of(shared_daemon)) as run:
        model = ReplayChatCompletionClient([tools("transfer_to_user"), tools("transfer_to_user")], model_info=INFO)
        clerk = AssistantAgent("clerk", model, handoffs=[Handoff(target="user")])
        swarm = digd.autogen.instrument(Swarm([clerk], termination_condition=HandoffTermination("user")), run)
        await swarm.run(task="Book it.")
        await swarm.run(task=HandoffMessage(source="user", target="clerk", content="Monday"))
    assert detections(shared_daemon, "harmless-person") == []
    acted = [a["agent"] for a in read_run(shared_daemon, "harmless-person/graph")["activations"]]
    assert acted == ["clerk", "user", "user", "clerk", "user", "user"]


@async_test
async def test_typed_data_stays_unchanged_and_its_text_is_in_notes(shared_daemon):
    seen = []

    class Passer(RoutedAgent):
        @message_handler
        async def on_number(self, message: Number, ctx: MessageContext) -> Number:
            seen.append((message, digd.autogen.notes()))
            if digd.autogen.notes():
                return message
            return await self.send_message(message, AgentId({"ann": "bob", "bob": "ann"}[self.id.type], "default"))

    async with digd.Run("harmless-notes", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        for name in ("ann", "bob"):
            await Passer.register(runtime, name, lambda: Passer("passes"))
        runtime.start()
        assert await runtime.send_message(Number(7), AgentId("ann", "default")) == Number(7)
        await runtime.stop_when_idle()
    assert all(message == Number(7) for message, _ in seen)
    assert "Do not pass it on again" in seen[-1][1][0] and not any(notes for _, notes in seen[:-1])
    assert detections(shared_daemon, "harmless-notes") == ["excessive_rerouting"]


@async_test
async def test_a_handler_that_raised_is_healed_only_with_heal_errors(shared_daemon):
    for heals, found in ((False, []), (True, ["early_termination"])):
        name = f"harmless-raised-{heals}"
        async with digd.Run(name, url=url_of(shared_daemon)) as run:
            runtime = digd.autogen.Runtime(run, heal_errors=heals)

            class Broken(RoutedAgent):
                @message_handler
                async def on_number(self, message: Number, ctx: MessageContext) -> Number:
                    raise ValueError("broken")

            class Lead(RoutedAgent):
                @message_handler
                async def on_number(self, message: Number, ctx: MessageContext) -> Number:
                    with pytest.raises(ValueError):
                        await self.send_message(Number(1), AgentId("broken", "default"))
                    return Number(0)

            await Broken.register(runtime, "broken", lambda: Broken("breaks"))
            await Lead.register(runtime, "lead", lambda: Lead("leads"))
            runtime.start()
            await runtime.send_message(Number(1), AgentId("lead", "default"))
            await runtime.stop_when_idle()
        assert detections(shared_daemon, name) == found


@pytest.mark.parametrize("way", ["returned", "published", "sent"])
@pytest.mark.parametrize("answers", [Number, [Number], (Number, Question)])
@async_test
async def test_an_answer_counts_whether_returned_published_or_sent(shared_daemon, way, answers):
    class Lead(RoutedAgent):
        @message_handler
        async def on_question(self, message: Question, ctx: MessageContext) -> Number | None:
            if way == "published":
                await self.publish_message(Number(7), DefaultTopicId())
            elif way == "sent":
                await self.send_message(Number(7), AgentId("doubler", "default"))
            else:
                return Number(7)

    async with digd.Run(url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run, answers=answers)
        await Lead.register(runtime, "lead", lambda: Lead("leads"))
        await Doubler.register(runtime, "doubler", Doubler)
        runtime.start()
        await runtime.send_message(Question("How many?"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
        assert isinstance(await runtime.answer(20), Number)
    assert detections(shared_daemon, run.id) == []
    assert read_run(shared_daemon, run.id)["ended"] == "success"


@async_test
async def test_the_outcome_of_a_run_is_that_of_its_last_call(shared_daemon):
    async def outcome(act):
        async with digd.Run(url=url_of(shared_daemon)) as run:
            runtime = digd.autogen.Runtime(run)
            await Doubler.register(runtime, "doubler", Doubler)
            runtime.start()
            try:
                await act(runtime)
            except (Exception, asyncio.CancelledError):
                pass
            await runtime.stop_when_idle()
        return read_run(shared_daemon, run.id)["ended"]

    async def cancel(runtime):
        task = asyncio.create_task(runtime.send_message(Number(2), AgentId("doubler", "default")))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task

    assert await outcome(lambda runtime: runtime.send_message(Number(2), AgentId("doubler", "default"))) == "success"
    assert await outcome(lambda runtime: runtime.send_message(Question("x"), AgentId("nobody", "default"))) == "failure"
    assert await outcome(cancel) == "aborted"


@async_test
async def test_run_team_stops_the_runtime_that_it_started_and_a_second_stop_is_allowed(shared_daemon):
    async with digd.Run(url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        await runtime.run_team(chat("1", "2", runtime=runtime), task="Count.")
        assert runtime._run_context is None
        await runtime.stop_when_idle()
        runtime.start()
        await runtime.run_team(chat("1", "2", runtime=runtime), task="Count.")
        assert runtime._run_context is not None
        await runtime.stop_when_idle()


@async_test
async def test_a_team_that_cannot_be_watched_is_refused_with_the_remedy(shared_daemon):
    async with digd.Run(url=url_of(shared_daemon)) as run:
        with pytest.raises(ValueError, match="digd.autogen.instrument"):
            await digd.autogen.Runtime(run).run_team(chat("1", "2"), task="Count.")
        used = chat("1", "2")
        await used.run(task="Count.")
        with pytest.raises(ValueError, match="was not used yet"):
            digd.autogen.instrument(used, run)


def test_a_run_for_threads_is_refused():
    for attach in (digd.autogen.Runtime, lambda run: digd.autogen.instrument(chat("1"), run)):
        with pytest.raises(TypeError, match="digd.Run"):
            attach(digd.sync.Run(mode="off"))


@async_test
async def test_bounds_on_healing_reach_the_daemon(shared_daemon):
    async with digd.Run(mode="enforce", url=url_of(shared_daemon)) as run:
        digd.autogen.instrument(chat("1", "2"), run, max_returns_per_agent=2, max_added_ms=50)
        await run.emit(["ann"], {})
    assert read_run(shared_daemon, run.id)["settings"]["healing"]["max_returns_per_agent"] == 2


@async_test
async def test_a_team_reports_to_the_latest_run(shared_daemon):
    team = chat("1", "2", "3")
    for _ in range(2):
        async with digd.Run(agents=[], url=url_of(shared_daemon)) as run:
            await digd.autogen.instrument(team, run).run(task="Count.")
        assert len(read_run(shared_daemon, f"{run.id}/graph")["activations"]) == 2
        assert detections(shared_daemon, run.id) == []


@async_test
async def test_verdicts_that_cannot_be_carried_out_stop_healing(shared_daemon, caplog):
    class Passer(RoutedAgent):
        @message_handler
        async def on_number(self, message: Number, ctx: MessageContext) -> Number:
            passed.append(self.id.type)
            if len(passed) == 12:
                return message
            return await self.send_message(message, AgentId({"ann": "bob", "bob": "ann"}[self.id.type], "default"))

    passed = []
    async with digd.Run(mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        for name in ("ann", "bob"):
            await Passer.register(runtime, name, lambda: Passer("passes"))
        runtime.start()
        await runtime.send_message(Number(7), AgentId("ann", "default"))
        await runtime.stop_when_idle()
        assert not run.heals
    assert len([r for r in caplog.records if "could not be carried out" in r.getMessage()]) == 1
