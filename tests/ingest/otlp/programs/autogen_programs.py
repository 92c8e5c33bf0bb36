"""AutoGen programs to record: HEALTHY ones end as their author meant, BROKEN ones do not."""

import asyncio
from functools import partial

from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_agentchat.tools import AgentTool
from autogen_core import FunctionCall, SingleThreadedAgentRuntime
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

TOOLS = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)


def call(name, arguments="{}", number=0):
    return CreateResult(
        finish_reason="function_calls",
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
        content=[FunctionCall(id=f"c{number}", name=name, arguments=arguments)],
    )


def agent(name, *answers, **options):
    return AssistantAgent(name, model_client=ReplayChatCompletionClient(list(answers), model_info=TOOLS), **options)


def run(make_team, tracer, task="write a poem"):
    async def work():
        runtime = SingleThreadedAgentRuntime(tracer_provider=tracer)
        runtime.start()
        try:
            await make_team(runtime).run(task=task)
            await runtime.stop_when_idle()
        except Exception:
            pass

    asyncio.run(work())


def round_robin(tracer):
    """Two agents take turns until one ends the chat."""
    run(
        lambda runtime: RoundRobinGroupChat(
            [agent("writer", "draft"), agent("critic", "good TERMINATE")],
            termination_condition=TextMentionTermination("TERMINATE"),
            runtime=runtime,
        ),
        tracer,
    )


def message_limit(tracer):
    run(
        lambda runtime: RoundRobinGroupChat(
            [agent("a", "1", "3"), agent("b", "2", "4")],
            termination_condition=MaxMessageTermination(5),
            runtime=runtime,
        ),
        tracer,
    )


def selector(tracer):
    model = ReplayChatCompletionClient(["planner", "coder", "planner"], model_info=TOOLS)
    run(
        lambda runtime: SelectorGroupChat(
            [agent("planner", "plan", "done TERMINATE"), agent("coder", "code")],
            model_client=model,
            termination_condition=TextMentionTermination("TERMINATE"),
            runtime=runtime,
            allow_repeated_speaker=True,
        ),
        tracer,
    )


def swarm(tracer):
    run(
        lambda runtime: Swarm(
            [
                agent("triage", call("transfer_to_refunds"), handoffs=["refunds"]),
                agent("refunds", "refunded TERMINATE"),
            ],
            termination_condition=TextMentionTermination("TERMINATE"),
            runtime=runtime,
        ),
        tracer,
    )


def handoff_to_user(tracer):
    """The team ends when it hands off to a person."""
    run(
        lambda runtime: Swarm(
            [agent("triage", call("transfer_to_user"), handoffs=["user"])],
            termination_condition=HandoffTermination(target="user"),
            runtime=runtime,
        ),
        tracer,
    )


def flow(edges, *agents):
    by_name = {member.name: member for member in agents}
    builder = DiGraphBuilder()
    for member in agents:
        builder.add_node(member)
    for before, after in edges:
        builder.add_edge(by_name[before], by_name[after])
    return builder.build()


def graph_flow(tracer):
    """A writer, two concurrent editors, a join."""
    agents = [agent("writer", "draft"), agent("grammar", "fixed"), agent("style", "nicer"), agent("final", "done")]
    edges = [("writer", "grammar"), ("writer", "style"), ("grammar", "final"), ("style", "final")]
    run(lambda runtime: GraphFlow(agents, graph=flow(edges, *agents), runtime=runtime), tracer)


def graph_flow_two_stages(tracer):
    agents = [agent(name, name) for name in ("head", "law", "facts", "pro", "contra", "judge")]
    edges = [
        ("head", "law"),
        ("head", "facts"),
        ("law", "pro"),
        ("law", "contra"),
        ("facts", "pro"),
        ("facts", "contra"),
        ("pro", "judge"),
        ("contra", "judge"),
    ]
    run(lambda runtime: GraphFlow(agents, graph=flow(edges, *agents), runtime=runtime), tracer)


def agent_tool(tracer):
    """An agent with two agents as tools."""
    tools = [AgentTool(agent("spanish", "hola")), AgentTool(agent("french", "salut"))]
    both = CreateResult(
        finish_reason="function_calls",
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
        content=[FunctionCall(id=f"c{n}", name=n, arguments='{"task":"hi"}') for n in ("spanish", "french")],
    )
    run(
        lambda runtime: RoundRobinGroupChat(
            [agent("lead", both, "hola, salut TERMINATE", tools=tools, reflect_on_tool_use=True)],
            termination_condition=TextMentionTermination("TERMINATE"),
            runtime=runtime,
        ),
        tracer,
    )


def society_of_mind(tracer):
    inner = RoundRobinGroupChat([agent("a", "one"), agent("b", "two")], termination_condition=MaxMessageTermination(3))
    team = SocietyOfMindAgent(
        "society", team=inner, model_client=ReplayChatCompletionClient(["three"], model_info=TOOLS)
    )
    run(
        lambda runtime: RoundRobinGroupChat([team], termination_condition=MaxMessageTermination(2), runtime=runtime),
        tracer,
    )


class Down(ReplayChatCompletionClient):
    async def create(self, *_, **__):
        raise ConnectionError("the model is away")


def model_fails(tracer):
    down = partial(AssistantAgent, model_client=Down([], model_info=TOOLS))
    run(
        lambda runtime: RoundRobinGroupChat(
            [agent("writer", "draft"), down("critic")], termination_condition=MaxMessageTermination(4), runtime=runtime
        ),
        tracer,
    )


HEALTHY = (
    round_robin,
    message_limit,
    selector,
    swarm,
    handoff_to_user,
    graph_flow,
    graph_flow_two_stages,
    agent_tool,
    society_of_mind,
)
BROKEN = (model_fails,)
