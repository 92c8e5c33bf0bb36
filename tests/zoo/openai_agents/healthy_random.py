"""Random healthy systems, each from a seed: no list contains all shapes of programs."""

import asyncio
import random

from agents import Runner, RunConfig, SQLiteSession, function_tool
from agents.testing import ModelStep
from zoo import healthy

from openai_agents.attach import Hooks, Lab, watched

SEEDS = range(16)


class Maker:
    """Makes agents whose models follow a script from a seed."""

    def __init__(self, probe, seed, is_rough=False):
        self.lab = Lab(probe)
        self.probe = probe
        self.is_rough = is_rough  # agents fail, answer too early, and pass tasks back and forth
        self.random = random.Random(seed)
        self._count = 0

    def name(self, kind):
        self._count += 1
        return f"{kind}_{self._count}"

    def tool(self):
        name, fails = self.name("tool"), self.random.random() < 0.2

        @function_tool(name_override=name)
        def work(text: str = "") -> str:
            self.probe.call(name)
            if fails:
                raise ConnectionError("busy")
            return "a result" if text == "x" else "another result"

        return work

    def helper(self, depth):
        """An agent as a tool, and the calls that use it. A failing one is called again."""
        fails, name = self.random.random() < 0.25, self.name("ask")
        inner = self.agent(depth - 1, [ModelStep.raise_error(ConnectionError("down"))] if fails else [])
        times = 2 if fails and not self.is_rough else 1
        return inner.as_tool(name, "helps"), [[self.lab.use(name, input="Do it.")] for _ in range(times)]

    def agent(self, depth, first=()):
        """An agent that uses tools, agents and hand-offs, and ends with an answer. `first`: its first model steps."""
        steps, tools = list(first), []
        for _ in range(self.random.randint(0, 3)):
            turn = []
            for _ in range(self.random.randint(1, 3)):
                if depth > 0 and self.random.random() < 0.5:
                    tool, turns = self.helper(depth)
                    tools.append(tool)
                    if len(turns) == 1:
                        turn += turns[0]
                    else:
                        steps += turns
                else:
                    tools.append(self.tool())
                    turn.append(self.lab.use(tools[-1].name, text=self.random.choice("xy")))
            if turn:
                steps.append(turn)
        if self.is_rough and self.random.random() < 0.2:
            steps.append(ModelStep.raise_error(ConnectionError("down")))
        handoffs, name = [], self.name("agent")
        if depth > 0 and self.random.random() < 0.4:
            bounces = 2 if self.is_rough and self.random.random() < 0.5 else 0  # how often the task comes back
            other = self.agent(depth - 1, [self.lab.hand(name) for _ in range(bounces)])
            steps += [self.lab.hand(other.name) for _ in range(bounces + 1)]
            handoffs = [other]
        else:
            steps.append(self.lab.say(self.random.choice(("", "7", "An answer.", "{}"))))
        agent = self.lab.agent(name, *steps, tools=tools, handoffs=handoffs)
        if handoffs and self.is_rough:
            handoffs[0].handoffs.append(agent)
        return agent


async def run_rough(probe, seed):
    """As `run_at_random`, for an unhealthy system: runs fail, and some errors leave the digd run."""
    maker = Maker(probe, seed, is_rough=True)
    async with watched(probe):
        for _ in range(maker.random.randint(1, 4)):
            agents = [maker.agent(2) for _ in range(maker.random.choice((1, 3)))]
            is_caught, is_streamed = maker.random.random() < 0.8, maker.random.random() < 0.3
            try:
                if is_streamed:
                    await maker.lab.consume(Runner.run_streamed(agents[0], "The question.", max_turns=12))
                elif len(agents) == 1:
                    maker.lab.record(await Runner.run(agents[0], "The question.", max_turns=12, hooks=Hooks(probe)))
                else:
                    runs = (Runner.run(agent, "The question.", max_turns=12) for agent in agents)
                    probe.saw(
                        [
                            repr(result) if isinstance(result, Exception) else result.final_output
                            for result in await asyncio.gather(*runs, return_exceptions=True)
                        ]
                    )
            except Exception as error:
                maker.lab.error(error)
                if not is_caught:
                    raise


async def run_at_random(probe, seed):
    maker = Maker(probe, seed)
    session = SQLiteSession(f"zoo {seed}") if maker.random.random() < 0.3 else None
    results = []
    async with watched(probe):
        for _ in range(maker.random.randint(1, 4)):
            kind = maker.random.choice(("one", "one", "parallel", "stream"))
            agents = [maker.agent(2) for _ in range(3 if kind == "parallel" else 1)]
            question = maker.random.choice(("The question.", "Another question.", "The question."))
            config = RunConfig(nest_handoff_history=maker.random.random() < 0.2)
            if kind == "stream":
                stream = Runner.run_streamed(agents[0], question, max_turns=30, run_config=config)
                results.append(await maker.lab.consume(stream))
            elif kind == "one":
                results.append(
                    await Runner.run(
                        agents[0], question, max_turns=30, session=session, hooks=Hooks(probe), run_config=config
                    )
                )
            else:
                results += await asyncio.gather(*(Runner.run(agent, question, max_turns=30) for agent in agents))
            maker.lab.record(results[-1])
    if session is not None:
        probe.saw(await session.get_items())
        session.close()
    return [result.final_output for result in results]


def _register(seed):
    @healthy(f"openai_agents_random_{seed:02}", ordered=False)
    async def made_at_random(probe):
        return await run_at_random(probe, seed)


for _seed in SEEDS:
    _register(_seed)
