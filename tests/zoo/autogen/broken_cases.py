"""Broken systems made with AutoGen: one for each rule that can fire between core agents, and in teams."""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import GraphFlow, RoundRobinGroupChat, Swarm
from autogen_core import AgentId

import digd.autogen
from attach import Model, assistant, attached, calls, without_identity
from chat_teams import flow
from core_agents import Collector, Note, Result, Task, agent, listener, to
from zoo import broken

WINDOW_MS = 300
ENFORCED = {"mode": "enforce"}


def heals(probe):
    return probe.mode == "enforce"


def read(model, text):
    return any(text in prompt for prompt in model.inputs)


# ---- core


@broken(
    "autogen: an answer while another agent waits with its part",
    "early_termination",
    rules={"early_termination": {"max_attempts": 1}},
)
async def early(probe):
    async with attached(probe) as at:
        runtime = at.runtime(add_note=digd.autogen.add_note)
        model = Model(probe, "lead", "a guess", "a better answer")

        async def lead(agent, message, ctx):
            return Result(await model.ask(message.content))

        async def waits(agent, message, ctx):
            digd.autogen.wait()

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "archive", waits, topic="archive")
        runtime.start()
        await runtime.publish_message(Task("look it up"), to("archive"))
        result = await runtime.send_message(Task("What is it?"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
    assert read(model, "was not accepted yet") == heals(probe)
    assert result.content == ("a better answer" if heals(probe) else "a guess")
    return None if heals(probe) else result


@broken("autogen: a request to an agent that nobody registered", "orphaned_event")
async def to_nobody(probe):
    async with attached(probe) as at:
        runtime = at.runtime(add_note=digd.autogen.add_note)
        model = Model(probe, "author", "draft", "draft")

        async def author(agent, message, ctx):
            text = await model.ask(message.content)
            if "reached nobody" in message.content:
                return Result(text)
            return await agent.send_message(Task(text), AgentId("reviewer", "default"))

        await agent(at, runtime, "author", author)
        runtime.start()
        try:
            return await runtime.send_message(Task("Write."), AgentId("author", "default"))
        except Exception as error:
            assert not heals(probe)
            return str(error)
        finally:
            await runtime.stop_when_idle()
            assert read(model, "reached nobody") == heals(probe)


@broken("autogen: a part published where nobody listens, of a program that declares its answers", "orphaned_event")
async def published_to_nobody(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=Result, add_note=digd.autogen.add_note)
        model = Model(probe, "author", "draft", "draft")

        async def author(agent, message, ctx):
            text = await model.ask(message.content)
            await agent.publish(Task(text), to("review" if "reached nobody" in message.content else "reviews"))

        async def review(agent, message, ctx):
            probe.call("review")
            await agent.publish(Result("good"), to("results"))

        await agent(at, runtime, "author", author, topic="work")
        await agent(at, runtime, "reviewer", review, topic="review")
        runtime.start()
        await runtime.publish_message(Task("Write."), to("work"))
        await runtime.stop_when_idle()
    assert read(model, "reached nobody") == heals(probe)
    assert probe.observation(None, None, []).calls.get("review", 0) == heals(probe)


@broken("autogen: agents that pass the same message around", "excessive_rerouting")
async def passed_around(probe):
    async with attached(probe) as at:
        runtime = at.runtime(add_note=digd.autogen.add_note)
        ring = {"ann": "bob", "bob": "cid", "cid": "ann"}

        async def passes(agent, message, ctx):
            if "Do not pass it on again" in message.content:
                return Result("then I do it")
            if probe.call("pass") > 12:
                raise RecursionError("nobody does it")
            return await agent.send_message(message, AgentId(ring[agent.id.type], "default"))

        for name in ring:
            await agent(at, runtime, name, passes)
        runtime.start()
        try:
            result = await runtime.send_message(Task("Who does this?"), AgentId("ann", "default"))
            assert heals(probe) and result == Result("then I do it")
        except RecursionError as error:
            assert not heals(probe)
            return str(error)
        finally:
            await runtime.stop_when_idle()


@broken(
    "autogen: agents that wait for each other",
    "deadlock",
    rules={"deadlock": {"window_ms": WINDOW_MS, "max_attempts": 1}},
)
async def deadlock(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=Result, add_note=digd.autogen.add_note, wait_for_healing_ms=20000)
        model = Model(probe, "coder", "I wait", "done without the tests")

        async def waits(agent, message, ctx):
            reply = await model.ask(message.content)
            if "Nobody is working" in message.content:
                await agent.publish(Result(reply), to("results"))
            else:
                digd.autogen.wait()

        await agent(at, runtime, "coder", waits, topic="work")
        await listener(at, runtime)
        runtime.start()
        await runtime.publish_message(Task("Build it."), to("work"))
        await runtime.stop_when_idle()
    assert read(model, "Nobody is working") == heals(probe)


@broken(
    "autogen: a program that declares its answers and gives none",
    "missing_termination",
    rules={"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}},
)
async def missing(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=Result, add_note=digd.autogen.add_note, wait_for_healing_ms=20000)
        model = Model(probe, "only", "hm", "the answer")

        async def only(agent, message, ctx):
            reply = await model.ask(message.content)
            if "answer" in reply:
                await agent.publish(Result(reply), to("results"))

        await agent(at, runtime, "only", only, topic="work")
        await listener(at, runtime)
        runtime.start()
        await runtime.publish_message(Task("What is it?"), to("work"))
        await runtime.stop_when_idle()
    assert read(model, "submit the final answer now") == heals(probe)


@broken(
    "autogen: parts of two plans with one agent, where the user asks for the rule",
    "cross_lineage_aggregation",
    rules={"cross_lineage_aggregation": ENFORCED},
)
async def two_plans(probe):
    async with attached(probe) as at:
        runtime = at.runtime(add_note=digd.autogen.add_note)

        async def plan(agent, message, ctx):
            for n in (1, 2):
                await agent.publish(Result(f"{agent.id.type}'s part {n}"), to("parts"))

        async def join(agent, message, ctx):
            if len(agent.seen) < 4:
                digd.autogen.wait()
            else:
                probe.call(
                    "of another decomposition" if any("of another decomposition" in t for t in agent.seen) else "mixed"
                )
                await agent.publish(Note("joined"), to("log"))

        for name in ("ann", "bob"):
            await agent(at, runtime, name, plan, topic="work")
        await agent(at, runtime, "joiner", join, kind=Collector, topic="parts")
        runtime.start()
        await runtime.publish_message(Task("Split it."), to("work"))
        await runtime.stop_when_idle()
    assert probe.observation(None, None, []).calls.get("of another decomposition", 0) == heals(probe)


@broken(
    "autogen: two agents that solve one message, where the user asks for the rule",
    "repeated_subproblem",
    rules={"repeated_subproblem": ENFORCED},
)
async def repeated(probe):
    async with attached(probe) as at:
        runtime = at.runtime(add_note=digd.autogen.add_note)
        read_texts, collected = [], asyncio.Event()

        async def solve(agent, message, ctx):
            if agent.id.type == "bob":
                await collected.wait()
            await agent.publish(Result("7"), to("results"))

        async def collect(agent, message, ctx):
            read_texts.append(message.content)
            collected.set()
            if len(read_texts) == 1:
                await agent.publish(Task("Count again."), to("second"))
            else:
                await agent.publish(Note("both"), to("log"))

        for name, topic in (("ann", "work"), ("bob", "work"), ("cid", "second")):
            await agent(at, runtime, name, solve, topic=topic)
        await agent(at, runtime, "collector", collect, kind=Collector, topic="results")
        runtime.start()
        await runtime.publish_message(Task("Count."), to("work"))
        await runtime.stop_when_idle()
    assert any("Do not count both results" in text for text in read_texts) == heals(probe)


# ---- teams


@broken("autogen: a swarm that hands the task around", "excessive_rerouting")
async def swarm_around(probe):
    async with attached(probe) as at:
        ring = {"ann": "bob", "bob": "cid", "cid": "ann"}
        models = {
            name: Deciding(probe, name, "Do not pass it on again", calls(f"transfer_to_{to_whom}"), "I do it. DONE")
            for name, to_whom in ring.items()
        }
        agents = [with_model(name, models[name], handoffs=[to_whom]) for name, to_whom in ring.items()]
        done = TextMentionTermination("DONE") | MaxMessageTermination(12)
        result = await at.team(Swarm(agents, termination_condition=done)).run(task="Who does this?")
    assert ("DONE" in result.messages[-1].to_text()) == heals(probe)
    assert any(read(m, "Do not pass it on again") for m in models.values()) == heals(probe)
    return None if heals(probe) else without_identity(result)


@broken("autogen: a swarm that hands off to nobody", "orphaned_event")
async def swarm_to_nobody(probe):
    async with attached(probe) as at:
        model = Deciding(probe, "triage", "reached nobody", calls("transfer_to_refunds"), calls("transfer_to_billing"))
        triage = with_model("triage", model, handoffs=["refunds", "billing"])
        billing = assistant(probe, "billing", "Your invoice is right. DONE")
        team = at.team(Swarm([triage, billing], termination_condition=TextMentionTermination("DONE")))
        try:
            result = await team.run(task="My invoice is wrong.")
            assert heals(probe) and result.messages[-1].source == "billing"
        except RuntimeError as error:
            assert not heals(probe)
            return str(error).splitlines()[0]
    assert read(model, "reached nobody")


@broken(
    "autogen: a team whose result its user does not take for an answer",
    "missing_termination",
    rules={"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}},
)
async def team_without_answer(probe):
    def is_answer(result):
        return "DONE" in result.messages[-1].to_text()

    async with attached(probe) as at:
        critic = Model(probe, "critic", "not good", "DONE")
        agents = [assistant(probe, "writer", "a draft"), with_model("critic", critic)]
        team = RoundRobinGroupChat(agents, max_turns=2, termination_condition=TextMentionTermination("DONE"))
        result = await at.team(team, is_answer=is_answer, wait_for_healing_ms=20000).run(task="Write.")
    assert is_answer(result) == heals(probe) == read(critic, "submit the final answer now")
    return None if heals(probe) else without_identity(result)


@broken(
    "autogen: a team's answer while other work of the run waits",
    "early_termination",
    rules={"early_termination": {"max_attempts": 1}},
)
async def team_early(probe):
    async def waits(agent, message, ctx):
        digd.autogen.wait()

    async with attached(probe) as at:
        runtime = at.runtime()
        await agent(at, runtime, "archive", waits, topic="archive")
        runtime.start()
        await runtime.publish_message(Task("Look it up."), to("archive"))
        await runtime.stop_when_idle()
        critic = Model(probe, "critic", "DONE", "really DONE")
        team = at.team(
            RoundRobinGroupChat(
                [assistant(probe, "writer", "a draft", "unused"), with_model("critic", critic)],
                termination_condition=TextMentionTermination("DONE", sources=["critic"]),
            )
        )
        result = await team.run(task="Write.")
    assert result.messages[-1].to_text() == ("really DONE" if heals(probe) else "DONE")
    assert read(critic, "was not accepted yet") == heals(probe)
    return None if heals(probe) else without_identity(result)


@broken(
    "autogen: two branches of a graph that answer the same message, where the user asks for the rule",
    "repeated_subproblem",
    rules={"repeated_subproblem": ENFORCED},
)
async def graph_repeated(probe):
    async with attached(probe) as at:
        editor = Model(probe, "editor", "It is 8.")
        agents = [
            assistant(probe, "lead", "Count them."),
            assistant(probe, "ann", "7"),
            assistant(probe, "bob", "8"),
            with_model("editor", editor),
        ]
        graph = flow(agents, ("lead", "ann"), ("lead", "bob"), ("ann", "editor"), ("bob", "editor"))
        result = await at.team(GraphFlow(agents, graph)).run(task="How many?")
    assert read(editor, "Do not count both results") == heals(probe)
    return None if heals(probe) else without_identity(result)


class Deciding(Model):
    """Gives one reply until it reads a certain text, then another."""

    def __init__(self, probe, name, text, before, after):
        super().__init__(probe, name)
        self.text, self.before, self.after = text, before, after

    async def create(self, messages, **options):
        self._record(messages)
        decided = read(self, self.text)
        reply = self.after if decided else self.before
        if isinstance(reply, str):
            self._chat_completions = [reply]
            self._current_index = 0
            return await super(Model, self).create(messages, **options)
        return reply


def with_model(name, model, **options):
    return AssistantAgent(name, model, **options)
