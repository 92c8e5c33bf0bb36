"""LangGraph programs to record: HEALTHY ones end as their author meant, BROKEN ones do not.

Only the content of spans matters here: which nodes run, in which order, and how they end.
"""

import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt


class Notes(TypedDict):
    notes: Annotated[list, operator.add]


def note(name):
    model = FakeListChatModel(responses=["an answer"])
    return lambda state: {"notes": [name + ": " + model.invoke("a question").content]}


def graph_of(nodes, edges):
    graph = StateGraph(Notes)
    for name in nodes.split():
        graph.add_node(name, note(name))
    for before, after in edges:
        graph.add_edge(before, after)
    return graph


def run(graph, config=None, **options):
    return graph.compile(**options).invoke({"notes": ["task"]}, config)


def chain():
    run(
        graph_of(
            "planner writer editor", [(START, "planner"), ("planner", "writer"), ("writer", "editor"), ("editor", END)]
        )
    )


def fan_out_join():
    """A planner, two concurrent workers, a writer that waits for both."""
    run(
        graph_of(
            "planner searcher coder writer",
            [
                (START, "planner"),
                ("planner", "searcher"),
                ("planner", "coder"),
                (["searcher", "coder"], "writer"),
                ("writer", END),
            ],
        )
    )


def two_starts_two_stages():
    """Two nodes start the run; both send to the same two nodes, which a last node joins."""
    run(
        graph_of(
            "law facts pro contra judge",
            [
                (START, "law"),
                (START, "facts"),
                ("law", "pro"),
                ("law", "contra"),
                ("facts", "pro"),
                ("facts", "contra"),
                (["pro", "contra"], "judge"),
                ("judge", END),
            ],
        )
    )


def branches_to_end():
    run(
        graph_of(
            "planner mailer logger",
            [(START, "planner"), ("planner", "mailer"), ("planner", "logger"), ("mailer", END), ("logger", END)],
        )
    )


def uneven_join():
    """One branch takes two steps, the other takes one; the join waits for both."""
    run(
        graph_of(
            "planner draft check price offer",
            [
                (START, "planner"),
                ("planner", "draft"),
                ("draft", "check"),
                ("planner", "price"),
                (["check", "price"], "offer"),
                ("offer", END),
            ],
        )
    )


def deferred_join():
    graph = graph_of(
        "planner draft check price",
        [(START, "planner"), ("planner", "draft"), ("draft", "check"), ("planner", "price")],
    )
    graph.add_node("offer", note("offer"), defer=True)
    for before, after in [("check", "offer"), ("price", "offer"), ("offer", END)]:
        graph.add_edge(before, after)
    run(graph)


def send_map_reduce():
    """One worker for each topic, then a join."""
    graph = graph_of("topics worker summary", [(START, "topics"), ("worker", "summary"), ("summary", END)])
    graph.add_conditional_edges("topics", lambda state: [Send("worker", {"notes": [t]}) for t in "abc"], ["worker"])
    run(graph)


def loop_until_approved():
    graph = graph_of("writer critic", [(START, "writer"), ("writer", "critic")])
    graph.add_conditional_edges("critic", lambda state: "writer" if len(state["notes"]) < 6 else END)
    run(graph)


def router():
    graph = graph_of("triage billing sales", [(START, "triage"), ("billing", END), ("sales", END)])
    graph.add_conditional_edges("triage", lambda state: "billing", ["billing", "sales"])
    run(graph)


def retry():
    """A node fails once; its retry policy runs it again."""
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("the service is busy")
        return {"notes": ["fetched"]}

    graph = graph_of("planner writer", [(START, "planner")])
    graph.add_node("fetch", flaky, retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
    graph.add_edge("planner", "fetch")
    graph.add_edge("fetch", "writer")
    graph.add_edge("writer", END)
    run(graph)


def subgraph():
    inner = graph_of("search rank", [(START, "search"), ("search", "rank"), ("rank", END)]).compile()
    graph = graph_of("planner writer", [(START, "planner"), ("research", "writer"), ("writer", END)])
    graph.add_node("research", inner)
    graph.add_edge("planner", "research")
    run(graph)


def parent_command():
    """A node of a subgraph hands off to a node of the outer graph."""
    inner = StateGraph(Notes)
    inner.add_node("clerk", lambda state: Command(goto="expert", graph=Command.PARENT, update={"notes": ["passed on"]}))
    inner.add_edge(START, "clerk")
    graph = graph_of("expert", [(START, "desk"), ("expert", END)])
    graph.add_node("desk", inner.compile(), destinations=("expert",))
    run(graph)


def interrupt_and_resume():
    """The graph asks a person; the answer comes in a second invocation."""
    graph = graph_of("planner", [(START, "planner"), ("planner", "approval"), ("approval", END)])
    graph.add_node("approval", lambda state: {"notes": [interrupt("may I?")]})
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    compiled.invoke({"notes": ["task"]}, config)
    compiled.invoke(Command(resume="yes"), config)


@tool
def search(query: str) -> str:
    """Searches."""
    return "found " + query


def calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call-" + name}])


class ToolModel(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def react_agent():
    from langgraph.prebuilt import ToolNode, tools_condition

    model = ToolModel(messages=iter([calls("search", query="x"), AIMessage("done")]))
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([search]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    graph.compile().invoke({"messages": [("user", "look x up")]})


def supervisor():
    """A supervisor assigns the work to one agent after the other by commands."""
    plan = iter(["researcher", "writer", END])

    def lead(state):
        return Command(goto=next(plan), update={"notes": ["next"]})

    graph = graph_of("researcher writer", [("researcher", "supervisor"), ("writer", "supervisor")])
    graph.add_node("supervisor", lead, destinations=("researcher", "writer", END))
    graph.add_edge(START, "supervisor")
    run(graph)


def command_fan_out():
    graph = graph_of("searcher coder writer", [("searcher", "writer"), ("coder", "writer"), ("writer", END)])
    graph.add_node("planner", lambda state: Command(goto=["searcher", "coder"]), destinations=("searcher", "coder"))
    graph.add_edge(START, "planner")
    run(graph)


def voting():
    """Three voters get the same question; the majority decides."""
    run(
        graph_of(
            "voter_1 voter_2 voter_3 count",
            [
                (START, "voter_1"),
                (START, "voter_2"),
                (START, "voter_3"),
                (["voter_1", "voter_2", "voter_3"], "count"),
                ("count", END),
            ],
        )
    )


def streamed():
    graph = graph_of("planner a b", [(START, "planner"), ("planner", "a"), ("planner", "b"), ("a", END), ("b", END)])
    for _ in graph.compile().stream({"notes": ["task"]}, stream_mode=["updates", "values"]):
        pass


def async_fan_out_join():
    async def slow(state):
        await asyncio.sleep(0)
        return {"notes": ["done"]}

    graph = graph_of("planner writer", [(START, "planner"), ("writer", END)])
    for name in ("searcher", "coder"):
        graph.add_node(name, slow)
        graph.add_edge("planner", name)
    graph.add_edge(["searcher", "coder"], "writer")
    asyncio.run(graph.compile().ainvoke({"notes": ["task"]}))


def functional_api():
    """Concurrent tasks, then one more."""

    @task
    def research(topic):
        return "facts on " + topic

    @task
    def write(facts):
        return " ".join(facts)

    @entrypoint()
    def report(topics):
        facts = [research(topic) for topic in topics]
        return write([future.result() for future in facts]).result()

    report.invoke(["law", "facts"])


def graph_in_a_function():
    """A node calls another graph as a function."""
    inner = graph_of("search rank", [(START, "search"), ("search", "rank"), ("rank", END)]).compile()
    graph = graph_of("planner writer", [(START, "planner"), ("writer", END)])
    graph.add_node("research", lambda state: {"notes": inner.invoke({"notes": ["a topic"]})["notes"]})
    graph.add_edge("planner", "research")
    graph.add_edge("research", "writer")
    run(graph)


def two_graphs_in_turn():
    first = graph_of("planner writer", [(START, "planner"), ("planner", "writer"), ("writer", END)]).compile()
    second = graph_of("planner writer", [(START, "planner"), ("planner", "writer"), ("writer", END)]).compile()
    second.invoke(first.invoke({"notes": ["task"]}))


def nested_map_reduce():
    """Two stages of `Send`, each with a join."""
    graph = graph_of(
        "topics worker collect check summary",
        [(START, "topics"), ("worker", "collect"), ("check", "summary"), ("summary", END)],
    )
    graph.add_conditional_edges("topics", lambda state: [Send("worker", {"notes": [t]}) for t in "abc"], ["worker"])
    graph.add_conditional_edges("collect", lambda state: [Send("check", {"notes": [t]}) for t in "de"], ["check"])
    run(graph)


def fallback_inside_a_node():
    def careful(state):
        try:
            raise ConnectionError("the model is away")
        except ConnectionError:
            return {"notes": ["a default"]}

    graph = graph_of("planner", [(START, "planner")])
    graph.add_node("careful", careful)
    graph.add_edge("planner", "careful")
    graph.add_edge("careful", END)
    run(graph)


def interrupt_beside_a_branch():
    """One branch asks a person while the other continues; both join after the answer."""
    graph = graph_of(
        "planner worker writer", [(START, "planner"), ("planner", "worker"), ("planner", "approval"), ("writer", END)]
    )
    graph.add_node("approval", lambda state: {"notes": [interrupt("may I?")]})
    graph.add_edge(["worker", "approval"], "writer")
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    compiled.invoke({"notes": ["task"]}, config)
    compiled.invoke(Command(resume="yes"), config)


def node_fails():
    def broken(state):
        raise ValueError("no such table")

    graph = graph_of("planner writer", [(START, "planner"), ("planner", "database"), ("writer", END)])
    graph.add_node("database", broken)
    graph.add_edge("database", "writer")
    try:
        run(graph)
    except ValueError:
        pass


def recursion_limit():
    from langgraph.errors import GraphRecursionError

    graph = graph_of("writer critic", [(START, "writer"), ("writer", "critic"), ("critic", "writer")])
    try:
        run(graph, {"recursion_limit": 5})
    except GraphRecursionError:
        pass


HEALTHY = (
    chain,
    fan_out_join,
    two_starts_two_stages,
    branches_to_end,
    uneven_join,
    deferred_join,
    send_map_reduce,
    loop_until_approved,
    router,
    retry,
    subgraph,
    parent_command,
    interrupt_and_resume,
    react_agent,
    supervisor,
    command_fan_out,
    voting,
    streamed,
    async_fan_out_join,
    functional_api,
    graph_in_a_function,
    two_graphs_in_turn,
    nested_map_reduce,
    fallback_inside_a_node,
    interrupt_beside_a_branch,
)
BROKEN = (node_fails, recursion_limit)
