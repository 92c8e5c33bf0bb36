"""Healthy systems whose output is streamed."""

import asyncio

from agents import (
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    Runner,
    SQLiteSession,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agents.testing import ModelStep
from zoo import healthy

from openai_agents.attach import Hooks, Lab, attached, run_of, watched


@healthy("openai_agents_stream")
async def stream(probe):
    lab = Lab(probe)

    @function_tool
    def count() -> int:
        return 5

    agent = lab.agent("joker", [lab.use("count")], lab.say("Five jokes."), tools=[count])
    async with watched(probe):
        return (await lab.consume(Runner.run_streamed(agent, "Tell jokes.", hooks=Hooks(probe)), agent)).final_output


@healthy("openai_agents_stream_with_a_handoff")
async def stream_with_a_handoff(probe):
    lab = Lab(probe)
    billing = lab.agent("billing", lab.say("It is right."))
    desk = lab.agent("triage", lab.hand("billing"), handoffs=[billing])
    async with watched(probe):
        result = await lab.consume(Runner.run_streamed(desk, "Is it right?"), desk, billing)
    assert result.last_agent is billing


@healthy("openai_agents_stream_consumed_after_the_attachment")
async def stream_consumed_after_the_attachment(probe):
    lab = Lab(probe)
    helper = lab.agent("helper", lab.say("7"))
    agent = lab.agent(
        "agent", [lab.use("ask", input="How many?")], lab.say("Seven."), tools=[helper.as_tool("ask", "helps")]
    )
    async with run_of(probe) as run:
        with attached(probe, run):
            result = Runner.run_streamed(agent, "How many?")
        return (await lab.consume(result, agent)).final_output


@healthy("openai_agents_streams_with_a_session")
async def streams_with_a_session(probe):
    lab = Lab(probe)
    agent, session = lab.agent("agent", lab.say("One."), lab.say("Two.")), SQLiteSession("zoo")
    async with watched(probe):
        for text in ("Count.", "Go on."):
            await lab.consume(Runner.run_streamed(agent, text, session=session), agent)
    probe.saw(await session.get_items())
    session.close()


@healthy("openai_agents_stream_that_is_cancelled")
async def stream_that_is_cancelled(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("A long text."))
    async with watched(probe):
        result = Runner.run_streamed(agent, "Write.")
        async for event in result.stream_events():
            probe.saw(event.type)
            result.cancel()
        return result.final_output


@healthy("openai_agents_streams_in_parallel", ordered=False)
async def streams_in_parallel(probe):
    lab = Lab(probe)
    agents = [lab.agent(name, lab.say(name)) for name in ("ann", "bob")]
    async with watched(probe):
        consumed = (lab.consume(Runner.run_streamed(agent, "Go."), agent) for agent in agents)
        return [result.final_output for result in await asyncio.gather(*consumed)]


@healthy("openai_agents_streamed_agent_tool")
async def streamed_agent_tool(probe):
    lab = Lab(probe)

    async def look_on(event):
        probe.call("look on")

    inner = lab.agent("inner", lab.say("8"))
    boss = lab.agent(
        "boss",
        [lab.use("ask", input="How many?")],
        lab.say("Eight."),
        tools=[inner.as_tool("ask", "answers", on_stream=look_on)],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Count."), boss).final_output


@healthy("openai_agents_stream_with_an_approval")
async def stream_with_an_approval(probe):
    lab = Lab(probe)

    @function_tool(needs_approval=True)
    def pay() -> str:
        probe.call("pay")
        return "paid"

    agent = lab.agent("clerk", [lab.use("pay")], lab.say("Paid."), tools=[pay])
    async with watched(probe):
        result = await lab.consume(Runner.run_streamed(agent, "Pay."), agent)
        state = result.to_state()
        state.approve(result.interruptions[0])
        return (await lab.consume(Runner.run_streamed(agent, state), agent)).final_output


@healthy("openai_agents_generator_that_streams_to_a_client")
async def generator_that_streams(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("To the client."))

    async def respond():
        async with watched(probe):
            async for event in Runner.run_streamed(agent, "Answer.").stream_events():
                yield event.type

    events = respond()
    while True:  # each step has its own context, as in web frameworks
        try:
            probe.saw(await asyncio.create_task(anext(events)))
        except StopAsyncIteration:
            return "sent"


@healthy("openai_agents_stream_that_the_program_leaves_early")
async def stream_that_the_program_leaves_early(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("A long text."))
    async with watched(probe):
        result = Runner.run_streamed(agent, "Write.")
        async for event in result.stream_events():
            probe.saw(event.type)
            break
        await result.run_loop_task
    return result.final_output


@healthy("openai_agents_stream_that_fails_and_is_followed_by_a_run")
async def stream_that_fails(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", ModelStep.raise_error(ConnectionError("down")), lab.say("Here."))
    async with watched(probe):
        try:
            await lab.consume(Runner.run_streamed(agent, "Write."), agent)
        except ConnectionError as error:
            lab.error(error)
        return lab.record(await Runner.run(agent, "Write."), agent).final_output


@healthy("openai_agents_stream_whose_output_guardrail_trips")
async def stream_whose_output_guardrail_trips(probe):
    lab = Lab(probe)

    @output_guardrail
    async def never(context, agent, output):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = lab.agent("agent", lab.say("Secret."), output_guardrails=[never])
    async with watched(probe):
        try:
            await lab.consume(Runner.run_streamed(agent, "Tell me."), agent)
        except OutputGuardrailTripwireTriggered as error:
            lab.error(error)
            return "withheld"


@healthy("openai_agents_stream_beside_a_guardrail_that_trips")
async def stream_beside_a_guardrail_that_trips(probe):
    lab = Lab(probe)

    @input_guardrail
    async def never(context, agent, input):
        for _ in range(20):  # the SDK calls the model meanwhile
            await asyncio.sleep(0)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = lab.agent("agent", lab.say("Too late."), input_guardrails=[never])
    async with watched(probe):
        try:
            await lab.consume(Runner.run_streamed(agent, "Tell me."), agent)
        except InputGuardrailTripwireTriggered as error:
            lab.error(error)
            return "refused"
