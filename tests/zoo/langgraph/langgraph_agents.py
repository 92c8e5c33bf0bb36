"""Healthy teams: prebuilt agents, supervisor, swarm, handoffs, graphs inside graphs, nodes, tools and functions."""

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, create_react_agent, tools_condition
from langgraph.types import Command, Send, interrupt
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_attach import Log, Model, Team, attach, calls
from zoo import healthy

HELLO = {"messages": [HumanMessage("hello", id="m0")]}


def contents(result):
    return [[m.type, m.content] for m in result["messages"]]


def weather_of(probe):
    @tool
    def weather(town: str) -> str:
        """The weather in a town."""
        probe.call("weather")
        return "sunny"

    return weather


@healthy("langgraph prebuilt agent")
def react(probe):
    model = Model(answers=[calls(("weather", {"town": "Ulm"})), "It is sunny."], probe=probe)
    return contents(attach(probe, create_react_agent(model, [weather_of(probe)])).invoke(HELLO))


@healthy("langgraph prebuilt agent with parallel calls of tools with equal texts", ordered=False)
def react_parallel(probe):
    model = Model(answers=[calls(*[("weather", {"town": t}) for t in ("Ulm", "Bonn", "Ulm")]), "Sunny."], probe=probe)
    return contents(attach(probe, create_react_agent(model, [weather_of(probe)])).invoke(HELLO))


@healthy("langgraph agent of langchain")
def langchain_agent(probe):
    model = Model(
        answers=[calls(("weather", {"town": "Ulm"})), calls(("weather", {"town": "Ulm"})), "It is sunny."], probe=probe
    )
    return contents(attach(probe, create_agent(model, [weather_of(probe)])).invoke(HELLO))


@healthy("langgraph agent of langchain on an event loop, streamed")
async def langchain_agent_async(probe):
    model = Model(answers=[calls(("weather", {"town": "Ulm"})), "It is sunny."], probe=probe)
    graph = attach(probe, create_agent(model, [weather_of(probe)]))
    async for chunk in graph.astream(HELLO, stream_mode="updates"):
        probe.saw([[node, contents(update)] for node, update in chunk.items()])


@healthy("langgraph agent of hand-made nodes with a ToolNode")
def tool_node(probe):
    model = Model(answers=[calls(("weather", {"town": "Ulm"})), "It is sunny."], probe=probe)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda s: {"messages": [model.invoke(s["messages"])]})
    builder.add_node("tools", ToolNode([weather_of(probe)]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return contents(attach(probe, builder).compile().invoke(HELLO))


def worker(probe, name, *answers):
    return create_react_agent(Model(answers=list(answers), probe=probe, label=name), [], name=name)


@healthy("langgraph supervisor")
def supervisor(probe):
    chief = Model(
        answers=[
            calls(("transfer_to_math", {})),
            calls(("transfer_to_poet", {})),
            calls(("transfer_to_math", {})),
            "Done.",
        ],
        probe=probe,
        label="chief",
    )
    team = create_supervisor([worker(probe, "math", "42"), worker(probe, "poet", "A rose.")], model=chief)
    return contents(attach(probe, team).compile().invoke(HELLO))


@healthy("langgraph supervisor with instrumented workers")
def supervisor_of_watched(probe):
    chief = Model(answers=[calls(("transfer_to_math", {})), "Done."], probe=probe, label="chief")
    team = create_supervisor([attach(probe, worker(probe, "math", "42"))], model=chief)
    return contents(attach(probe, team).compile().invoke(HELLO))


@healthy("langgraph swarm")
def swarm(probe):
    ann = Model(answers=[calls(("transfer_to_bob", {})), "Ann again."], probe=probe, label="ann")
    bob = Model(answers=[calls(("transfer_to_ann", {}))], probe=probe, label="bob")
    agents = [
        create_react_agent(ann, [create_handoff_tool(agent_name="bob")], name="ann"),
        create_react_agent(bob, [create_handoff_tool(agent_name="ann")], name="bob"),
    ]
    graph = attach(probe, create_swarm(agents, default_active_agent="ann")).compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    return [
        contents(graph.invoke(HELLO, thread)),
        contents(graph.invoke({"messages": [HumanMessage("more", id="m9")]}, thread)),
    ]


@healthy("langgraph swarm whose agents are instrumented, on an event loop")
async def swarm_of_watched(probe):
    ann = Model(answers=[calls(("transfer_to_bob", {}))], probe=probe, label="ann")
    agents = [
        attach(probe, create_react_agent(ann, [create_handoff_tool(agent_name="bob")], name="ann")),
        attach(probe, worker(probe, "bob", "Bob here.")),
    ]
    return contents(await attach(probe, create_swarm(agents, default_active_agent="ann")).compile().ainvoke(HELLO))


@healthy("langgraph handoffs by hand-made tools")
def handoffs(probe):
    def handoff(to):
        @tool(f"to_{to}")
        def hand(state: Annotated[dict, InjectedState], call: Annotated[str, InjectedToolCallId]) -> Command:
            """Hand over."""
            probe.call(f"to_{to}")
            return Command(
                goto=to,
                graph=Command.PARENT,
                update={"messages": state["messages"] + [ToolMessage("ok", tool_call_id=call)]},
            )

        return hand

    first = create_react_agent(
        Model(answers=[calls(("to_two", {}))], probe=probe, label="one"), [handoff("two")], name="one"
    )
    second = create_react_agent(Model(answers=["Two here."], probe=probe, label="two"), [handoff("one")], name="two")
    builder = StateGraph(MessagesState)
    builder.add_node("one", first)
    builder.add_node("two", second)
    builder.add_edge(START, "one")
    return contents(attach(probe, builder).compile().invoke(HELLO))


@healthy("langgraph supervisor by structured routing")
def structured_supervisor(probe):
    route = iter(["researcher", "coder", "researcher", END])
    team = Team(probe).node("supervisor", lambda s: Command(goto=next(route)))
    back = lambda name: lambda s: Command(update={"log": [name]}, goto="supervisor")  # noqa: E731
    return (
        team.node("researcher", back("researcher"))
        .node("coder", back("coder"))
        .edges((START, "supervisor"))
        .compile()
        .invoke({"log": []})
    )


@healthy("langgraph planner that delegates in parallel and gets reports", ordered=False)
def parallel_supervisor(probe):
    plan = lambda s: Command(goto=[Send("a", s), Send("b", s)]) if not s["log"] else Command(goto=END)  # noqa: E731
    back = lambda name: lambda s: Command(update={"log": [name]}, goto="planner")  # noqa: E731
    return (
        Team(probe)
        .node("planner", plan)
        .node("a", back("a"))
        .node("b", back("b"))
        .edges((START, "planner"))
        .compile()
        .invoke({"log": []})
    )


def inner_team(probe, prefix="x"):
    return (
        Team(probe)
        .node(f"{prefix}1")
        .node(f"{prefix}2")
        .edges((START, f"{prefix}1"), (f"{prefix}1", f"{prefix}2"), (f"{prefix}2", END))
    )


@healthy("langgraph subgraph")
def subgraph(probe):
    team = Team(probe).node("before").node("after")
    team.builder.add_node("sub", inner_team(probe).builder.compile())
    return (
        team.edges((START, "before"), ("before", "sub"), ("sub", "after"), ("after", END)).compile().invoke({"log": []})
    )


@healthy("langgraph instrumented subgraph", ordered=False)
def watched_subgraph(probe):
    team = Team(probe).node("before").node("after")
    team.builder.add_node("sub", inner_team(probe).compile())
    graph = team.edges((START, "before"), ("before", "sub"), ("sub", "after"), ("after", END)).compile()
    for mode in ("updates", "values", "debug"):
        for chunk in graph.stream({"log": []}, subgraphs=True, stream_mode=mode):
            probe.saw(chunk)
    return graph.invoke({"log": []})


@healthy("langgraph instrumented subgraph with the names of its parent")
def same_names(probe):
    team = Team(probe).node("x1").node("x2")
    team.builder.add_node("sub", inner_team(probe).compile())
    return team.edges((START, "x1"), ("x1", "sub"), ("sub", "x2"), ("x2", END)).compile().invoke({"log": []})


@healthy("langgraph instrumented subgraph that many Sends start", ordered=False)
def sent_subgraph(probe):
    team = Team(probe).node("end")
    team.builder.add_node("sub", inner_team(probe).compile())
    team.edges(("sub", "end"), ("end", END)).branch(
        START, lambda s: [Send("sub", {"log": [i]}) for i in range(3)], ["sub"]
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph instrumented graph in a node of a plain graph")
def watched_in_plain(probe):
    inner = inner_team(probe).compile()
    team = (
        Team(probe)
        .node("calls", lambda s: {"log": inner.invoke({"log": []})["log"]})
        .edges((START, "calls"), ("calls", END))
    )
    return team.builder.compile().invoke({"log": []})


@healthy("langgraph instrumented graph in a function of an instrumented graph")
def watched_in_function(probe):
    inner = inner_team(probe).compile()
    team = Team(probe).node(
        "calls", lambda s: {"log": inner.invoke({"log": []})["log"] + inner.invoke({"log": [1]})["log"]}
    )
    return team.node("next").edges((START, "calls"), ("calls", "next"), ("next", END)).compile().invoke({"log": []})


@healthy("langgraph instrumented graph in a tool", ordered=False)
def watched_in_tool(probe):
    inner = inner_team(probe).compile()

    @tool
    def research(topic: str) -> str:
        """Researches a topic."""
        return ",".join(inner.invoke({"log": []})["log"])

    model = Model(answers=[calls(("research", {"topic": "tea"}), ("research", {"topic": "jam"})), "Done."], probe=probe)
    return contents(attach(probe, create_react_agent(model, [research])).invoke(HELLO))


@healthy("langgraph graphs in graphs on an event loop", ordered=False)
async def nested_async(probe):
    inner = inner_team(probe).compile()

    async def calls_inner(state):
        probe.call("calls")
        results = await asyncio.gather(inner.ainvoke({"log": []}), inner.ainvoke({"log": [1]}))
        return {"log": [r["log"] for r in results]}

    builder = StateGraph(Log)
    builder.add_node("calls", calls_inner)
    builder.add_node("sub", inner_team(probe, "y").compile())
    builder.add_edge(START, "calls")
    builder.add_edge(START, "sub")
    return await attach(probe, builder).compile().ainvoke({"log": []})


@healthy("langgraph interrupt in an instrumented subgraph")
def nested_interrupt(probe):
    inner = (
        Team(probe)
        .node("asks", lambda s: {"log": [interrupt("ok?")]})
        .node("acts")
        .edges((START, "asks"), ("asks", "acts"), ("acts", END))
    )
    team = Team(probe).node("end")
    team.builder.add_node("sub", inner.compile())
    graph = team.edges((START, "sub"), ("sub", "end"), ("end", END)).compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    first = graph.invoke({"log": []}, thread)
    probe.saw(graph.get_state(thread, subgraphs=True).tasks[0].state.values)
    return [first["__interrupt__"][0].value, graph.invoke(Command(resume="yes"), thread)]


@healthy("langgraph subgraph that commands its parent")
def parent_command(probe):
    inner = Team(probe).node("x", Command(update={"log": ["x"]}, goto="b", graph=Command.PARENT)).edges((START, "x"))
    team = Team(probe).node("b")
    team.builder.add_node("sub", inner.compile(), destinations=("b",))
    return team.edges((START, "sub"), ("b", END)).compile().invoke({"log": []})


@healthy("langgraph hierarchy of teams")
def hierarchy(probe):
    def group(name, *members):
        team = Team(probe).node(f"{name}-lead")
        for member in members:
            team.node(member).edges((f"{name}-lead", member), (member, f"{name}-end"))
        team.node(f"{name}-end", {"log": []}).edges((START, f"{name}-lead"), (f"{name}-end", END))
        return team.compile(name=name)

    top = Team(probe).node("chief").node("report")
    for name, members in (("research", ("search", "read")), ("writing", ("draft", "edit"))):
        top.builder.add_node(name, group(name, *members))
    top.edges((START, "chief"), ("chief", "research"), ("research", "writing"), ("writing", "report"), ("report", END))
    return sorted(top.compile().invoke({"log": []})["log"])


@healthy("langgraph handoff to a person and back")
def person(probe):
    model = Model(answers=["I need a person.", "Thank you."], probe=probe)
    ask = lambda s: Command(
        update={"messages": [model.invoke(s["messages"])]}, goto="person" if len(s["messages"]) < 2 else END
    )  # noqa: E731

    def answer(state):
        return Command(update={"messages": [("human", interrupt("a person, please"))]}, goto="agent")

    team = Team(probe, MessagesState).node("agent", ask).node("person", answer).edges((START, "agent"))
    graph = team.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    graph.invoke(HELLO, thread)
    return contents(graph.invoke(Command(resume="here I am"), thread))


@healthy("langgraph command from a graph two levels below")
def grandparent(probe):
    low = (
        Team(probe)
        .node("low", Command(update={"log": ["low"]}, goto="next", graph=Command.PARENT))
        .edges((START, "low"))
    )
    middle = Team(probe).node("next", Command(update={"log": ["next"]}, goto="end", graph=Command.PARENT))
    middle.builder.add_node("low", low.compile(), destinations=("next",))
    top = Team(probe).node("end")
    top.builder.add_node("middle", middle.edges((START, "low")).compile(), destinations=("end",))
    return top.edges((START, "middle"), ("end", END)).compile().invoke({"log": []})


@healthy("langgraph instrumented subgraph with its own memory")
def subgraph_memory(probe):
    inner = inner_team(probe).compile(checkpointer=True)
    team = Team(probe).node("end")
    team.builder.add_node("sub", inner)
    graph = team.edges((START, "sub"), ("sub", "end"), ("end", END)).compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    return [graph.invoke({"log": []}, thread), graph.invoke({"log": []}, thread)]


@healthy("langgraph tool that asks a person before it acts")
def asking_tool(probe):
    @tool
    def book(room: str) -> str:
        """Books a room."""
        probe.call("book")
        return f"{room}: {interrupt('sure?')}"

    model = Model(answers=[calls(("book", {"room": "12"})), "Booked."], probe=probe)
    graph = attach(probe, create_agent(model, [book], checkpointer=InMemorySaver()))
    thread = {"configurable": {"thread_id": "t"}}
    graph.invoke(HELLO, thread)
    return contents(graph.invoke(Command(resume="yes"), thread))


@healthy("langgraph tool that fails")
def failing_tool(probe):
    @tool
    def divide(x: int) -> int:
        """Divides."""
        probe.call("divide")
        return 1 // x

    builder = StateGraph(MessagesState)
    model = Model(answers=[calls(("divide", {"x": 0})), calls(("divide", {"x": 1})), "One."], probe=probe)
    builder.add_node("agent", lambda s: {"messages": [model.invoke(s["messages"])]})
    builder.add_node("tools", ToolNode([divide], handle_tool_errors=True))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return contents(attach(probe, builder).compile().invoke(HELLO))


@healthy("langgraph graph that invokes itself")
def recursive(probe):
    def work(state):
        depth = len(state["log"])
        probe.call("work")
        return {"log": graph.invoke({"log": state["log"] + [depth]})["log"][depth + 1 :] if depth < 3 else ["end"]}

    builder = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = attach(probe, builder).compile()
    return graph.invoke({"log": []})


@healthy("langgraph instrumented graphs in threads of a node", ordered=False)
def in_threads(probe):
    inner = inner_team(probe).compile()

    def work(state):
        probe.call("work")
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(lambda i: inner.invoke({"log": [i]}), range(3)))
        return {"log": [r["log"] for r in results]}

    team = Team(probe)
    team.builder.add_node("work", work)
    return team.edges((START, "work"), ("work", END)).compile().invoke({"log": []})


setting = contextvars.ContextVar("setting", default="unset")


@healthy("langgraph context variables of the caller and of nodes")
def context_variables(probe):
    def work(state):
        setting.set(setting.get() + "+node")
        return {"log": [setting.get()]}

    builder = StateGraph(Log)
    builder.add_node("a", work)
    builder.add_node("b", work)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = attach(probe, builder).compile()
    token = setting.set("caller")
    try:
        results = []
        for chunk in graph.stream({"log": []}, stream_mode="updates"):
            results.append([chunk, setting.get()])
            setting.set(f"caller {len(results)}")
        return results
    finally:
        setting.reset(token)
