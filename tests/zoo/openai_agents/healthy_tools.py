"""Healthy systems in which agents are tools of agents."""

import asyncio

from agents import (
    GuardrailFunctionOutput,
    MaxTurnsExceeded,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
    input_guardrail,
)
from agents.testing import ModelStep
from zoo import healthy

from openai_agents.attach import Hooks, Lab, watched


@healthy("openai_agents_agents_as_tools_one_after_the_other")
async def one_after_the_other(probe):
    lab = Lab(probe)
    spanish, french = lab.agent("spanish", lab.say("Hola")), lab.agent("french", lab.say("Salut"))
    boss = lab.agent(
        "boss",
        [lab.use("to_spanish", input="Hi")],
        [lab.use("to_french", input="Hi")],
        lab.say("Hola, Salut"),
        tools=[spanish.as_tool("to_spanish", "Spanish"), french.as_tool("to_french", "French")],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Translate Hi.", hooks=Hooks(probe)), boss).final_output


@healthy("openai_agents_agents_as_tools_in_parallel", ordered=False)
async def in_parallel(probe):
    lab = Lab(probe)
    names = ("facts", "figures", "quotes", "links")
    workers = [lab.agent(name, lab.say(f"{name} found")) for name in names]
    boss = lab.agent(
        "boss",
        [lab.use(f"ask_{name}", input="Find them.") for name in names],
        lab.say("All found."),
        tools=[worker.as_tool(f"ask_{worker.name}", "finds") for worker in workers],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Research it."), boss).final_output


@healthy("openai_agents_parallel_tools_whose_agents_ask_others", ordered=False)
async def parallel_tools_whose_agents_ask_others(probe):
    lab = Lab(probe)

    def planner(name):
        helpers = [lab.agent(f"{name}_{i}", lab.say(f"part {i} of {name}")) for i in (1, 2)]
        return lab.agent(
            name,
            [lab.use(f"ask_{h.name}", input=f"Do {h.name}.") for h in helpers],
            lab.say(f"plan of {name}"),
            tools=[h.as_tool(f"ask_{h.name}", "helps") for h in helpers],
        )

    planners = [planner("ann"), planner("bob")]
    boss = lab.agent(
        "boss",
        [lab.use(f"ask_{p.name}", input="Plan it.") for p in planners],
        lab.say("Both plans."),
        tools=[p.as_tool(f"ask_{p.name}", "plans") for p in planners],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Plan it."), boss).final_output


@healthy("openai_agents_the_same_question_to_the_same_agent_twice", ordered=False)
async def same_question_twice(probe):
    lab = Lab(probe)
    oracle = lab.agent("oracle", lab.say("7"), lab.say("7"), lab.say("8"))
    boss = lab.agent(
        "boss",
        [lab.use("ask", input="How many?"), lab.use("ask", input="How many?")],
        [lab.use("ask", input="How many?")],
        lab.say("7, twice of three."),
        tools=[oracle.as_tool("ask", "answers")],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "How many?"), boss).final_output


@healthy("openai_agents_the_same_question_to_several_agents", ordered=False)
async def same_question_to_several(probe):
    lab = Lab(probe)
    voters = [lab.agent(name, lab.say("yes")) for name in ("ann", "bob", "cid")]
    boss = lab.agent(
        "boss",
        [lab.use(f"ask_{v.name}", input="Is it so?") for v in voters],
        lab.say("Yes, by three votes."),
        tools=[v.as_tool(f"ask_{v.name}", "votes") for v in voters],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Is it so?"), boss).final_output


@healthy("openai_agents_failed_agent_tool_that_is_retried")
async def failed_agent_tool_that_is_retried(probe):
    lab = Lab(probe)
    researcher = lab.agent("researcher", ModelStep.raise_error(ConnectionError("down")), lab.say("42 sources"))
    ask = [[lab.use("research", input="Find sources.")] for _ in range(2)]
    writer = lab.agent(
        "writer", *ask, lab.say("A report with 42 sources."), tools=[researcher.as_tool("research", "finds")]
    )
    async with watched(probe):
        return lab.record(await Runner.run(writer, "Write a report."), writer).final_output


@healthy("openai_agents_failed_agent_tool_with_a_fallback")
async def failed_agent_tool_with_a_fallback(probe):
    lab = Lab(probe)
    first = lab.agent("first", ModelStep.raise_error(ConnectionError("down")))
    second = lab.agent("second", lab.say("42 sources"))
    writer = lab.agent(
        "writer",
        [lab.use("ask_first", input="Find sources.")],
        [lab.use("ask_second", input="Find sources.")],
        lab.say("A report."),
        tools=[first.as_tool("ask_first", "finds"), second.as_tool("ask_second", "finds")],
    )
    async with watched(probe):
        return lab.record(await Runner.run(writer, "Write a report."), writer).final_output


@healthy("openai_agents_failed_agent_tool_whose_error_the_author_words")
async def failed_agent_tool_whose_error_the_author_words(probe):
    lab = Lab(probe)
    researcher = lab.agent("researcher", ModelStep.raise_error(ConnectionError("down")))
    tool = researcher.as_tool("research", "finds", failure_error_function=lambda context, error: "No sources today.")
    writer = lab.agent(
        "writer", [lab.use("research", input="Find sources.")], lab.say("A report without sources."), tools=[tool]
    )
    async with watched(probe):
        return lab.record(await Runner.run(writer, "Write a report."), writer).final_output


@healthy("openai_agents_agent_tool_that_reaches_its_turn_limit")
async def agent_tool_that_reaches_its_turn_limit(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "nothing yet"

    finder = lab.agent("finder", [lab.use("look")], [lab.use("look")], tools=[look])
    writer = lab.agent(
        "writer",
        [lab.use("find", input="Find it.")],
        lab.say("Not found in time."),
        tools=[finder.as_tool("find", "finds", max_turns=1)],
    )
    async with watched(probe):
        return lab.record(await Runner.run(writer, "Find it, briefly."), writer).final_output


@healthy("openai_agents_agent_tool_whose_guardrail_trips")
async def agent_tool_whose_guardrail_trips(probe):
    lab = Lab(probe)

    @input_guardrail(run_in_parallel=False)
    async def never(context, agent, input):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    guarded = lab.agent("guarded", input_guardrails=[never])
    boss = lab.agent(
        "boss", [lab.use("ask", input="Do it.")], lab.say("It was refused."), tools=[guarded.as_tool("ask", "does")]
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Have it done."), boss).final_output


@healthy("openai_agents_tools_that_start_runs_and_handle_errors")
async def tools_that_start_runs(probe):
    lab = Lab(probe)

    @function_tool
    def look() -> str:
        return "nothing"

    inner = lab.agent("inner", lab.say("7"))
    endless = lab.agent("endless", [lab.use("look")], [lab.use("look")], tools=[look])
    broken = lab.agent("broken", ModelStep.raise_error(ConnectionError("down")))

    @function_tool
    async def ask() -> str:
        return (await Runner.run(inner, "How many?")).final_output

    @function_tool
    async def try_endless() -> str:
        try:
            return (await Runner.run(endless, "Go on.", max_turns=1)).final_output
        except MaxTurnsExceeded:
            return "no result"

    @function_tool
    async def try_broken() -> str:
        try:
            return (await Runner.run(broken, "Go.")).final_output
        except ConnectionError:
            return "not now"

    boss = lab.agent(
        "boss",
        [lab.use("ask")],
        [lab.use("try_endless")],
        [lab.use("try_broken")],
        lab.say("7"),
        tools=[ask, try_endless, try_broken],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Count."), boss).final_output


@healthy("openai_agents_synchronous_tool_that_runs_an_agent_in_its_thread")
async def synchronous_tool(probe):
    lab = Lab(probe)
    inner = lab.agent("inner", lab.say("7"))

    @function_tool
    def ask() -> str:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            return Runner.run_sync(inner, "How many?").final_output
        finally:
            asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)

    boss = lab.agent("boss", [lab.use("ask")], lab.say("7"), tools=[ask])
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Count."), boss).final_output


@healthy("openai_agents_agent_tool_with_structured_parts")
async def agent_tool_with_an_extractor(probe):
    lab = Lab(probe)

    async def shorten(result):
        probe.saw(["extract", result.last_agent is inner])
        return result.final_output[:5]

    inner = lab.agent("inner", lab.say("A long answer"))
    boss = lab.agent(
        "boss",
        [lab.use("ask", input="Say it.")],
        lab.say("A lon, in short."),
        tools=[inner.as_tool("ask", "answers", custom_output_extractor=shorten)],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Say it."), boss).final_output


@healthy("openai_agents_agent_tool_that_hands_off")
async def agent_tool_that_hands_off(probe):
    lab = Lab(probe)
    expert = lab.agent("expert", lab.say("In depth."))
    clerk = lab.agent("clerk", lab.hand("expert"), handoffs=[expert])
    boss = lab.agent(
        "boss", [lab.use("ask", input="Explain.")], lab.say("As the expert says."), tools=[clerk.as_tool("ask", "x")]
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Explain."), boss).final_output


@healthy("openai_agents_agent_tool_that_waits_for_an_approval")
async def agent_tool_that_waits_for_an_approval(probe):
    lab = Lab(probe)

    @function_tool(needs_approval=True)
    def pay() -> str:
        probe.call("pay")
        return "paid"

    payer = lab.agent("payer", [lab.use("pay")], lab.say("I paid it."), tools=[pay])
    clerk = lab.agent(
        "clerk", [lab.use("payer", input="Pay.")], lab.say("It is paid."), tools=[payer.as_tool("payer", "pays")]
    )
    async with watched(probe):
        result = lab.record(await Runner.run(clerk, "Pay it."), clerk)
        state = result.to_state()
        state.approve(result.interruptions[0])
        return lab.record(await Runner.run(clerk, state), clerk).final_output


@healthy("openai_agents_run_that_a_tool_leaves_in_the_background", ordered=False)
async def run_in_the_background(probe):
    lab = Lab(probe)
    logger, tasks = lab.agent("logger", lab.say("logged")), []

    @function_tool
    async def log_it() -> str:
        tasks.append(asyncio.create_task(Runner.run(logger, "Log it.")))
        return "started"

    boss = lab.agent("boss", [lab.use("log_it")], lab.say("Done."), tools=[log_it])
    async with watched(probe):
        result = lab.record(await Runner.run(boss, "Do it."), boss)
        lab.record(await tasks[0], logger)
        return result.final_output


@healthy("openai_agents_two_agent_tools_that_wait_for_approvals")
async def two_agent_tools_that_wait_for_approvals(probe):
    lab = Lab(probe)

    @function_tool(needs_approval=True)
    def pay() -> str:
        probe.call("pay")
        return "paid"

    payers = [lab.agent(name, [lab.use("pay")], lab.say(f"{name} paid."), tools=[pay]) for name in ("ann", "bob")]
    clerk = lab.agent(
        "clerk",
        [lab.use(p.name, input="Pay.") for p in payers],
        lab.say("Both paid."),
        tools=[p.as_tool(p.name, "pays") for p in payers],
    )
    async with watched(probe):
        result = await Runner.run(clerk, "Pay both.")
        while result.interruptions:
            state = result.to_state()
            state.approve(result.interruptions[0])
            result = await Runner.run(clerk, state)
        return lab.record(result, clerk).final_output


@healthy("openai_agents_agent_tool_without_its_approval_beside_another_run")
async def agent_tool_without_its_approval(probe):
    lab = Lab(probe)

    @function_tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    payer = lab.agent("payer", [lab.use("pay")], tools=[pay])
    clerk = lab.agent("clerk", [lab.use("payer", input="Pay.")], tools=[payer.as_tool("payer", "pays")])
    other = lab.agent("other", lab.say("Good morning."))
    async with watched(probe):
        lab.record(await Runner.run(clerk, "Pay it."), clerk)
        return lab.record(await Runner.run(other, "Greet me."), other).final_output


@healthy("openai_agents_tool_that_consumes_a_stream")
async def tool_that_consumes_a_stream(probe):
    lab = Lab(probe)
    inner = lab.agent("inner", lab.say("7"))

    @function_tool
    async def ask() -> str:
        return (await lab.consume(Runner.run_streamed(inner, "How many?"), inner)).final_output

    boss = lab.agent("boss", [lab.use("ask")], lab.say("Seven."), tools=[ask])
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Count."), boss).final_output


@healthy("openai_agents_tool_with_its_own_digd_run")
async def tool_with_a_run_of_its_own(probe):
    lab = Lab(probe)
    inner, after = lab.agent("inner", lab.say("7")), lab.agent("after", lab.say("checked"))

    @function_tool
    async def ask() -> str:
        async with watched(probe):
            answer = (await Runner.run(inner, "How many?")).final_output
        return answer + (await Runner.run(after, answer)).final_output

    boss = lab.agent("boss", [lab.use("ask")], lab.say("Seven, checked."), tools=[ask])
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Count."), boss).final_output


@healthy("openai_agents_background_run_that_is_cancelled_at_the_end", ordered=False)
async def background_run_that_is_cancelled(probe):
    lab = Lab(probe)
    never, tasks = asyncio.Event(), []

    async def wait_forever(call):
        await never.wait()

    watcher = lab.agent("watcher", ModelStep.respond(wait_forever))

    @function_tool
    async def watch() -> str:
        tasks.append(asyncio.create_task(Runner.run(watcher, "Watch it.")))
        return "started"

    boss = lab.agent("boss", [lab.use("watch")], lab.say("It is watched."), tools=[watch])
    async with watched(probe):
        result = lab.record(await Runner.run(boss, "Have it watched."), boss)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return result.final_output


@healthy("openai_agents_tool_that_returns_an_object_as_the_answer")
async def tool_that_returns_an_object(probe):
    lab = Lab(probe)

    handle = {("a", "tuple"): object}  # no JSON

    @function_tool
    def open_it() -> str:
        return "opened"

    def use_it(context, results):
        return ToolsToFinalOutputResult(is_final_output=True, final_output=handle)

    agent = lab.agent("opener", [lab.use("open_it")], tools=[open_it], tool_use_behavior=use_it)
    async with watched(probe):
        result = await Runner.run(agent, "Open it.")
    assert result.last_agent is agent
    return result.final_output


@healthy("openai_agents_many_runs_in_threads", ordered=False)
async def many_runs_in_threads(probe):
    lab = Lab(probe)

    def ask(i):
        helper = lab.agent(f"helper {i}", lab.say(f"part {i}"))
        agent = lab.agent(
            f"agent {i}", [lab.use("ask", input="x")], lab.say(f"answer {i}"), tools=[helper.as_tool("ask", "x")]
        )
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, f"question {i}").final_output
        finally:
            asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)

    async with watched(probe):
        return await asyncio.gather(*(asyncio.to_thread(ask, i) for i in range(6)))


@healthy("openai_agents_tree_of_agents_as_tools", ordered=False)
async def tree_of_agents_as_tools(probe):
    lab = Lab(probe)

    def node(name, depth):
        if depth == 0:
            return lab.agent(name, lab.say(f"{name} done"))
        children = [node(f"{name}{i}", depth - 1) for i in range(3)]
        return lab.agent(
            name,
            [lab.use(f"ask_{c.name}", input="Do it.") for c in children],
            lab.say(f"{name} done"),
            tools=[c.as_tool(f"ask_{c.name}", "does") for c in children],
        )

    root = node("n", 3)
    async with watched(probe):
        return lab.record(await Runner.run(root, "Do it."), root).final_output


@healthy("openai_agents_agent_tool_that_ends_between_two_agents")
async def agent_tool_that_ends_between_two_agents(probe):
    lab = Lab(probe)
    expert = lab.agent("expert")
    clerk = lab.agent("clerk", lab.hand("expert"), handoffs=[expert])
    boss = lab.agent(
        "boss",
        [lab.use("ask", input="Explain.")],
        lab.say("No time for it."),
        tools=[clerk.as_tool("ask", "explains", max_turns=1)],
    )
    async with watched(probe):
        return lab.record(await Runner.run(boss, "Explain."), boss).final_output
