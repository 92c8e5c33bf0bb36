"""OpenAI Agents SDK programs to record: HEALTHY ones end as their author meant, BROKEN ones do not."""

import asyncio

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    handoff,
    trace,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Fake(Model):
    """Returns each answer once, and repeats the last one. An answer is a text or a list of calls."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *_, **__):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return ModelResponse(
            output=answer if isinstance(answer, list) else [text(answer)], usage=Usage(), response_id="r"
        )

    def stream_response(self, *_, **__):
        raise NotImplementedError


def text(content):
    parts = [ResponseOutputText(type="output_text", text=content, annotations=[])]
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=parts)


def call(name, arguments="{}", number=0):
    return ResponseFunctionToolCall(
        id=f"f{number}", call_id=f"c{name}{number}", type="function_call", name=name, arguments=arguments
    )


@function_tool
def search(q: str) -> str:
    return "found " + q


def agent(name, *answers, **options):
    return Agent(name=name, model=Fake(*answers), **options)


def run(work):
    asyncio.run(work)


def handoff_and_tools():
    """A tool call, a handoff, and an agent as a tool."""
    helper = agent("helper", "helped")
    writer = agent(
        "writer", [call("ask_helper", '{"input":"x"}')], "final", tools=[helper.as_tool("ask_helper", "ask")]
    )
    triage = agent(
        "triage", [call("search", '{"q":"x"}')], [call("transfer_to_writer")], handoffs=[writer], tools=[search]
    )
    run(Runner.run(triage, "write something"))


def single_agent():
    run(Runner.run(agent("assistant", "hello"), "hi"))


def handoff_back():
    triage = agent("triage", [call("transfer_to_billing")], "closed")
    billing = agent("billing", [call("transfer_to_triage")], handoffs=[triage])
    triage.handoffs = [billing]
    run(Runner.run(triage, "my bill"))


def parallel_tools():
    """One answer that calls two agents as tools."""
    spanish, french = agent("spanish", "hola"), agent("french", "salut")
    lead = agent(
        "lead",
        [call("to_spanish", '{"input":"hi"}', 1), call("to_french", '{"input":"hi"}', 2)],
        "hola, salut",
        tools=[spanish.as_tool("to_spanish", "s"), french.as_tool("to_french", "f")],
    )
    run(Runner.run(lead, "translate"))


def parallel_runs_and_judge():
    """Three concurrent runs of one agent under one trace; a judge picks the best."""
    translator, judge = agent("translator", "hola"), agent("judge", "hola it is")

    async def work():
        with trace("translate"):
            answers = await asyncio.gather(*(Runner.run(translator, "hi") for _ in range(3)))
            await Runner.run(judge, " ".join(answer.final_output for answer in answers))

    run(work())


def parallel_handoffs():
    """Two concurrent runs under one trace; each hands off to an agent of the same name."""
    writer = agent("writer", "text")

    async def work():
        with trace("two at once"):
            await asyncio.gather(
                *(Runner.run(agent("triage", [call("transfer_to_writer")], handoffs=[writer]), "go") for _ in range(2))
            )

    run(work())


def evaluator_loop():
    writer, critic = agent("writer", "draft"), agent("critic", "again", "again", "pass")

    async def work():
        with trace("write until it passes"):
            while True:
                draft = await Runner.run(writer, "a story")
                verdict = await Runner.run(critic, draft.final_output)
                if verdict.final_output == "pass":
                    return

    run(work())


def deterministic_chain():
    async def work():
        with trace("story"):
            outline = await Runner.run(agent("outliner", "an outline"), "a story")
            await Runner.run(agent("author", "a story"), outline.final_output)

    run(work())


def guardrail():
    """A guardrail calls its own agent while the first agent works."""
    checker = agent("checker", "fine")

    async def check(context, checked, given):
        await Runner.run(checker, "is this fine?")
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    run(Runner.run(agent("assistant", "hello", input_guardrails=[InputGuardrail(guardrail_function=check)]), "hi"))


def nested_agents_as_tools():
    inner = agent("inner", "deep")
    middle = agent("middle", [call("ask_inner", '{"input":"x"}')], "middle", tools=[inner.as_tool("ask_inner", "i")])
    outer = agent("outer", [call("ask_middle", '{"input":"x"}')], "outer", tools=[middle.as_tool("ask_middle", "m")])
    run(Runner.run(outer, "go"))


def tool_failure_handled():
    @function_tool
    def shaky(q: str) -> str:
        raise RuntimeError("no network")

    run(Runner.run(agent("assistant", [call("shaky", '{"q":"x"}')], "I could not look that up", tools=[shaky]), "look"))


def handoff_with_callback():
    writer = agent("writer", "text")
    triage = agent("triage", [call("transfer_to_writer")], handoffs=[handoff(writer, on_handoff=lambda context: None)])
    run(Runner.run(triage, "write"))


def guardrail_trips():
    """The author's guardrail rejects the question, and the program answers with a text of its own."""

    async def check(context, checked, given):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    try:
        run(Runner.run(agent("assistant", "hello", input_guardrails=[InputGuardrail(guardrail_function=check)]), "hi"))
    except InputGuardrailTripwireTriggered:
        pass


def race():
    """Two concurrent agents; the first answer wins and the other agent is cancelled."""

    class Slow(Fake):
        async def get_response(self, *_, **__):
            await asyncio.Event().wait()

    async def work():
        with trace("race"):
            slow = asyncio.create_task(Runner.run(Agent(name="slow", model=Slow("never")), "go"))
            await Runner.run(agent("fast", "first"), "go")
            slow.cancel()
            await asyncio.wait([slow])

    run(work())


def research_team():
    """A planner, concurrent searches, a writer: the SDK's research example."""

    async def work():
        with trace("research"):
            await Runner.run(agent("planner", "three searches"), "a topic")
            await asyncio.gather(*(Runner.run(agent("search", "found"), term) for term in "abc"))
            await Runner.run(agent("writer", "a report"), "found found found")

    run(work())


def agent_as_tool_that_fails():
    """The tool's agent fails; the SDK gives its caller an error text, and the caller answers without it."""

    class Down(Fake):
        async def get_response(self, *_, **__):
            raise ConnectionError("the model is away")

    helper = Agent(name="helper", model=Down("x"))
    writer = agent(
        "writer", [call("ask_helper", '{"input":"x"}')], "without help", tools=[helper.as_tool("ask_helper", "ask")]
    )
    run(Runner.run(writer, "write"))


def too_many_turns():
    """A handoff whose target never answers."""
    writer = agent("writer", [call("search", '{"q":"x"}')], tools=[search])
    triage = agent("triage", [call("transfer_to_writer")], handoffs=[writer])
    try:
        run(Runner.run(triage, "go", max_turns=4))
    except MaxTurnsExceeded:
        pass


def model_fails():
    class Down(Fake):
        async def get_response(self, *_, **__):
            raise ConnectionError("the model is away")

    writer = Agent(name="writer", model=Down())
    triage = agent("triage", [call("transfer_to_writer")], handoffs=[writer])
    try:
        run(Runner.run(triage, "go"))
    except ConnectionError:
        pass


HEALTHY = (
    handoff_and_tools,
    single_agent,
    handoff_back,
    parallel_tools,
    parallel_runs_and_judge,
    parallel_handoffs,
    evaluator_loop,
    deterministic_chain,
    guardrail,
    nested_agents_as_tools,
    tool_failure_handled,
    handoff_with_callback,
    guardrail_trips,
    race,
    research_team,
    agent_as_tool_that_fails,
)
BROKEN = (too_many_turns, model_fails)
