"""Healthy systems at the edges of the SDK: unusual names, hooks and runners, and when objects are freed."""

import asyncio
import gc
import warnings
import weakref
from typing import Any

from agents import Agent, RunHooks, Runner, function_tool, handoff
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from agents.testing import function_call
from pydantic import BaseModel
from zoo import healthy

from openai_agents.attach import Hooks, Lab, watched


class Count(BaseModel):
    n: int


class KeywordHooks(RunHooks):
    """The SDK calls `on_handoff` by keyword, so a program may declare keyword-only parameters."""

    def __init__(self, probe):
        self.probe = probe

    async def on_handoff(self, *, to_agent, from_agent, **rest):
        self.probe.saw([from_agent.name, to_agent.name, sorted(rest)])


@healthy("openai_agents_names_that_are_not_identifiers")
async def names_that_are_no_identifiers(probe):
    lab = Lab(probe)
    invoices = lab.agent("Agente de facturación", lab.say("Hecho."))
    refunds = lab.agent("Refunds & Returns (EU)", lab.hand("agente_de_facturaci_n"), handoffs=[invoices])
    desk = lab.agent("FAQ-Desk", lab.hand("refunds___returns__eu_"), handoffs=[refunds, handoff(invoices)])
    async with watched(probe):
        return lab.record(await Runner.run(desk, "Hola", hooks=Hooks(probe)), desk, refunds, invoices).final_output


@healthy("openai_agents_hooks_that_take_keywords_only")
async def hooks_that_take_keywords_only(probe):
    lab = Lab(probe)
    billing = lab.agent("billing", lab.say("Done."))
    desk = lab.agent("desk", lab.hand("billing"), handoffs=[billing])
    async with watched(probe):
        return lab.record(await Runner.run(desk, "Hi", hooks=KeywordHooks(probe)), desk, billing).final_output


@healthy("openai_agents_agents_that_the_sdk_refuses")
async def agents_that_the_sdk_refuses(probe):
    lab = Lab(probe)
    clerk = lab.agent("clerk", lab.say("Yes."))
    async with watched(probe):
        for wrong in ("clerk", None, Agent):
            for start in (Runner.run, Runner.run_streamed):
                try:
                    begun = start(wrong, "Hi")
                    await begun if start == Runner.run else [e async for e in begun.stream_events()]
                except Exception as error:
                    lab.error(error)
        return lab.record(await Runner.run(clerk, "Hi"), clerk).final_output


@healthy("openai_agents_typed_output_that_warns_when_it_is_serialized")
async def typed_output_that_warns(probe):
    lab = Lab(probe)

    @function_tool
    def look_up() -> Any:
        return Count.model_construct(n="many")

    agent = lab.agent(
        "clerk", [lab.use("look_up")], tools=[look_up], tool_use_behavior="stop_on_first_tool", output_type=Count
    )
    async with watched(probe):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = await Runner.run(agent, "How many?")
            await Runner.run(lab.agent("next", lab.say("Thanks.")), "So many.")
        probe.saw([str(warning.message) for warning in caught])
        return result.final_output.n


@healthy("openai_agents_errors_and_results_are_freed")
async def held_objects_are_freed(probe):
    lab = Lab(probe)
    held = []

    class Connection:
        pass

    @function_tool(failure_error_function=None)
    def query() -> str:
        connection = Connection()
        held.append(weakref.ref(connection))
        raise ValueError("down")

    clerk = lab.agent("clerk", [lab.use("query")], lab.say("Later."), tools=[query])
    async with watched(probe):
        try:
            await Runner.run(clerk, "Ask.")
        except Exception as error:
            lab.error(error)
        for start in ("run", "stream"):
            helper = lab.agent("helper", lab.say("Done."))
            result = await Runner.run(helper, "Hi") if start == "run" else Runner.run_streamed(helper, "Hi")
            if start == "stream":
                await lab.consume(result, helper)
            held += [weakref.ref(helper), weakref.ref(result)]
            del helper, result
            await asyncio.sleep(0)
        gc.collect()
        probe.saw([ref() is None for ref in held])
        return (await Runner.run(clerk, "And now?")).final_output


@healthy("openai_agents_runner_of_the_program")
async def runner_of_the_program(probe):
    lab = Lab(probe)

    class Own(AgentRunner):
        def run_sync(self, *args, **options):
            probe.saw("run_sync of the program")
            return super().run_sync(*args, **options)

    before, own = get_default_agent_runner(), Own()
    set_default_agent_runner(own)
    try:
        async with watched(probe):
            clerk = lab.agent("clerk", lab.say("1"), lab.say("2"))
            lab.record(await Runner.run(clerk, "Hi"), clerk)
            lab.record(await asyncio.to_thread(Runner.run_sync, clerk, "Hi"), clerk)
        return get_default_agent_runner() is own
    finally:
        set_default_agent_runner(before)


@healthy("openai_agents_a_digd_run_for_each_request", ordered=False)
async def a_digd_run_for_each_request(probe):
    lab = Lab(probe)

    async def handle(number):
        helper = lab.agent(f"helper {number}", lab.say("Checked."))
        billing = lab.agent("billing", lab.say(f"Done {number}."))
        check = helper.as_tool("check", "checks")
        use = function_call("check", '{"input": "It."}', call_id=f"c{number}")
        desk = lab.agent("desk", [use], lab.hand("billing"), handoffs=[billing], tools=[check])
        async with watched(probe):
            return (await Runner.run(desk, f"Request {number}", context={"number": number})).final_output

    return await asyncio.gather(*(handle(number) for number in range(8)))
