"""Broken systems: one for each rule. In `enforce` the agent reads the text and the run ends better."""

import json

from agents import MaxTurnsExceeded, RunConfig, Runner, function_tool
from agents.testing import ModelStep
from zoo import broken

from openai_agents.attach import NOTE, Lab, watched

WINDOW_MS = 50


def read(agent):
    """The monitor's texts in the latest input of an agent's model."""
    texts = [json.dumps(item, default=str) for item in agent.model.calls[-1].input]
    return " ".join(text for text in texts if NOTE in text)


def check(probe, agent, text):
    """Checks that the agent reads the monitor's text in `enforce` only."""
    assert (text in read(agent)) == (probe.mode == "enforce"), read(agent)


def unless_noted(lab, first, second):
    """A model step that returns `second` if the monitor's text is in its input, else `first`."""

    def respond(call):
        return second if NOTE in json.dumps(list(call.input), default=str) else first

    return ModelStep.respond(respond)


@broken("openai_agents_answer_while_a_request_is_open", "early_termination")
async def answer_while_a_request_is_open(probe):
    lab = Lab(probe)
    researcher = lab.agent("researcher", ModelStep.raise_error(ConnectionError("down")), lab.say("42 sources"))
    writer = lab.agent(
        "writer",
        [lab.use("research", input="Find sources.")],
        lab.say("A report without sources."),
        [lab.use("research", input="Find sources.")],
        lab.say("A report with 42 sources."),
        tools=[researcher.as_tool("research", "finds")],
    )
    async with watched(probe):
        result = lab.record(await Runner.run(writer, "Write a report."), writer)
    check(probe, writer, "was not accepted yet")
    assert ("42" in result.final_output) == (probe.mode == "enforce")


@broken("openai_agents_early_answer_in_the_second_step", "early_termination")
async def early_answer_in_the_second_step(probe):
    lab = Lab(probe)
    outline = lab.agent("outline", lab.say("An outline."))
    researcher = lab.agent("researcher", ModelStep.raise_error(ConnectionError("down")), lab.say("42 sources"))
    writer = lab.agent(
        "writer",
        [lab.use("research", input="Find sources.")],
        lab.say("A report without sources."),
        [lab.use("research", input="Find sources.")],
        lab.say("A report with 42 sources."),
        tools=[researcher.as_tool("research", "finds")],
    )
    async with watched(probe):
        first = await Runner.run(outline, "Outline a report.")
        result = lab.record(await Runner.run(writer, first.final_output), writer)
    check(probe, writer, "was not accepted yet")
    assert ("42" in result.final_output) == (probe.mode == "enforce")


@broken("openai_agents_handoff_to_an_agent_that_does_not_exist", "orphaned_event", agents=["triage", "billing"])
async def handoff_to_nobody(probe):
    lab = Lab(probe)
    billing = lab.agent("billing", lab.say("Your invoice is right."))
    desk = lab.agent(
        "triage",
        lab.hand("refunds"),
        unless_noted(lab, lab.say("I cannot help."), lab.hand("billing")),
        handoffs=[billing],
    )
    config = RunConfig(tool_not_found_behavior="return_error_to_model")
    async with watched(probe):
        result = lab.record(await Runner.run(desk, "My invoice is wrong.", run_config=config), desk, billing)
    check(probe, desk, "reached nobody")
    assert (result.last_agent is billing) == (probe.mode == "enforce")


@broken("openai_agents_task_that_is_only_passed_around", "excessive_rerouting")
async def task_that_is_only_passed_around(probe):
    lab = Lab(probe)
    first, second = lab.agent("first"), lab.agent("second")
    first.handoffs, second.handoffs = [second], [first]
    for agent, other in ((first, "second"), (second, "first")):
        agent.model.extend([unless_noted(lab, lab.hand(other), lab.say("Then I do it.")) for _ in range(6)])
    async with watched(probe):
        try:
            output = lab.record(await Runner.run(first, "Who does this?", max_turns=8), first, second).final_output
        except MaxTurnsExceeded:
            output = None
    assert output == ("Then I do it." if probe.mode == "enforce" else None)


def _planner(lab, name):
    helpers = [lab.agent(f"{name}_{i}", lab.say(f"part {i} of {name}")) for i in (1, 2)]
    return lab.agent(
        name,
        [lab.use(f"ask_{h.name}", input=f"Do {h.name}.") for h in helpers],
        lab.say(f"plan of {name}"),
        tools=[h.as_tool(f"ask_{h.name}", "helps") for h in helpers],
    )


@broken("openai_agents_two_plans_meet_at_one_agent", "cross_lineage_aggregation")
async def two_plans_meet_at_one_agent(probe):
    lab = Lab(probe)
    planners = [_planner(lab, name) for name in ("ann", "bob")]
    editor = lab.agent(
        "editor", unless_noted(lab, lab.say("One plan of parts that clash."), lab.say("Both plans, apart."))
    )
    async with watched(probe) as team:
        if team is None:
            texts = [(await Runner.run(p, f"{p.name}, plan it.")).final_output for p in planners]
            result = await Runner.run(editor, "\n\n".join(texts))
        else:
            plans = [await team.work(p, f"{p.name}, plan it.", to=["editor"]) for p in planners]
            result = await team.final(editor, plans)
    check(probe, editor, "of another decomposition")
    assert (result.final_output == "Both plans, apart.") == (probe.mode == "enforce")


@broken("openai_agents_one_task_is_done_twice", "repeated_subproblem")
async def one_task_is_done_twice(probe):
    lab = Lab(probe)
    counters = [lab.agent("ann", lab.say("3")), lab.agent("bob", lab.say("4"))]
    editor = lab.agent("editor", unless_noted(lab, lab.say("7"), lab.say("3 or 4, of the same items")))
    async with watched(probe) as team:
        if team is None:
            texts = [(await Runner.run(c, "Count the items.")).final_output for c in counters]
            result = await Runner.run(editor, "\n\n".join(texts))
        else:
            task = await team.task("Count the items.", to=["ann", "bob"])
            counts = [await team.work(c, task, to=["editor"]) for c in counters]
            result = await team.final(editor, counts)
    check(probe, editor, "Do not count both results")
    assert (result.final_output == "7") == (probe.mode != "enforce")


@broken(
    "openai_agents_empty_answer_that_the_user_wants_healed",
    "missing_termination",
    wait_for_healing_ms=20000,
    rules={"missing_termination": {"window_ms": WINDOW_MS}},
)
async def empty_answer_that_the_user_wants_healed(probe):
    lab = Lab(probe)
    writer = lab.agent("writer", lab.say(""), lab.say("The report."))
    async with watched(probe):
        result = lab.record(await Runner.run(writer, "Write a report."), writer)
    assert result.final_output == ("The report." if probe.mode == "enforce" else "")


@broken(
    "openai_agents_run_that_broke_off_and_the_user_wants_healed",
    "deadlock",
    wait_for_healing_ms=20000,
    heal_errors=True,
    rules={"deadlock": {"window_ms": WINDOW_MS}},
)
async def run_that_broke_off(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        probe.call("look")
        return "nothing yet"

    clerk = lab.agent("clerk", [lab.use("look")], [lab.use("look")], lab.say("There is nothing."), tools=[look])
    async with watched(probe):
        result = await Runner.run(clerk, "Look until it is there.", max_turns=2)
    check(probe, clerk, "Nobody is working")
    return result.final_output
