"""Healthy systems with hand-offs."""

from agents import RunConfig, Runner, function_tool, handoff
from agents.extensions import handoff_filters
from pydantic import BaseModel
from zoo import healthy

from openai_agents.attach import Lab, SingleAgentHooks, watched


class Reason(BaseModel):
    reason: str


@healthy("openai_agents_triage")
async def triage(probe):
    lab = Lab(probe)
    billing = lab.agent("billing", lab.say("Your invoice is right."))
    refunds = lab.agent("refunds")
    desk = lab.agent("triage", lab.hand("billing"), handoffs=[billing, refunds])
    async with watched(probe):
        result = lab.record(await Runner.run(desk, "My invoice is wrong."), desk, billing, refunds)
    assert result.last_agent is billing
    return result.final_output


@healthy("openai_agents_handoff_chain_of_six")
async def handoff_chain(probe):
    lab = Lab(probe)
    agents = [lab.agent("level_6", lab.say("Solved."))]
    for level in range(5, 0, -1):
        agents.append(lab.agent(f"level_{level}", lab.hand(f"level_{level + 1}"), handoffs=[agents[-1]]))
    async with watched(probe):
        return lab.record(await Runner.run(agents[-1], "Escalate as you must."), *agents).final_output


@healthy("openai_agents_triage_takes_back_and_hands_on")
async def triage_takes_back(probe):
    lab = Lab(probe)
    desk = lab.agent("triage", lab.hand("billing"), lab.hand("tech"), lab.hand("sales"))
    sales = lab.agent("sales", lab.say("I can help."))
    others = [lab.agent(name, lab.hand("triage"), handoffs=[desk]) for name in ("billing", "tech")]
    desk.handoffs = [*others, sales]
    async with watched(probe):
        return lab.record(await Runner.run(desk, "Who can help?"), desk, sales, *others).final_output


@healthy("openai_agents_writer_and_editor_back_and_forth_with_work")
async def back_and_forth_with_work(probe):
    lab = Lab(probe)

    @function_tool
    def write(text: str) -> str:
        probe.call("write")
        return text

    writer, editor = lab.agent("writer", tools=[write]), lab.agent("editor", tools=[write])
    writer.handoffs, editor.handoffs = [editor], [writer]
    for draft in range(5):
        writer.model.extend([[lab.use("write", text=f"draft {draft}")], lab.hand("editor")])
        editor.model.extend([[lab.use("write", text=f"remarks {draft}")], lab.hand("writer")])
    writer.model.enqueue(lab.say("The text."))
    async with watched(probe):
        return lab.record(await Runner.run(writer, "Write it.", max_turns=50), writer, editor).final_output


@healthy("openai_agents_handoff_with_arguments_and_a_callback")
async def handoff_with_arguments(probe):
    lab = Lab(probe)

    async def escalated(context, reason: Reason):
        probe.saw(["escalated", reason.reason])

    boss = lab.agent("boss", lab.say("I take over."))
    clerk = lab.agent(
        "clerk", lab.hand("boss", reason="too hard"), handoffs=[handoff(boss, input_type=Reason, on_handoff=escalated)]
    )
    before = list(clerk.handoffs)
    async with watched(probe):
        result = lab.record(await Runner.run(clerk, "Help me."), clerk, boss)
    assert clerk.handoffs == before and clerk.handoffs[0] is before[0]
    return result.final_output


@healthy("openai_agents_handoff_with_input_filters")
async def handoff_with_input_filters(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "seen"

    def last_only(data):
        probe.saw(["filter", len(data.new_items)])
        return data.clone(
            input_history=(data.input_history if isinstance(data.input_history, str) else data.input_history[-1:])
        )

    third = lab.agent("third", lab.say("Hola."))
    second = lab.agent("second", lab.hand("third"), handoffs=[third])
    first = lab.agent(
        "first",
        [lab.use("look")],
        lab.hand("second"),
        tools=[look],
        handoffs=[handoff(second, input_filter=handoff_filters.remove_all_tools)],
    )
    async with watched(probe):
        result = await Runner.run(first, "Speak Spanish.", run_config=RunConfig(handoff_input_filter=last_only))
        return lab.record(result, first, second, third).final_output


@healthy("openai_agents_handoff_with_nested_history")
async def handoff_with_nested_history(probe):
    lab = Lab(probe)
    second = lab.agent("second", lab.say("Summed up."))
    first = lab.agent("first", lab.hand("second"), handoffs=[second])
    async with watched(probe):
        result = await Runner.run(first, "Sum it up.", run_config=RunConfig(nest_handoff_history=True))
        return lab.record(result, first, second).final_output


@healthy("openai_agents_several_handoffs_in_one_turn")
async def several_handoffs_in_one_turn(probe):
    lab = Lab(probe)
    billing, refunds = lab.agent("billing", lab.say("Right.")), lab.agent("refunds")
    desk = lab.agent("triage", [*lab.hand("billing"), *lab.hand("refunds")], handoffs=[billing, refunds])
    async with watched(probe):
        return lab.record(await Runner.run(desk, "Invoice or refund?"), desk, billing, refunds).final_output


@healthy("openai_agents_human_handoff")
async def human_handoff(probe):
    lab = Lab(probe)
    replies = iter(["Order 7.", "Yes, please."])

    @function_tool
    def ask_human(question: str) -> str:
        probe.call("human")
        return next(replies)

    human_desk = lab.agent(
        "human desk",
        [lab.use("ask_human", question="Which order?")],
        [lab.use("ask_human", question="Refund it?")],
        lab.say("Refunded by hand."),
        tools=[ask_human],
    )
    bot = lab.agent("bot", [lab.use("transfer_to_human_desk")], handoffs=[human_desk])
    async with watched(probe):
        return lab.record(await Runner.run(bot, "I want a person."), bot, human_desk).final_output


@healthy("openai_agents_conversation_goes_on_with_the_last_agent")
async def conversation_goes_on_with_the_last_agent(probe):
    lab = Lab(probe)
    billing = lab.agent("billing", lab.say("Which invoice?"), lab.say("It is right."), lab.hand("triage"))
    desk = lab.agent(
        "triage", lab.hand("billing"), lab.say("Goodbye."), handoffs=[billing], hooks=SingleAgentHooks(probe)
    )
    billing.handoffs = [desk]
    agent, items = desk, []
    async with watched(probe):
        for text in ("My invoice is wrong.", "Number 7.", "Thanks, bye."):
            result = lab.record(await Runner.run(agent, [*items, {"role": "user", "content": text}]), desk, billing)
            agent, items = result.last_agent, result.to_input_list()
    assert agent is desk
    return items


@healthy("openai_agents_agents_of_the_same_name")
async def agents_of_the_same_name(probe):
    lab = Lab(probe)
    second = lab.agent("helper", lab.say("Done by the second."))
    first = lab.agent("helper", lab.hand("helper"), handoffs=[second])
    async with watched(probe):
        result = lab.record(await Runner.run(first, "Help."), second)
    assert result.last_agent is second
    return result.final_output


@healthy("openai_agents_roster_that_misses_agents", agents=["triage"])
async def roster_that_misses_agents(probe):
    lab = Lab(probe)
    helper = lab.agent("helper", lab.say("7"))
    billing = lab.agent(
        "billing",
        [lab.use("ask_helper", input="How much?")],
        lab.say("7 euros."),
        tools=[helper.as_tool("ask_helper", "helps")],
    )
    desk = lab.agent("triage", lab.hand("billing"), handoffs=[billing])
    async with watched(probe):
        return lab.record(await Runner.run(desk, "What is it?"), desk, billing).final_output
