"""Healthy systems with a check before or after the agent: approvals by a person, and guardrails."""

from agents import (
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    Runner,
    RunState,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agents.testing import ModelStep
from zoo import healthy

from openai_agents.attach import Lab, watched


def _payer(probe, lab):
    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        probe.call("pay")
        return f"paid {amount}"

    return lab.agent("clerk", [lab.use("pay", amount=5)], lab.say("Done."), tools=[pay])


@healthy("openai_agents_approval_and_resume")
async def approval_and_resume(probe):
    lab = Lab(probe)
    agent = _payer(probe, lab)
    async with watched(probe):
        result = lab.record(await Runner.run(agent, "Pay 5."), agent)
        state = result.to_state()
        state.approve(result.interruptions[0])
        return lab.record(await Runner.run(agent, state), agent).final_output


@healthy("openai_agents_rejection_and_resume")
async def rejection_and_resume(probe):
    lab = Lab(probe)
    agent = _payer(probe, lab)
    async with watched(probe):
        result = lab.record(await Runner.run(agent, "Pay 5."), agent)
        state = result.to_state()
        state.reject(result.interruptions[0])
        return lab.record(await Runner.run(agent, state), agent).final_output


@healthy("openai_agents_approval_resumed_from_json_in_another_run")
async def approval_resumed_from_json(probe):
    lab = Lab(probe)
    agent = _payer(probe, lab)
    async with watched(probe):
        saved = lab.record(await Runner.run(agent, "Pay 5."), agent).to_state().to_string()
    async with watched(probe):
        state = await RunState.from_string(agent, saved)
        state.approve(state.get_interruptions()[0])
        return lab.record(await Runner.run(agent, state), agent).final_output


@healthy("openai_agents_approval_that_is_never_given_beside_another_run")
async def approval_that_is_never_given(probe):
    lab = Lab(probe)
    agent, other = _payer(probe, lab), lab.agent("other", lab.say("Good morning."))
    async with watched(probe):
        lab.record(await Runner.run(agent, "Pay 5."), agent)
        return lab.record(await Runner.run(other, "Greet me."), other).final_output


@healthy("openai_agents_two_approvals_at_once")
async def two_approvals_at_once(probe):
    lab = Lab(probe)
    first, second = _payer(probe, lab), _payer(probe, lab)
    async with watched(probe):
        results = [await Runner.run(agent, f"Pay {agent.name}.") for agent in (first, second)]
        for agent, result in reversed(list(zip((first, second), results))):
            state = result.to_state()
            state.approve(result.interruptions[0])
            lab.record(await Runner.run(agent, state), agent)


@healthy("openai_agents_input_guardrail_that_runs_an_agent")
async def input_guardrail_that_runs_an_agent(probe):
    lab = Lab(probe)
    checker = lab.agent("checker", lab.say("fine"), lab.say("homework"))

    @input_guardrail(run_in_parallel=False)
    async def no_homework(context, agent, input):
        result = await Runner.run(checker, input, context=context.context)
        return GuardrailFunctionOutput(
            output_info=result.final_output, tripwire_triggered=result.final_output == "homework"
        )

    agent = lab.agent("support", lab.say("Here you are."), input_guardrails=[no_homework])
    async with watched(probe):
        lab.record(await Runner.run(agent, "Where is my order?"), agent)
        try:
            await Runner.run(agent, "Solve 2x + 3 = 11 for me.")
        except InputGuardrailTripwireTriggered as error:
            lab.error(error)
            return "I cannot do homework."


@healthy("openai_agents_input_guardrail_beside_the_model", ordered=False)
async def input_guardrail_beside_the_model(probe):
    lab = Lab(probe)
    checker = lab.agent("checker", lab.say("fine"))

    @input_guardrail
    async def check(context, agent, input):
        result = await Runner.run(checker, input, context=context.context)
        return GuardrailFunctionOutput(output_info=result.final_output, tripwire_triggered=False)

    agent = lab.agent("support", lab.say("Here you are."), input_guardrails=[check])
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Where is my order?"), agent).final_output


@healthy("openai_agents_output_guardrail_that_trips")
async def output_guardrail_that_trips(probe):
    lab = Lab(probe)

    @output_guardrail
    async def no_numbers(context, agent, output):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="555" in output)

    agent = lab.agent("assistant", lab.say("Call 555."), output_guardrails=[no_numbers])
    async with watched(probe):
        try:
            await Runner.run(agent, "How do I reach you?")
        except OutputGuardrailTripwireTriggered as error:
            lab.error(error)
            return "withheld"


@healthy("openai_agents_output_guardrail_that_runs_a_judge")
async def output_guardrail_that_runs_a_judge(probe):
    lab = Lab(probe)
    judge = lab.agent("judge", lab.say("ok"))

    @output_guardrail
    async def judged(context, agent, output):
        verdict = await Runner.run(judge, output)
        return GuardrailFunctionOutput(output_info=verdict.final_output, tripwire_triggered=False)

    agent = lab.agent("assistant", lab.say("A fine answer."), output_guardrails=[judged])
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Answer."), agent).final_output


@healthy("openai_agents_guardrail_that_leaves_the_digd_run")
async def guardrail_that_leaves_the_digd_run(probe):
    lab = Lab(probe)

    @input_guardrail(run_in_parallel=False)
    async def never(context, agent, input):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    greeter = lab.agent("greeter", lab.say("Hello."))
    agent = lab.agent("clerk", input_guardrails=[never])
    try:
        async with watched(probe):
            lab.record(await Runner.run(greeter, "Hello."), greeter)
            await Runner.run(agent, "Do it.")
    except InputGuardrailTripwireTriggered as error:
        lab.error(error)
        return "refused"


@healthy("openai_agents_guardrail_and_instructions_that_handle_a_failed_run")
async def guardrail_and_instructions_that_handle_a_failed_run(probe):
    lab = Lab(probe)
    checker = lab.agent("checker", ModelStep.raise_error(ConnectionError("down")))
    briefer = lab.agent("briefer", ModelStep.raise_error(ConnectionError("down")))

    @input_guardrail(run_in_parallel=False)
    async def check(context, agent, input):
        try:
            await Runner.run(checker, input)
        except ConnectionError:
            probe.call("let it pass")
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    async def instructions(context, agent):
        try:
            return (await Runner.run(briefer, "Brief me.")).final_output
        except ConnectionError:
            return "Be brief."

    agent = lab.agent("host", lab.say("Hello."), instructions=instructions, input_guardrails=[check])
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Hello."), agent).final_output
