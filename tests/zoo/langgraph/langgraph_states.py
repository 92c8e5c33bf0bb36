"""Healthy graphs by their data: typed states, typed and JSON messages, empty answers, streams."""

import copy
import dataclasses
import json
import operator
import pickle
import warnings
from typing import Annotated, Any, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import GraphRecursionError
from langgraph.func import task
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.managed import RemainingSteps
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send
from pydantic import BaseModel

from langgraph_attach import Log, Model, Team, attach
from zoo import healthy


class Order(BaseModel):
    item: str = ""
    steps: Annotated[list, operator.add] = []


@healthy("langgraph pydantic state")
def pydantic_state(probe):
    team = (
        Team(probe, Order)
        .node("take", {"item": "tea", "steps": ["take"]})
        .node("pack", lambda s: {"steps": [f"pack {s.item}"]})
    )
    return team.edges((START, "take"), ("take", "pack"), ("pack", END)).compile().invoke({"item": "none"})


@dataclasses.dataclass
class Trip:
    town: str
    stops: Annotated[list, operator.add] = dataclasses.field(default_factory=list)


@healthy("langgraph dataclass state")
def dataclass_state(probe):
    team = Team(probe, Trip).node("go", lambda s: {"stops": [s.town]}).node("rest", {"stops": ["inn"]})
    return team.edges((START, "go"), ("go", "rest"), ("rest", END)).compile().invoke(Trip("Ulm"))


class Chat(BaseModel):
    messages: Annotated[list, add_messages]


@healthy("langgraph pydantic state with messages")
def pydantic_messages(probe):
    model = Model(answers=["hello", "goodbye"], probe=probe)
    team = Team(probe, Chat).node("ask", lambda s: {"messages": [model.invoke(s.messages)]})
    team.node("close", lambda s: {"messages": [model.invoke(s.messages)]})
    result = (
        team.edges((START, "ask"), ("ask", "close"), ("close", END))
        .compile()
        .invoke({"messages": [HumanMessage("hi", id="m1")]})
    )
    return [m.content for m in result["messages"]]


@healthy("langgraph input, output and private schemas")
def schemas(probe):
    class Whole(TypedDict):
        question: str
        draft: str
        answer: str

    class Question(TypedDict):
        question: str

    class Answer(TypedDict):
        answer: str

    team = Team(probe, Whole, input_schema=Question, output_schema=Answer).node(
        "a", lambda s: {"draft": s["question"] + "!"}
    )
    team.node("b", lambda s: {"answer": s["draft"]})
    return team.edges((START, "a"), ("a", "b"), ("b", END)).compile().invoke({"question": "why"})


@healthy("langgraph state that is one list")
def root_state(probe):
    builder = StateGraph(Annotated[list, operator.add])
    builder.add_node("a", lambda s: [probe.call("a")])
    builder.add_node("b", lambda s: [len(s)])
    for edge in ((START, "a"), ("a", "b"), ("b", END)):
        builder.add_edge(*edge)
    return attach(probe, builder).compile().invoke([0])


@healthy("langgraph JSON messages", ordered=False)
def json_messages(probe):
    part = lambda s: {"log": [json.dumps({"part": json.loads(s["task"])["id"], "ok": True})]}  # noqa: E731
    team = (
        Team(probe)
        .node("part", part)
        .node("merge", lambda s: {"log": [json.dumps([json.loads(x)["part"] for x in s["log"]])]})
    )
    team.edges(("part", "merge"), ("merge", END))
    team.branch(START, lambda s: [Send("part", {"task": json.dumps({"id": i})}) for i in range(3)], ["part"])
    return team.compile().invoke({"log": []})


@dataclasses.dataclass(frozen=True)
class Job:
    number: int


@healthy("langgraph typed arguments of Send", ordered=False)
def typed_send(probe):
    team = Team(probe).node("do", lambda job: {"log": [job.number]}).edges(("do", END))
    team.branch(START, lambda s: [Send("do", Job(i)) for i in range(3)], ["do"])
    return team.compile().invoke({"log": []})


class Opaque:
    """A value that cannot be compared or encoded as JSON."""

    def __eq__(self, other: Any) -> bool:
        raise TypeError("an Opaque cannot be compared")

    __hash__ = object.__hash__


@healthy("langgraph arguments that cannot be compared or encoded", ordered=False)
def opaque_send(probe):
    builder = StateGraph(Log)
    builder.add_node("do", lambda s: {"log": [probe.call("do") > 0]})
    builder.add_conditional_edges(START, lambda s: [Send("do", Opaque()), Send("do", {"x": Opaque()})], ["do"])
    builder.add_edge("do", END)
    return attach(probe, builder).compile().invoke({"log": []})


@healthy("langgraph empty answers")
def empty(probe):
    team = Team(probe).node("a", None).node("b", {}).node("c", {"log": []})
    return team.edges((START, "a"), ("a", "b"), ("b", "c"), ("c", END)).compile().invoke({"log": []})


@healthy("langgraph model that answers nothing")
def empty_message(probe):
    model = Model(answers=[""], probe=probe)
    team = Team(probe, MessagesState).node("ask", lambda s: {"messages": [model.invoke(s["messages"])]})
    result = team.edges((START, "ask"), ("ask", END)).compile().invoke({"messages": [("user", "hi")]})
    return [m.content for m in result["messages"]]


def streaming(probe):
    def writes(state):
        get_stream_writer()({"progress": 1})
        return {"log": ["b"]}

    team = Team(probe).node("a").node("b", writes).node("c").node("d")
    return team.edges((START, "a"), ("a", "b"), ("a", "c"), (["b", "c"], "d"), ("d", END)).compile()


def without_order(chunks):
    return sorted((json.dumps(c, default=repr, sort_keys=True) for c in chunks))


for mode in ("values", "updates", "custom", "tasks", "debug", "checkpoints", "messages"):

    @healthy(f"langgraph stream mode {mode}", ordered=False)
    def stream_mode(probe, mode=mode):
        return [probe.saw(chunk) for chunk in streaming(probe).stream({"log": []}, stream_mode=mode)] and None


@healthy("langgraph several stream modes on an event loop", ordered=False)
async def stream_modes(probe):
    modes = ["values", "updates", "custom", "tasks"]
    async for chunk in streaming(probe).astream({"log": []}, stream_mode=modes, subgraphs=True):
        probe.saw(chunk)


@healthy("langgraph streamed events", ordered=False)
async def streamed_events(probe):
    model = Model(answers=["one", "two"], probe=probe)
    team = Team(probe, MessagesState).node("ask", lambda s: {"messages": [model.invoke(s["messages"])]})
    graph = team.edges((START, "ask"), ("ask", END)).compile()
    async for event in graph.astream_events({"messages": [("user", "hi")]}, version="v2"):
        probe.saw([event["event"], event["name"], event["tags"], sorted(event["metadata"])])


@healthy("langgraph streamed messages")
def streamed_messages(probe):
    model = Model(answers=["one two three"], probe=probe)
    team = Team(probe, MessagesState).node("ask", lambda s: {"messages": [model.invoke(s["messages"])]})
    for message, metadata in (
        team.edges((START, "ask"), ("ask", END))
        .compile()
        .stream({"messages": [("user", "hi")]}, stream_mode="messages")
    ):
        probe.saw([message.content, metadata["langgraph_node"], metadata["langgraph_step"]])


@healthy("langgraph reader that leaves a stream early")
def early_leave(probe):
    team = Team(probe).node("a").node("b").node("c").edges((START, "a"), ("a", "b"), ("b", "c"), ("c", END))
    for chunk in team.compile().stream({"log": []}, stream_mode="updates"):
        return chunk


@healthy("langgraph graph that is copied, configured, drawn and run in batches", ordered=False)
def copies(probe):
    graph = Team(probe).node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END)).compile(name="twins")
    named = graph.with_config(tags=["x"], recursion_limit=7)
    results = [g.invoke({"log": []}) for g in (graph, copy.copy(graph), named, graph.copy())]
    return [
        results,
        graph.batch([{"log": [1]}, {"log": [2]}]),
        graph.get_graph().draw_mermaid(),
        graph.name,
        graph.get_name(),
        sorted(graph.nodes),
        graph.get_input_jsonschema(),
        type(graph.builder).__name__,
        isinstance(graph, type(named)),
    ]


def first(state):
    return {"log": ["a"]}


@healthy("langgraph graph that is pickled and copied in depth")
def pickled(probe):
    builder = StateGraph(Log)
    builder.add_node("a", first)
    builder.add_edge(START, "a")
    builder.add_edge("a", END)
    attach(probe, builder)
    graphs = [builder.compile(), copy.deepcopy(builder).compile(), copy.deepcopy(builder.compile())]
    graphs.append(pickle.loads(pickle.dumps(builder)).compile())
    return [g.invoke({"log": []}) for g in graphs]


@healthy("langgraph node that reads its configuration")
def configuration(probe):
    def reads(state, config, runtime: Runtime):
        probe.saw(
            [
                sorted(config),
                sorted(config["configurable"]),
                sorted(config["metadata"]),
                config["tags"],
                runtime.context,
            ]
        )
        return {"log": [config["configurable"]["color"]]}

    builder = StateGraph(Log, context_schema=dict)
    builder.add_node("a", reads)
    builder.add_edge(START, "a")
    graph = attach(probe, builder).compile()
    return graph.invoke(
        {"log": []}, {"configurable": {"color": "red"}, "tags": ["t"], "metadata": {"m": 1}}, context={"user": "ann"}
    )


@healthy("langgraph node that raises, and a caller who expects it")
def limits(probe):
    graph = Team(probe).node("a", lambda s: Command(update={"log": ["a"]}, goto=END)).edges((START, "a")).compile()
    results = []
    for wrong in ({"nothing": 1}, None, "text"):
        try:
            results.append(graph.invoke(wrong))
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")
    return results


@healthy("langgraph message history that ends with a call of tools")
def open_calls(probe):
    team = (
        Team(probe, MessagesState).node("a", {"messages": [AIMessage("done", id="m2")]}).edges((START, "a"), ("a", END))
    )
    return [m.content for m in team.compile().invoke({"messages": [HumanMessage("hi", id="m1")]})["messages"]]


class Strict(BaseModel):
    number: int = 0


@healthy("langgraph model that causes a pydantic warning")
def warned(probe):
    wrong = Strict()
    vars(wrong)["number"] = "text"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = Team(probe).node("a", {"log": [wrong]}).edges((START, "a"), ("a", END)).compile().invoke({"log": []})
    return [result["log"][0].number, [str(w.message) for w in caught]]


class Recorder(BaseCallbackHandler):
    """Records the callbacks of a tracer."""

    def __init__(self, probe):
        self.probe = probe

    def on_chain_start(self, serialized, inputs, *, parent_run_id=None, tags=None, metadata=None, **kwargs):
        self.probe.saw(["start", kwargs.get("name"), parent_run_id is None, tags, sorted(metadata or {}), inputs])

    def on_chain_end(self, outputs, **kwargs):
        self.probe.saw(["end", outputs])

    def on_chain_error(self, error, **kwargs):
        self.probe.saw(["error", str(error)])


@healthy("langgraph traced by callbacks", ordered=False)
def traced(probe):
    team = Team(probe).node("a").node("b", lambda s: Command(update={"log": ["b"]}, goto="c")).node("c").node("d")
    team.edges((START, "a"), (START, "b"), (["a", "c"], "d"), ("d", END)).branch("a", lambda s: "c", ["c", END])
    return team.compile().invoke({"log": []}, {"callbacks": [Recorder(probe)], "run_name": "traced"})


@healthy("langgraph graph that stops before its recursion limit")
def remaining_steps(probe):
    class Counted(TypedDict):
        log: Annotated[list, operator.add]
        left: RemainingSteps

    team = Team(probe, Counted).node(
        "a", lambda s: Command(update={"log": [s["left"]]}, goto="a" if s["left"] > 2 else END)
    )
    return team.edges((START, "a")).compile().invoke({"log": []}, {"recursion_limit": 9})


@healthy("langgraph loop that the user stops by a recursion limit")
def chosen_limit(probe):
    thread = {"configurable": {"thread_id": "t"}}
    team = Team(probe).node("a", lambda s: Command(update={"log": ["a"]}, goto="b")).node("b", {"log": ["b"]})
    graph = team.edges((START, "a"), ("b", "a")).compile(checkpointer=InMemorySaver())
    try:
        graph.invoke({"log": []}, {**thread, "recursion_limit": 7})
    except GraphRecursionError as stop:
        probe.saw(str(stop))
    return graph.get_state(thread).values


@healthy("langgraph nodes that are runnables, objects and tasks", ordered=False)
def kinds_of_nodes(probe):
    class Adder:
        def __call__(self, state):
            return {"log": [probe.call("adder")]}

    @task
    def double(x):
        probe.call("double")
        return 2 * x

    builder = StateGraph(Log)
    builder.add_node("object", Adder())
    builder.add_node("lambda", RunnableLambda(lambda s: s["log"]) | RunnableLambda(lambda log: {"log": [len(log)]}))
    builder.add_node("tasks", lambda s: {"log": [f.result() for f in [double(i) for i in (1, 2, 3)]]})
    builder.add_node(
        "store", lambda s, store: store.put(("n",), "k", {"v": 1}) or {"log": [store.get(("n",), "k").value]}
    )
    builder.add_sequence([("one", lambda s: {"log": [1]}), ("two", lambda s: {"log": [2]})])
    for edge in (
        (START, "object"),
        ("object", "lambda"),
        ("lambda", "tasks"),
        ("tasks", "store"),
        ("store", "one"),
        ("two", END),
    ):
        builder.add_edge(*edge)
    return attach(probe, builder).compile(store=InMemoryStore()).invoke({"log": []})


@healthy("langgraph one node at a time", ordered=False)
def one_at_a_time(probe):
    team = Team(probe).node("part", lambda s: {"log": [s["n"]]}).node("end").edges(("part", "end"), ("end", END))
    team.branch(START, lambda s: [Send("part", {"n": n}) for n in range(4)], ["part"])
    return team.compile().invoke({"log": []}, {"max_concurrency": 1})


@healthy("langgraph drawing of graphs in graphs")
def drawings(probe):
    inner = Team(probe).node("x").edges((START, "x"), ("x", END)).compile()
    team = Team(probe).node("a")
    team.builder.add_node("sub", inner)
    team.edges((START, "a"), ("sub", END)).branch("a", lambda s: "go", {"go": "sub", "stop": END})
    graph = team.compile()
    graph.invoke({"log": []})
    return [
        graph.get_graph(xray=True).draw_mermaid(),
        [n for n, _ in graph.get_subgraphs()],
        sorted(graph.channels),
        {k: [type(w).__name__ for w in n.flat_writers] for k, n in graph.nodes.items()},
    ]
