"""Microsoft Agent Framework programs to record: HEALTHY ones end as their author meant, BROKEN ones do not."""

import asyncio

from agent_framework import (
    Agent,
    AgentExecutorRequest,
    AgentExecutorResponse,
    BaseChatClient,
    Case,
    ChatResponse,
    Default,
    Executor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    response_handler,
)
from agent_framework.observability import ChatTelemetryLayer, enable_instrumentation

enable_instrumentation(enable_sensitive_data=True)


class Fake(ChatTelemetryLayer, BaseChatClient):
    OTEL_PROVIDER_NAME = "fake"

    def __init__(self, text):
        super().__init__()
        self.text = text

    def _inner_get_response(self, **_):
        async def answer():
            return ChatResponse(messages=[Message(role="assistant", contents=[self.text])], response_id="r")

        return answer()


class Join(Executor):
    @handler
    async def join(self, answers: list[AgentExecutorResponse], context: WorkflowContext[AgentExecutorRequest]) -> None:
        messages = [m for answer in answers for m in answer.agent_response.messages]
        await context.send_message(AgentExecutorRequest(messages=messages, should_respond=True))


class Step(Executor):
    """Passes a text on; the last step yields it as the workflow's output."""

    def __init__(self, name, last=False, sends=1):
        super().__init__(id=name)
        self.last, self.sends = last, sends

    @handler
    async def work(self, text: str, context: WorkflowContext[str, str]) -> None:
        if self.last:
            await context.yield_output(text)
            return
        for number in range(self.sends):
            await context.send_message(f"{text} {self.id} {number}")


class Collect(Executor):
    @handler
    async def work(self, texts: list[str], context: WorkflowContext[str, str]) -> None:
        await context.send_message(" ".join(texts))
        await context.yield_output(" ".join(texts))


def agent(name, text):
    return Agent(client=Fake(text), name=name, id=name + "-id", instructions="be " + name)


def run(builder, given="write a poem"):
    asyncio.run(builder.build().run(given))


def agents_fan_out_join():
    """A writer, two concurrent reviewers, a join, an editor."""
    writer, critic, checker, editor = (
        agent("writer", "draft"),
        agent("critic", "bad"),
        agent("checker", "true"),
        agent("editor", "final"),
    )
    join = Join(id="join")
    run(
        WorkflowBuilder(start_executor=writer)
        .add_fan_out_edges(writer, [critic, checker])
        .add_fan_in_edges([critic, checker], join)
        .add_edge(join, editor)
    )


def chain():
    a, b, c = Step("a"), Step("b"), Step("c", last=True)
    run(WorkflowBuilder(start_executor=a).add_chain([a, b, c]))


def agents_in_sequence():
    a, b = agent("writer", "draft"), agent("editor", "final")
    run(WorkflowBuilder(start_executor=a).add_edge(a, b))


def fan_out_to_ends():
    """Each branch yields an output of its own; no join."""
    a, b, c = Step("a"), Step("b", last=True), Step("c", last=True)
    run(WorkflowBuilder(start_executor=a).add_fan_out_edges(a, [b, c]))


def two_stages():
    """A fan-out whose branches both send to the same two executors, which a last one joins."""
    head, law, facts, pro, contra = (Step(name) for name in ("head", "law", "facts", "pro", "contra"))
    join = Collect(id="judge")
    run(
        WorkflowBuilder(start_executor=head)
        .add_fan_out_edges(head, [law, facts])
        .add_fan_out_edges(law, [pro, contra])
        .add_fan_out_edges(facts, [pro, contra])
        .add_fan_in_edges([pro, contra], join)
    )


def uneven_join():
    head, draft, check, price = (Step(name) for name in ("head", "draft", "check", "price"))
    join = Collect(id="offer")
    run(
        WorkflowBuilder(start_executor=head)
        .add_fan_out_edges(head, [draft, price])
        .add_edge(draft, check)
        .add_fan_in_edges([check, price], join)
    )


def switch_case():
    triage, billing, sales = Step("triage"), Step("billing", last=True), Step("sales", last=True)
    run(
        WorkflowBuilder(start_executor=triage).add_switch_case_edge_group(
            triage, [Case(condition=lambda text: "bill" in text, target=billing), Default(target=sales)]
        ),
        "a bill",
    )


def conditional_edges():
    """Two edges with conditions; one condition is true."""
    triage, billing, sales = Step("triage"), Step("billing", last=True), Step("sales", last=True)
    run(
        WorkflowBuilder(start_executor=triage)
        .add_edge(triage, billing, condition=lambda text: "bill" in text)
        .add_edge(triage, sales, condition=lambda text: "buy" in text),
        "a bill",
    )


def multi_selection():
    a, b, c, d = Step("a"), Step("b", last=True), Step("c", last=True), Step("d", last=True)
    run(
        WorkflowBuilder(start_executor=a).add_multi_selection_edge_group(
            a, [b, c, d], selection_func=lambda text, ids: ids[:2]
        )
    )


def selection_of_none():
    """A router that selects no target."""
    a, b, c = Step("a"), Step("b", last=True), Step("c", last=True)
    run(
        WorkflowBuilder(start_executor=a).add_multi_selection_edge_group(a, [b, c], selection_func=lambda text, ids: [])
    )


class Writer(Executor):
    @handler
    async def write(self, round: int, context: WorkflowContext[int]) -> None:
        await context.send_message(round + 1)


class Critic(Executor):
    @handler
    async def judge(self, round: int, context: WorkflowContext[int, int]) -> None:
        await context.send_message(round)
        if round >= 3:
            await context.yield_output(round)


def loop_until_approved():
    """The loop edge has a condition. When it is false, the critic's last message has no recipient, as intended."""
    writer, critic = Writer(id="writer"), Critic(id="critic")
    run(
        WorkflowBuilder(start_executor=writer)
        .add_edge(writer, critic)
        .add_edge(critic, writer, condition=lambda round: round < 3),
        0,
    )


def several_messages():
    """One executor sends two messages to the next, which acts on each."""
    a, b = Step("a", sends=2), Step("b", last=True)
    run(WorkflowBuilder(start_executor=a).add_edge(a, b))


class Sender(Executor):
    @handler
    async def send(self, text: str, context: WorkflowContext[str]) -> None:
        await context.send_message(text, target_id="b")
        await context.send_message(text, target_id="c")


def addressed_messages():
    """Messages addressed to an executor by its id; the other edges drop them."""
    a, b, c = Sender(id="a"), Step("b", last=True), Step("c", last=True)
    run(WorkflowBuilder(start_executor=a).add_edge(a, b).add_edge(a, c))


def sub_workflow():
    inner_a, inner_b = Step("inner_a"), Step("inner_b", last=True)
    inner = WorkflowExecutor(WorkflowBuilder(start_executor=inner_a).add_edge(inner_a, inner_b).build(), id="inner")
    a, b = Step("a"), Step("b", last=True)
    run(WorkflowBuilder(start_executor=a).add_edge(a, inner).add_edge(inner, b))


class Asker(Executor):
    @handler
    async def ask(self, text: str, context: WorkflowContext[str, str]) -> None:
        await context.request_info(request_data="may I?", response_type=str)

    @response_handler
    async def answered(self, question: str, answer: str, context: WorkflowContext[str, str]) -> None:
        await context.send_message(answer)


def person_asked():
    """The workflow waits for a person and continues with the answer in a second run."""
    asker, b = Asker(id="asker"), Step("b", last=True)
    workflow = WorkflowBuilder(start_executor=asker).add_edge(asker, b).build()

    async def work():
        result = await workflow.run("task")
        await workflow.run(responses={event.request_id: "yes" for event in result.get_request_info_events()})

    asyncio.run(work())


def voting():
    head = Step("head")
    voters = [Step(f"voter_{n}") for n in range(3)]
    run(
        WorkflowBuilder(start_executor=head)
        .add_fan_out_edges(head, voters)
        .add_fan_in_edges(voters, Collect(id="count"))
    )


class Failing(Executor):
    @handler
    async def work(self, text: str, context: WorkflowContext[str]) -> None:
        raise ValueError("no such table")


def executor_fails():
    a, b = Step("a"), Failing(id="database")
    try:
        run(WorkflowBuilder(start_executor=a).add_edge(a, b))
    except ValueError:
        pass


class WrongType(Executor):
    @handler
    async def work(self, text: str, context: WorkflowContext[str]) -> None:
        await context.send_message({"text": text})


def message_nobody_handles():
    """The next executor accepts text; this one sends a dictionary."""
    a, b = WrongType(id="a"), Step("b", last=True)
    run(WorkflowBuilder(start_executor=a).add_edge(a, b))


HEALTHY = (
    agents_fan_out_join,
    chain,
    agents_in_sequence,
    fan_out_to_ends,
    two_stages,
    uneven_join,
    switch_case,
    conditional_edges,
    multi_selection,
    selection_of_none,
    loop_until_approved,
    several_messages,
    addressed_messages,
    sub_workflow,
    person_asked,
    voting,
)
BROKEN = (executor_fails, message_nobody_handles)
