"""Healthy programs that call the runner several times in one digd run."""

import asyncio
import collections

from agents import Runner
from agents.testing import ModelStep
from pydantic import BaseModel
from zoo import healthy

from openai_agents.attach import Lab, attached, run_of, watched


class Check(BaseModel):
    good: bool
    reason: str


@healthy("openai_agents_deterministic_flow")
async def deterministic_flow(probe):
    lab = Lab(probe)
    outline = lab.agent("outline", lab.say("An outline."))
    checker = lab.agent("checker", lab.say('{"good": true, "reason": "clear"}'), output_type=Check)
    story = lab.agent("story", lab.say("A story."))
    async with watched(probe):
        first = lab.record(await Runner.run(outline, "A story about a lamp."), outline)
        check = lab.record(await Runner.run(checker, first.final_output), checker)
        if not check.final_output.good:
            return "stopped"
        return lab.record(await Runner.run(story, first.final_output), story).final_output


@healthy("openai_agents_flow_that_stops_at_its_gate")
async def flow_that_stops_at_its_gate(probe):
    lab = Lab(probe)
    outline = lab.agent("outline", lab.say("An outline."))
    checker = lab.agent("checker", lab.say('{"good": false, "reason": "dull"}'), output_type=Check)
    async with watched(probe):
        first = lab.record(await Runner.run(outline, "A story."), outline)
        check = lab.record(await Runner.run(checker, first.final_output), checker)
        return check.final_output.reason


@healthy("openai_agents_self_consistency_votes", ordered=False)
async def self_consistency_votes(probe):
    lab = Lab(probe)
    solver = lab.agent("solver", *(lab.say(text) for text in ("7", "8", "7", "7", "9")))
    async with watched(probe):
        results = await asyncio.gather(*(Runner.run(solver, "What is 3 + 4?") for _ in range(5)))
        votes = collections.Counter(lab.record(result, solver).final_output for result in results)
        return votes.most_common(1)


@healthy("openai_agents_votes_one_after_the_other")
async def votes_one_after_the_other(probe):
    lab = Lab(probe)
    solver = lab.agent("solver", *(lab.say(text) for text in ("7", "8", "7")))
    async with watched(probe):
        return [lab.record(await Runner.run(solver, "What is 3 + 4?"), solver).final_output for _ in range(3)]


@healthy("openai_agents_parallel_runs_and_a_picker", ordered=False)
async def parallel_runs_and_a_picker(probe):
    lab = Lab(probe)
    translators = [lab.agent(name, lab.say(f"Hola ({name})")) for name in ("ann", "bob", "cid")]
    picker = lab.agent("picker", lab.say("Hola (bob)"))
    async with watched(probe):
        results = await asyncio.gather(*(Runner.run(t, "Hello") for t in translators))
        texts = "\n".join(result.final_output for result in results)
        return lab.record(await Runner.run(picker, f"Pick one:\n{texts}"), picker).final_output


@healthy("openai_agents_parallel_planners_with_tools_and_an_editor", ordered=False)
async def parallel_planners(probe):
    lab = Lab(probe)

    def planner(name):
        helpers = [lab.agent(f"{name}_{i}", lab.say(f"part {i}")) for i in (1, 2)]
        return lab.agent(
            name,
            [lab.use(f"ask_{h.name}", input="Do it.") for h in helpers],
            lab.say(f"plan of {name}"),
            tools=[h.as_tool(f"ask_{h.name}", "helps") for h in helpers],
        )

    planners, editor = [planner("ann"), planner("bob")], lab.agent("editor", lab.say("One plan."))
    async with watched(probe):
        plans = await asyncio.gather(*(Runner.run(p, "Plan it.") for p in planners))
        return lab.record(await Runner.run(editor, "\n".join(p.final_output for p in plans)), editor).final_output


@healthy("openai_agents_judge_in_a_loop")
async def judge_in_a_loop(probe):
    lab = Lab(probe)
    writer = lab.agent("writer", *(lab.say(f"draft {i}") for i in range(4)))
    grades = ['{"good": false, "reason": "short"}'] * 3 + ['{"good": true, "reason": "fine"}']
    judge = lab.agent("judge", *(lab.say(grade) for grade in grades), output_type=Check)
    items = [{"role": "user", "content": "Write an outline."}]
    async with watched(probe):
        while True:
            draft = lab.record(await Runner.run(writer, items), writer)
            items = draft.to_input_list()
            verdict = lab.record(await Runner.run(judge, items), judge).final_output
            if verdict.good:
                return draft.final_output
            items.append({"role": "user", "content": f"Feedback: {verdict.reason}"})


@healthy("openai_agents_router_by_structured_output")
async def router(probe):
    lab = Lab(probe)

    class Route(BaseModel):
        agent: str

    route = lab.agent("router", lab.say('{"agent": "french"}'), output_type=Route)
    agents = {name: lab.agent(name, lab.say(f"{name} speaking")) for name in ("spanish", "french")}
    async with watched(probe):
        chosen = lab.record(await Runner.run(route, "Parlez-vous?"), route).final_output.agent
        return lab.record(await Runner.run(agents[chosen], "Parlez-vous?"), *agents.values()).final_output


@healthy("openai_agents_several_attachments_in_one_run")
async def several_attachments(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", *(lab.say(f"answer {i}") for i in range(3)))
    async with run_of(probe) as run:
        for i in range(3):
            with attached(probe, run):
                lab.record(await Runner.run(agent, f"question {i}"), agent)


@healthy("openai_agents_nested_attachments")
async def nested_attachments(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("inside"), lab.say("outside"))
    async with watched(probe):
        async with watched(probe):
            lab.record(await Runner.run(agent, "One."), agent)
        return lab.record(await Runner.run(agent, "Two."), agent).final_output


@healthy("openai_agents_first_answer_wins", ordered=False)
async def first_answer_wins(probe):
    lab = Lab(probe)
    never = asyncio.Event()

    async def wait_forever(call):
        await never.wait()

    fast, slow = lab.agent("fast", lab.say("First.")), lab.agent("slow", ModelStep.respond(wait_forever))
    async with watched(probe):
        tasks = [asyncio.create_task(Runner.run(agent, "Race.")) for agent in (fast, slow)]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        return [task.result().final_output for task in done]


@healthy("openai_agents_some_parallel_runs_fail", ordered=False)
async def some_parallel_runs_fail(probe):
    lab = Lab(probe)
    agents = [
        lab.agent("ann", lab.say("a")),
        lab.agent("bob", ModelStep.raise_error(ConnectionError("down"))),
        lab.agent("cid", lab.say("c")),
    ]
    async with watched(probe):
        results = await asyncio.gather(*(Runner.run(a, "Go.") for a in agents), return_exceptions=True)
        return [r.final_output if not isinstance(r, BaseException) else repr(r) for r in results]


@healthy("openai_agents_pipeline_over_a_queue", ordered=False)
async def pipeline_over_a_queue(probe):
    lab = Lab(probe)
    maker, checker = lab.agent("maker", *(lab.say(f"part {i}") for i in range(4))), lab.agent(
        "checker", *[lab.say("ok")] * 4
    )
    queue = asyncio.Queue(1)

    async def make():
        for i in range(4):
            await queue.put((await Runner.run(maker, f"Make part {i}.")).final_output)
        await queue.put(None)

    async def check():
        checked = []
        while (part := await queue.get()) is not None:
            checked.append((await Runner.run(checker, part)).final_output)
        return checked

    async with watched(probe):
        return (await asyncio.gather(make(), check()))[1]


@healthy("openai_agents_bench_of_agents_over_one_question_each")
async def bench(probe):
    lab = Lab(probe)
    agents = [lab.agent(f"agent {i}", lab.say(f"answer {i}")) for i in range(8)]
    async with watched(probe):
        return [lab.record(await Runner.run(agent, "The same question."), agent).final_output for agent in agents]
