"""Healthy systems of one agent: tools, outputs, limits, sessions, hooks, context."""

import json
from dataclasses import dataclass, field

from agents import (
    Agent,
    MaxTurnsExceeded,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    function_tool,
)
from agents.testing import ModelStep
from pydantic import BaseModel
from zoo import healthy

from openai_agents.attach import Hooks, Lab, SingleAgentHooks, watched, watched_sync


class Weather(BaseModel):
    city: str
    degrees: int


@healthy("openai_agents_single_agent_with_tools")
async def single_agent_with_tools(probe):
    lab = Lab(probe)

    @function_tool
    def weather(city: str) -> str:
        probe.call(f"weather {city}")
        return f"Sunny in {city}"

    agent = lab.agent(
        "guide",
        [lab.use("weather", city="Oslo"), lab.use("weather", city="Rome")],
        lab.say("Sunny in both."),
        tools=[weather],
        instructions="Be brief.",
    )
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Weather in Oslo and Rome?"), agent).final_output


@healthy("openai_agents_tool_results_with_equal_texts")
async def tool_results_with_equal_texts(probe):
    lab = Lab(probe)

    @function_tool
    def poll() -> str:
        return "pending" if probe.call("poll") < 3 else "done"

    agent = lab.agent(
        "poller", [lab.use("poll")], [lab.use("poll")], [lab.use("poll")], lab.say("It is done."), tools=[poll]
    )
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Wait for it."), agent).final_output


@healthy("openai_agents_structured_output")
async def structured_output(probe):
    lab = Lab(probe)
    agent = lab.agent("meter", lab.say('{"city": "Oslo", "degrees": 7}'), output_type=Weather)
    async with watched(probe):
        result = lab.record(await Runner.run(agent, "How warm is it?"), agent)
    assert isinstance(result.final_output, Weather)
    return result.final_output


@healthy("openai_agents_empty_answer")
async def empty_answer(probe):
    lab = Lab(probe)

    @function_tool
    def save() -> str:
        probe.call("save")
        return "saved"

    agent = lab.agent("clerk", [lab.use("save")], lab.say(""), tools=[save])
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Save it, say nothing."), agent).final_output


@healthy("openai_agents_empty_answer_at_once")
async def empty_answer_at_once(probe):
    lab = Lab(probe)
    agent = lab.agent("mute", lab.say(""))
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Anything to add?"), agent).final_output


@healthy("openai_agents_turn_limit_that_the_program_catches")
async def turn_limit_that_the_program_catches(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "nothing yet"

    agent = lab.agent("watcher", [lab.use("look")], [lab.use("look")], [lab.use("look")], tools=[look])
    async with watched(probe):
        try:
            await Runner.run(agent, "Look until it is there.", max_turns=2)
        except MaxTurnsExceeded as error:
            lab.error(error)
            return "Not there within two turns."


@healthy("openai_agents_turn_limit_with_an_error_handler")
async def turn_limit_with_an_error_handler(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "nothing yet"

    agent = lab.agent("watcher", [lab.use("look")], [lab.use("look")], tools=[look])
    async with watched(probe):
        result = await Runner.run(agent, "Look.", max_turns=1, error_handlers={"max_turns": lambda data: "I gave up."})
        return lab.record(result, agent).final_output


@healthy("openai_agents_program_retries_a_failed_run")
async def program_retries_a_failed_run(probe):
    lab = Lab(probe)
    agent = lab.agent(
        "flaky",
        ModelStep.raise_error(ConnectionError("no network")),
        ModelStep.raise_error(ConnectionError("no network")),
        lab.say("Here I am."),
    )
    async with watched(probe):
        for _ in range(3):
            try:
                return lab.record(await Runner.run(agent, "Are you there?"), agent).final_output
            except ConnectionError as error:
                lab.error(error)


@healthy("openai_agents_program_falls_back_to_another_agent")
async def program_falls_back_to_another_agent(probe):
    lab = Lab(probe)
    large = lab.agent("large", ModelStep.raise_error(ConnectionError("overloaded")))
    small = lab.agent("small", lab.say("A short answer."))
    async with watched(probe):
        try:
            result = await Runner.run(large, "Explain it.")
        except ConnectionError as error:
            lab.error(error)
            result = await Runner.run(small, "Explain it.")
        return lab.record(result, large, small).final_output


@healthy("openai_agents_session_over_several_turns")
async def session_over_several_turns(probe):
    lab = Lab(probe)
    agent = lab.agent("assistant", lab.say("San Francisco."), lab.say("California."), lab.say("About 39 million."))
    session = SQLiteSession("zoo")
    async with watched(probe):
        for question in ("Where is the Golden Gate Bridge?", "Which state is it in?", "How many people live there?"):
            lab.record(await Runner.run(agent, question, session=session), agent)
    probe.saw(await session.get_items())
    session.close()


@healthy("openai_agents_conversation_by_input_lists")
async def conversation_by_input_lists(probe):
    lab = Lab(probe)
    agent = lab.agent("assistant", lab.say("Hello."), lab.say("Hello again."), lab.say("Goodbye."))
    items = []
    async with watched(probe):
        for text in ("Hi.", "Hi.", "Bye."):
            result = lab.record(await Runner.run(agent, [*items, {"role": "user", "content": text}]), agent)
            items = result.to_input_list()
    return items


@healthy("openai_agents_hooks_of_the_run_and_of_an_agent")
async def hooks_of_the_run_and_of_an_agent(probe):
    lab = Lab(probe)

    @function_tool
    def add(a: int, b: int) -> int:
        return a + b

    second = lab.agent(
        "second", [lab.use("add", a=1, b=2)], lab.say("Three."), tools=[add], hooks=SingleAgentHooks(probe)
    )
    first = lab.agent("first", lab.hand("second"), handoffs=[second], hooks=SingleAgentHooks(probe))
    async with watched(probe):
        return lab.record(await Runner.run(first, "Add them.", hooks=Hooks(probe)), first, second).final_output


@healthy("openai_agents_hooks_of_a_wrong_type_are_refused_by_the_sdk")
async def hooks_of_a_wrong_type(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("Hello."))
    async with watched(probe):
        try:
            await Runner.run(agent, "Hi.", hooks=SingleAgentHooks(probe))
        except TypeError as error:
            lab.error(error)
        return lab.record(await Runner.run(agent, "Hi."), agent).final_output


@dataclass
class Cart:
    user: str
    items: list = field(default_factory=list)


@healthy("openai_agents_context_object")
async def context_object(probe):
    lab = Lab(probe)

    @function_tool
    def add_item(context: RunContextWrapper[Cart], name: str) -> str:
        context.context.items.append(name)
        return f"{context.context.user} has {len(context.context.items)} items"

    def instructions(context, agent):
        return f"You serve {context.context.user}."

    steps = [lab.use("add_item", name="tea")], [lab.use("add_item", name="jam")], lab.say("Tea and jam.")
    script = lab.agent("shop", *steps)
    agent = Agent[Cart](name="shop", model=script.model, tools=[add_item], instructions=instructions)
    cart = Cart("Ann")
    async with watched(probe):
        result = lab.record(await Runner.run(agent, "Tea and jam, please.", context=cart), agent)
    assert result.context_wrapper.context is cart
    return cart


@healthy("openai_agents_run_config_of_the_program")
async def run_config_of_the_program(probe):
    lab = Lab(probe)

    @function_tool
    def look(context: RunContextWrapper[None]) -> str:
        probe.saw(["config", context.run_config is config, context.run_config.call_model_input_filter is shorten])
        return "seen"

    def shorten(data):
        probe.saw(["filter", data.agent.name, len(data.model_data.input)])
        data.model_data.input[:] = data.model_data.input[-3:]
        return data.model_data

    config = RunConfig(
        call_model_input_filter=shorten, workflow_name="zoo", model_settings=ModelSettings(temperature=0.1)
    )
    agent = lab.agent("agent", [lab.use("look")], [lab.use("look")], lab.say("Seen."), tools=[look])
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Look twice.", run_config=config), agent).final_output


@healthy("openai_agents_failing_tool_that_is_retried")
async def failing_tool_that_is_retried(probe):
    lab = Lab(probe)

    @function_tool
    def fetch() -> str:
        if probe.call("fetch") < 3:
            raise ConnectionError("busy")
        return "the page"

    agent = lab.agent(
        "fetcher", [lab.use("fetch")], [lab.use("fetch")], [lab.use("fetch")], lab.say("Got it."), tools=[fetch]
    )
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Fetch it."), agent).final_output


@healthy("openai_agents_run_sync")
def run_sync(probe):
    import asyncio

    asyncio.set_event_loop(asyncio.new_event_loop())  # the SDK uses the default loop, which `asyncio.run` has closed
    lab = Lab(probe)

    @function_tool
    def double(n: int) -> int:
        return 2 * n

    agent = lab.agent("agent", [lab.use("double", n=4)], lab.say("8"), lab.say("Eight, as I said."), tools=[double])
    with watched_sync(probe):
        first = lab.record(Runner.run_sync(agent, "Double 4."), agent)
        second = lab.record(
            Runner.run_sync(agent, [*first.to_input_list(), {"role": "user", "content": "Sure?"}]), agent
        )
    asyncio.get_event_loop().close()
    return json.dumps([first.final_output, second.final_output])


@healthy("openai_agents_instructions_that_run_an_agent")
async def instructions_that_run_an_agent(probe):
    lab = Lab(probe)
    briefer = lab.agent("briefer", lab.say("The user likes tea."))

    async def instructions(context, agent):
        return (await Runner.run(briefer, "Brief me.")).final_output

    agent = lab.agent("host", lab.say("Tea?"), instructions=instructions)
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Hello."), agent).final_output


@healthy("openai_agents_stops_on_the_first_tool")
async def stops_on_the_first_tool(probe):
    lab = Lab(probe)

    @function_tool
    def weather(city: str) -> str:
        return f"Rain in {city}"

    agent = lab.agent(
        "guide", [lab.use("weather", city="Bergen")], tools=[weather], tool_use_behavior="stop_on_first_tool"
    )
    async with watched(probe):
        return lab.record(await Runner.run(agent, "Weather?"), agent).final_output


@healthy("openai_agents_turn_limit_that_leaves_the_digd_run")
async def turn_limit_that_leaves_the_digd_run(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "nothing yet"

    agent = lab.agent("watcher", [lab.use("look")], [lab.use("look")], tools=[look])
    try:
        async with watched(probe):
            await Runner.run(agent, "Look.", max_turns=1)
    except MaxTurnsExceeded as error:
        lab.error(error)
        return "Not there within one turn."


@healthy("openai_agents_program_that_raises_after_its_answer")
async def program_that_raises_after_its_answer(probe):
    lab = Lab(probe)
    agent = lab.agent("agent", lab.say("No such order."))
    try:
        async with watched(probe):
            result = lab.record(await Runner.run(agent, "Order 7?"), agent)
            raise LookupError(result.final_output)
    except LookupError as error:
        return str(error)
