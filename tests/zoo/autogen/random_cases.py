"""Random programs of core agents: requests, broadcasts and notices in any nesting, with handlers that raise."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from autogen_core import AgentId, MessageContext, RoutedAgent, TopicId, TypeSubscription, message_handler

from attach import attached
from zoo import healthy

PROGRAMS = 12


@dataclass
class Job:
    text: str
    depth: int


@dataclass
class Finding:
    text: str


class RandomAgent(RoutedAgent):
    """Its acts depend on the seed and the job alone, so that concurrent jobs may come in any order."""

    def __init__(self, probe, seed, agents):
        super().__init__("acts at random")
        self.probe, self.seed, self.agents = probe, seed, agents

    @message_handler
    async def on_job(self, message: Job, ctx: MessageContext) -> Finding | None:
        self.probe.saw([str(self.id), message.text, message.depth])
        chance = random.Random(f"{self.seed}/{self.id}/{message.text}/{message.depth}")
        results = []
        for step in range(chance.randrange(4) if message.depth else 0):
            results += await self.act(chance, Job(f"{message.text}.{step}", message.depth - 1))
        self.probe.saw([str(self.id), message.text, "done", results])
        if ctx.is_rpc and chance.random() < 0.15:
            raise ValueError(f"no luck with {message.text}")
        return Finding(message.text) if chance.random() < 0.8 else None

    async def act(self, chance, job):
        """One step: publishes the job, sends the sink a finding, or asks one agent or three at once."""
        kind = chance.random()
        if kind < 0.35:
            await self.publish_message(
                job, TopicId(f"topic{chance.randrange(self.agents)}", chance.choice(["default", "k"]))
            )
            return []
        if kind < 0.5:
            await self.publish_message(Finding(job.text), TopicId("findings", "default"))
            return []
        jobs = [job] if kind < 0.8 else [Job(f"{job.text}/{n}", job.depth) for n in range(3)]
        names = [f"agent{chance.randrange(self.agents)}" for _ in jobs]
        requests = [self.send_message(j, AgentId(name, "default")) for j, name in zip(jobs, names)]
        return [str(result) for result in await asyncio.gather(*requests, return_exceptions=True)]


class Sink(RoutedAgent):
    def __init__(self, probe):
        super().__init__("hears findings")
        self.probe = probe

    @message_handler
    async def on_finding(self, message: Finding, ctx: MessageContext) -> None:
        self.probe.saw(["heard", message.text])


def program(seed):
    async def body(probe):
        chance = random.Random(seed)
        agents = chance.randrange(2, 6)
        async with attached(probe) as at:
            runtime = at.runtime()
            for n in range(agents):
                await RandomAgent.register(runtime, f"agent{n}", lambda: RandomAgent(probe, seed, agents))
                for topic in range(agents):
                    if chance.random() < 0.4:
                        await runtime.add_subscription(TypeSubscription(f"topic{topic}", f"agent{n}"))
            await Sink.register(runtime, "sink", lambda: Sink(probe))
            await runtime.add_subscription(TypeSubscription("findings", "sink"))
            runtime.start()
            for n in range(3):
                job = Job(f"job{n}", chance.randrange(1, 4))
                if chance.random() < 0.5:
                    await runtime.publish_message(job, TopicId(f"topic{chance.randrange(agents)}", "default"))
                    continue
                try:
                    probe.saw(
                        str(await runtime.send_message(job, AgentId(f"agent{chance.randrange(agents)}", "default")))
                    )
                except ValueError as error:
                    probe.saw(str(error))
            await runtime.stop_when_idle()

    return body


for number in range(PROGRAMS):
    healthy(f"autogen: random program {number}", ordered=False)(program(number))
