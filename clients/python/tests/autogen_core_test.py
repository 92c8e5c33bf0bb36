"""AutoGen's core under digd: the seven rules, and the texts of healing that agents' models read."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass

import digd
import digd.autogen
import pytest
from autogen_core import (AgentId, DefaultTopicId, MessageContext, RoutedAgent, SingleThreadedAgentRuntime, TopicId,
                          TypeSubscription, message_handler)
from autogen_core.models import UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from client_helpers import async_test, unused_address, url_of
from framework_runs import WINDOW_MS, fired, read_run


@dataclass
class Ask:
    content: str


@dataclass
class Part:
    content: str


@dataclass
class Answer:
    content: str


class Seen(ReplayChatCompletionClient):
    """The package's fake model. It keeps its prompts."""

    def __init__(self, *replies):
        super().__init__(list(replies))
        self.prompts = []

    async def create(self, messages, **options):
        self.prompts.append(messages[-1].content)
        return await super().create(messages, **options)

    async def say(self, text):
        return (await self.create([UserMessage(content=text, source="user")])).content


class Worker(RoutedAgent):
    """Asks its model about each message, and passes the reply to the test's function `do`."""

    def __init__(self, model, do):
        super().__init__("a worker")
        self.model = model
        self.do = do

    @message_handler
    async def on_ask(self, message: Ask, ctx: MessageContext) -> Answer | None:
        return await self.do(self, message, await self.model.say(message.content), ctx)

    @message_handler
    async def on_part(self, message: Part, ctx: MessageContext) -> None:
        await self.do(self, message, await self.model.say(message.content), ctx)


async def worker(runtime, name, do, *replies, topic=None):
    model = Seen(*replies)
    await Worker.register(runtime, name, lambda: Worker(model, do))
    if topic:
        await runtime.add_subscription(TypeSubscription(topic, name))
    return model


def healing_runtime(run, **options):
    """A runtime that may add the monitor's texts to the messages of these tests."""
    return digd.autogen.Runtime(run, add_note=digd.autogen.add_note, **options)


def to(topic):
    return TopicId(topic, "default")


@async_test
async def test_an_answer_that_leaves_work_open_is_given_back(shared_daemon):
    async with digd.Run("core-early", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run, heal_errors=True)

        async def lead(agent, message, reply, ctx):
            if "ask" in reply:
                try:
                    await agent.send_message(Ask("look it up"), AgentId("clerk", "default"))
                except RuntimeError:
                    pass
            return Answer(reply)

        tries = []

        async def clerk(agent, message, reply, ctx):
            tries.append(message.content)
            if len(tries) == 1:
                raise RuntimeError("the archive is closed")
            return Answer(reply)

        model = await worker(runtime, "lead", lead, "I ask, or not", "I ask again", "Now I know")
        await worker(runtime, "clerk", clerk, "x", "it is 7")
        runtime.start()
        answer = await runtime.send_message(Ask("What is it?"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    assert answer.content == "I ask again"
    assert "was not accepted yet" not in model.prompts[0] and "was not accepted yet" in model.prompts[1]
    assert "still unanswered" in tries[1]
    (found,) = fired(shared_daemon, "core-early", "early_termination")
    assert found["healed"] and found["healing"] == "reroute"


@async_test
async def test_a_run_without_an_answer_gets_a_text_to_submit(shared_daemon):
    rules = {"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("core-missing", mode="enforce", url=url_of(shared_daemon), rules=rules) as run:
        runtime = healing_runtime(run, answers=Answer)

        async def only(agent, message, reply, ctx):
            if "answer" in reply:
                await agent.publish_message(Answer(reply), DefaultTopicId())

        model = await worker(runtime, "only", only, "hm", "the answer", topic="work")
        runtime.start()
        await runtime.publish_message(Ask("What is it?"), to("work"))
        answer = await runtime.answer(20)
        await runtime.stop_when_idle()
    assert answer.content == "the answer"
    assert "submit the final answer now" in model.prompts[1]
    found, *_ = fired(shared_daemon, "core-missing", "missing_termination")
    assert found["healed"] and found["agent"] == "only"


@async_test
async def test_a_message_without_a_subscriber_returns_to_its_author(shared_daemon):
    async with digd.Run("core-orphan", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run, answers=Answer)

        async def author(agent, message, reply, ctx):
            await agent.publish_message(Part(reply), to("review" if "reached nobody" in message.content else "reviews"))

        async def reader(agent, message, reply, ctx):
            pass

        model = await worker(runtime, "author", author, "draft", "draft again", topic="work")
        review = await worker(runtime, "reviewer", reader, "fine", topic="review")
        runtime.start()
        await runtime.publish_message(Ask("Write it."), to("work"))
        await runtime.stop_when_idle()
    assert "reached nobody" in model.prompts[1] and review.prompts == ["draft again"]
    (found,) = fired(shared_daemon, "core-orphan", "orphaned_event")
    assert found["healed"]


@async_test
async def test_a_request_to_a_missing_agent_returns_instead_of_failing(shared_daemon):
    async with digd.Run("core-nobody", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)

        async def author(agent, message, reply, ctx):
            if "reached nobody" not in message.content:
                await agent.send_message(Ask(reply), AgentId("reviewer", "default"))
            return Answer(reply)

        model = await worker(runtime, "author", author, "review this", "then without")
        runtime.start()
        answer = await runtime.send_message(Ask("Write it."), AgentId("author", "default"))
        await runtime.stop_when_idle()
    assert answer.content == "then without" and "reached nobody" in model.prompts[1]
    (found,) = fired(shared_daemon, "core-nobody", "orphaned_event")
    assert found["healed"]


@async_test
async def test_agents_that_wait_for_each_other_are_woken(shared_daemon):
    rules = {"deadlock": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("core-deadlock", mode="enforce", url=url_of(shared_daemon), rules=rules) as run:
        runtime = healing_runtime(run, answers=Answer)

        async def waits(agent, message, reply, ctx):
            if "Nobody is working" in message.content:
                await agent.publish_message(Answer(reply), DefaultTopicId())
            else:
                digd.autogen.wait()

        model = await worker(runtime, "coder", waits, "I wait for the tests", "done without tests", topic="work")
        runtime.start()
        await runtime.publish_message(Ask("Build it."), to("work"))
        answer = await runtime.answer(20)
        await runtime.stop_when_idle()
    assert answer.content == "done without tests" and "Nobody is working" in model.prompts[1]
    found, *_ = fired(shared_daemon, "core-deadlock", "deadlock")
    assert found["healed"] and found["healing"] == "create"


@async_test
async def test_a_message_that_is_only_passed_around_gets_a_text(shared_daemon):
    async with digd.Run("core-passed", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)
        ring = {"ann": "bob", "bob": "cid", "cid": "ann"}

        async def passes(agent, message, reply, ctx):
            if "Do not pass it on again" in message.content:
                return Answer(reply)
            return await agent.send_message(message, AgentId(ring[agent.id.type], "default"))

        models = {name: await worker(runtime, name, passes, "not me", "then I do it") for name in ring}
        runtime.start()
        answer = await runtime.send_message(Ask("Who does this?"), AgentId("ann", "default"))
        await runtime.stop_when_idle()
    assert answer.content == "then I do it"
    assert [len(m.prompts) for m in models.values()] == [2, 2, 2]  # a first pass to each is not a reroute
    (found,) = fired(shared_daemon, "core-passed", "excessive_rerouting")
    assert found["healed"] and found["healing"] == "inject"


@async_test
async def test_an_agent_that_joins_parts_of_two_plans_gets_a_text(shared_daemon):
    rules = {"cross_lineage_aggregation": {"mode": "enforce"}}
    async with digd.Run("core-clash", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)

        async def planner(agent, message, reply, ctx):
            await agent.publish_message(Part(f"{reply} 1"), to("parts"))
            await agent.publish_message(Part(f"{reply} 2"), to("parts"))

        async def joiner(agent, message, reply, ctx):
            if len(agent.model.prompts) < 4:
                digd.autogen.wait()

        await worker(runtime, "ann", planner, "by author", topic="work")
        await worker(runtime, "bob", planner, "by year", topic="work")
        model = await worker(runtime, "joiner", joiner, "one", "two", "three", "four", topic="parts")
        runtime.start()
        await runtime.publish_message(Ask("Split the list."), to("work"))
        await runtime.stop_when_idle()
    assert any("of another decomposition" in prompt for prompt in model.prompts)
    found = fired(shared_daemon, "core-clash", "cross_lineage_aggregation")
    assert found and all(f["healed"] and f["agent"] == "joiner" for f in found)


@async_test
async def test_an_agent_that_gets_two_results_of_one_task_gets_a_text(shared_daemon):
    rules = {"repeated_subproblem": {"mode": "enforce"}}
    async with digd.Run("core-repeated", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)

        collected = asyncio.Event()

        async def solver(agent, message, reply, ctx):
            if agent.id.type == "bob":
                await collected.wait()
            await agent.publish_message(Part(reply), to("results"))

        async def collects(agent, message, reply, ctx):
            collected.set()

        await worker(runtime, "ann", solver, "7", topic="work")
        await worker(runtime, "bob", solver, "8", topic="work")
        model = await worker(runtime, "collector", collects, "one", "two", topic="results")
        runtime.start()
        await runtime.publish_message(Ask("Count them."), to("work"))
        await runtime.stop_when_idle()
    assert "Do not count both results" not in model.prompts[0] and "Do not count both results" in model.prompts[1]
    assert fired(shared_daemon, "core-repeated", "repeated_subproblem")[0]["healed"]


@async_test
async def test_a_message_that_no_subscriber_can_handle_returns_to_its_author(shared_daemon):
    rules = {"orphaned_event": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("core-unhandled", mode="enforce", url=url_of(shared_daemon), rules=rules) as run:
        runtime = healing_runtime(run, answers=Part)

        async def author(agent, message, reply, ctx):
            if "reached nobody" in message.content:
                await agent.publish_message(Part(reply), DefaultTopicId())
            else:
                await agent.publish_message(Answer(reply), to("readers"))

        async def reader(agent, message, reply, ctx):
            pass

        model = await worker(runtime, "author", author, "draft", "draft in parts", topic="work")
        await worker(runtime, "reader", reader, topic="readers")  # its class handles no Answer
        runtime.start()
        await runtime.publish_message(Ask("Write it."), to("work"))
        answer = await runtime.answer(20)
        await runtime.stop_when_idle()
    assert answer.content == "draft in parts" and "reached nobody" in model.prompts[1]
    found, *_ = fired(shared_daemon, "core-unhandled", "orphaned_event")
    assert found["healed"]


async def asks_two(runtime):
    """A lead asks two clerks at once, in AutoGen's runtime or in digd's."""

    async def lead(agent, message, reply, ctx):
        parts = await asyncio.gather(*(agent.send_message(Ask(n), AgentId(n, "default")) for n in ("ann", "bob")))
        return Answer(" ".join(p.content for p in parts))

    async def clerk(agent, message, reply, ctx):
        return Answer(reply)

    await worker(runtime, "lead", lead, "I ask")
    for name in ("ann", "bob"):
        await worker(runtime, name, clerk, f"{name}'s")
    runtime.start()
    answer = await runtime.send_message(Ask("What is it?"), AgentId("lead", "default"))
    await runtime.stop_when_idle()
    return answer


@async_test
async def test_answers_are_inputs_of_the_next_activation_of_the_asking_agent(shared_daemon):
    async with digd.Run("core-asks", mode="enforce", url=url_of(shared_daemon)) as run:
        answer = await asks_two(healing_runtime(run))
    assert answer == await asks_two(SingleThreadedAgentRuntime()) == Answer("ann's bob's")
    graph = read_run(shared_daemon, "core-asks/graph")
    lead = [a for a in graph["activations"] if a["agent"] == "lead"]
    assert [len(a["inputs"]) for a in lead] == [1, 2] and [len(a["outputs"]) for a in lead] == [2, 1]
    assert not read_run(shared_daemon, "core-asks/detections")["detections"]


class Unprintable(Exception):
    def __str__(self):
        raise KeyError("no text")


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
@async_test
async def test_an_error_that_cannot_be_printed_reaches_the_caller(shared_daemon, mode):
    async def raises(agent, message, reply, ctx):
        raise Unprintable

    # AutoGen's own task cannot print the error either; its exception stays unretrieved, as without digd.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with digd.Run(f"core-unprintable-{mode}", mode=mode, url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)
        await worker(runtime, "clerk", raises, "x")
        runtime.start()
        with pytest.raises(Unprintable):
            await runtime.send_message(Ask("Go."), AgentId("clerk", "default"))
        await runtime.stop()


@async_test
async def test_a_program_that_waits_for_the_answer_can_always_be_cancelled():
    async with digd.Run(url=unused_address(), linger_s=0) as run:
        runtime = digd.autogen.Runtime(run)
        with pytest.raises(asyncio.TimeoutError):
            await runtime.answer(0.01)
        waiting = asyncio.ensure_future(runtime.answer(30))
        for _ in range(3):
            await asyncio.sleep(0)
        runtime.state.settle("done")
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()


@async_test
async def test_without_a_daemon_a_runtime_behaves_as_without_digd(caplog):
    async with digd.Run("core-alone", url=unused_address()) as run:
        assert await asks_two(healing_runtime(run)) == Answer("ann's bob's")
    assert len([r for r in caplog.records if r.name == "digd"]) == 1


@async_test
async def test_in_mode_observe_a_message_to_nobody_fails_as_without_digd(shared_daemon):
    async with digd.Run("core-observed", mode="observe", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run)

        async def author(agent, message, reply, ctx):
            return await agent.send_message(Ask(reply), AgentId("reviewer", "default"))

        await worker(runtime, "author", author, "review this")
        runtime.start()
        with pytest.raises(Exception, match="Recipient not found"):
            await runtime.send_message(Ask("Write it."), AgentId("author", "default"))
        await runtime.stop_when_idle()
    (found,) = fired(shared_daemon, "core-observed", "orphaned_event")
    assert not found["healed"] and found["cause"] == "mode"


@dataclass
class Number:
    value: int


def test_a_note_is_added_to_the_text_of_a_message_or_refused():
    assert digd.autogen.add_note("a", "b").endswith("b")
    assert digd.autogen.add_note(Ask("a"), "b") == Ask("a\n\nNote from the monitor of this run: b")
    assert digd.autogen.add_note(UserMessage(content="a", source="s"), "b").content.startswith("a\n")
    with pytest.raises(digd.autogen.NoPlaceForNote, match="Number"):
        digd.autogen.add_note(Number(1), "b")


@async_test
async def test_a_text_without_a_place_in_the_message_is_reported_as_not_applied(shared_daemon):
    class Passer(RoutedAgent):
        @message_handler
        async def on_number(self, message: Number, ctx: MessageContext) -> Number:
            to_whom = {"ann": "bob", "bob": "ann"}[self.id.type]
            seen.append(self.id.type)
            return message if len(seen) == 6 else await self.send_message(message, AgentId(to_whom, "default"))

    seen = []
    async with digd.Run("core-no-place", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = digd.autogen.Runtime(run)
        for name in ("ann", "bob"):
            await Passer.register(runtime, name, lambda: Passer("passes"))
        runtime.start()
        assert await runtime.send_message(Number(7), AgentId("ann", "default")) == Number(7)
        await runtime.stop_when_idle()
    assert fired(shared_daemon, "core-no-place", "excessive_rerouting")
    assert run.counters.errors == {}


@async_test
async def test_a_message_published_after_its_handler_ended_still_has_its_author(shared_daemon):
    async with digd.Run("core-late", mode="enforce", url=url_of(shared_daemon)) as run:
        runtime = healing_runtime(run, answers=Answer)
        handled, tasks = asyncio.Event(), []

        async def later(agent, message, reply, ctx):
            async def lost():
                await handled.wait()
                await agent.publish_message(Part(reply), to("nowhere"))

            if "reached nobody" in message.content:
                await agent.publish_message(Answer(reply), DefaultTopicId())
            else:
                tasks.append(asyncio.create_task(lost()))

        model = await worker(runtime, "author", later, "draft", "the answer", topic="work")
        runtime.start()
        await runtime.publish_message(Ask("Write it."), to("work"))
        await runtime.stop_when_idle()
        runtime.start()
        handled.set()
        answer = await runtime.answer(20)
        await asyncio.gather(*tasks)
        await runtime.stop_when_idle()
    assert answer.content == "the answer" and "reached nobody" in model.prompts[1]
    activations = read_run(shared_daemon, "core-late/graph")["activations"]
    assert all(a["ended"] is not None for a in activations) and len(activations) == 3


def test_the_core_works_alone_and_an_unknown_agentchat_raises():
    hide = ("import importlib.abc, sys\n"
            "class Hide(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.startswith(sys.argv[1]):\n"
            "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
            "sys.meta_path.insert(0, Hide())\n"
            "import digd.autogen, digd.autogen.runtime\n"
            "print(digd.autogen.runtime.group_chat)")

    def without(module):
        return subprocess.run([sys.executable, "-c", hide, module], capture_output=True, text=True, timeout=120)

    assert without("autogen_agentchat").stdout.strip() == "None"
    assert "_events" in without("autogen_agentchat.teams._group_chat._events").stderr
