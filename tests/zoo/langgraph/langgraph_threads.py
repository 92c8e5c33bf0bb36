"""Healthy graphs with a memory: checkpoints, interrupts and resumes, caches, retries, error handlers, time travel."""

import asyncio
import threading

from langchain_core.messages import HumanMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import NodeError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

from langgraph_attach import Log, Team, attach, history
from zoo import healthy

THREAD = {"configurable": {"thread_id": "t"}}


@healthy("langgraph thread of three turns")
def turns(probe):
    team = Team(probe, MessagesState).node("echo", lambda s: {"messages": [("ai", s["messages"][-1].content)]})
    graph = team.edges((START, "echo"), ("echo", END)).compile(checkpointer=InMemorySaver())
    for i in range(3):
        graph.invoke({"messages": [HumanMessage(f"say {i}", id=f"m{i}")]}, THREAD)
    return [m.content for m in graph.get_state(THREAD).values["messages"]]


@healthy("langgraph checkpoints of a graph with branches and Sends", ordered=False)
def checkpoints(probe):
    team = Team(probe).node("a").node("part", lambda s: {"log": [s["n"]]}).node("end")
    team.edges((START, "a"), ("part", "end"), ("end", END)).branch(
        "a", lambda s: [Send("part", {"n": n}) for n in (1, 2)], ["part"]
    )
    saver = InMemorySaver()
    graph = team.compile(checkpointer=saver)
    graph.invoke({"log": []}, THREAD)
    stored = [
        (
            c.checkpoint["channel_values"],
            sorted(c.checkpoint["channel_versions"]),
            sorted((ch, repr(v)) for _, ch, v in c.pending_writes),
        )
        for c in saver.list(THREAD)
    ]
    return [history(graph, THREAD), stored]


@healthy("langgraph checkpoints in a file")
def sqlite_checkpoints(probe):
    with SqliteSaver.from_conn_string(":memory:") as saver:
        team = (
            Team(probe)
            .node("a")
            .node("b", lambda s: {"log": [interrupt("ok?")]})
            .edges((START, "a"), ("a", "b"), ("b", END))
        )
        graph = team.compile(checkpointer=saver)
        graph.invoke({"log": []}, THREAD)
        graph.invoke(Command(resume="yes"), THREAD)
        blobs = (
            saver.conn.execute("SELECT checkpoint FROM checkpoints").fetchall()
            + saver.conn.execute("SELECT value FROM writes").fetchall()
        )
        return [history(graph, THREAD), any(b"digd" in bytes(b) for (b,) in blobs)]


@healthy("langgraph interrupt and resume")
def resume(probe):
    team = (
        Team(probe)
        .node("ask", lambda s: {"log": [interrupt("go on?")]})
        .node("act")
        .edges((START, "ask"), ("ask", "act"), ("act", END))
    )
    graph = team.compile(checkpointer=InMemorySaver())
    first = graph.invoke({"log": []}, THREAD)
    probe.saw(history(graph, THREAD))
    return [first["__interrupt__"][0].value, graph.invoke(Command(resume="yes"), THREAD), history(graph, THREAD)]


@healthy("langgraph interrupts in parallel branches, resumed one by one", ordered=False)
def parallel_resume(probe):
    asks = lambda name: lambda s: {"log": [interrupt(name)]}  # noqa: E731
    team = Team(probe).node("a", asks("a")).node("b", asks("b")).node("c").node("join")
    team.edges((START, "a"), (START, "b"), (START, "c"), (["a", "b", "c"], "join"), ("join", END))
    graph = team.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"log": []}, THREAD)
    for waiting in sorted(result["__interrupt__"], key=lambda i: i.value):
        result = graph.invoke(Command(resume={waiting.id: f"yes {waiting.value}"}), THREAD)
    return result


@healthy("langgraph resumed branches that fan out and meet", ordered=False)
def resumed_fans(probe):
    asks = lambda name: lambda s: {"log": [interrupt(name)]}  # noqa: E731
    team = Team(probe).node("a", asks("a")).node("b", asks("b")).node("join")
    for part in ("a1", "a2", "b1", "b2"):
        team.node(part).edges((part[0], part), (part, "join"))
    graph = team.edges((START, "a"), (START, "b"), ("join", END)).compile(checkpointer=InMemorySaver())
    waiting = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    return graph.invoke(Command(resume={i.id: i.value for i in waiting}), THREAD)


@healthy("langgraph breakpoints before and after nodes")
def breakpoints(probe):
    team = Team(probe).node("a").node("b").node("c").edges((START, "a"), ("a", "b"), ("b", "c"), ("c", END))
    graph = team.compile(checkpointer=InMemorySaver(), interrupt_before=["b"], interrupt_after=["b"])
    states = [graph.invoke({"log": []}, THREAD)]
    while graph.get_state(THREAD).next:
        states.append(graph.invoke(None, THREAD))
    return [states, history(graph, THREAD)]


@healthy("langgraph thread that is edited and continues")
def edited(probe):
    team = Team(probe).node("a").node("b").node("c").edges((START, "a"), ("a", "b"), ("b", "c"), ("c", END))
    graph = team.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"log": ["edit"]}, as_node="b")
    return [graph.invoke(None, THREAD), history(graph, THREAD)]


@healthy("langgraph time travel")
def time_travel(probe):
    team = Team(probe).node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    graph = team.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    past = [s for s in graph.get_state_history(THREAD) if s.next == ("b",)][0]
    return [graph.invoke(None, past.config), len(list(graph.get_state_history(THREAD)))]


def half_watched(probe, first, second):
    """A thread that stops at an interrupt with waiting Sends in one program, and continues in another."""

    def build():
        team = Team(probe).node("a").node("part", lambda s: {"log": [interrupt(s["n"])]}).node("end")
        team.edges((START, "a"), ("part", "end"), ("end", END))
        return team.branch("a", lambda s: [Send("part", {"n": n}) for n in (1, 2)], ["part"]).builder

    saver = InMemorySaver()
    graph = first(build()).compile(checkpointer=saver)
    waiting = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph = second(build()).compile(checkpointer=saver)
    return [graph.invoke(Command(resume={i.id: i.value for i in waiting}), THREAD), history(graph, THREAD)]


@healthy("langgraph thread that is interrupted with digd and resumed without", ordered=False)
def resumed_without(probe):
    return half_watched(probe, lambda b: attach(probe, b), lambda b: b)


@healthy("langgraph thread that is interrupted without digd and resumed with it", ordered=False)
def resumed_with(probe):
    return half_watched(probe, lambda b: b, lambda b: attach(probe, b))


@healthy("langgraph human who chooses the next node")
def human(probe):
    review = lambda s: Command(update={"log": ["review"]}, goto=interrupt("where?"))  # noqa: E731
    team = (
        Team(probe)
        .node("draft")
        .node("review", review)
        .node("publish")
        .edges((START, "draft"), ("draft", "review"), ("publish", END))
    )
    graph = team.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    graph.invoke(Command(resume="draft"), THREAD)
    return graph.invoke(Command(resume="publish"), THREAD)


@healthy("langgraph command as input")
def command_input(probe):
    team = Team(probe).node("a").node("b").edges((START, "a"), ("a", END), ("b", END))
    graph = team.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    return graph.invoke(Command(update={"log": ["in"]}, goto="b"), THREAD)


@healthy("langgraph thread with nothing left to do")
def nothing_left(probe):
    graph = Team(probe).node("a").edges((START, "a"), ("a", END)).compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    return [graph.invoke(None, THREAD), graph.get_state(THREAD).next]


@healthy("langgraph cached node in a chain")
def cached(probe):
    team = Team(probe).node("a").node("slow", {"log": ["slow"]}, cache_policy=CachePolicy()).node("b")
    graph = team.edges((START, "a"), ("a", "slow"), ("slow", "b"), ("b", END)).compile(cache=InMemoryCache())
    return [
        graph.invoke({"log": []}),
        graph.invoke({"log": []}),
        list(graph.stream({"log": []}, stream_mode="updates")),
    ]


@healthy("langgraph cached node at the end")
def cached_end(probe):
    team = Team(probe).node("a").node("slow", {"log": ["slow"]}, cache_policy=CachePolicy())
    graph = team.edges((START, "a"), ("a", "slow"), ("slow", END)).compile(cache=InMemoryCache())
    return [graph.invoke({"log": []}) for _ in range(2)]


@healthy("langgraph cached branches, and Sends to a cached node", ordered=False)
def cached_branches(probe):
    team = Team(probe).node("part", lambda s: {"log": [s["n"]]}, cache_policy=CachePolicy()).node("other").node("join")
    team.node("deep", {"log": ["deep"]}, cache_policy=CachePolicy()).edges(
        ("other", "deep"), ("part", "join"), ("deep", "join"), ("join", END)
    )
    team.edges((START, "other")).branch(START, lambda s: [Send("part", {"n": n}) for n in (1, 2, 3)], ["part"])
    graph = team.compile(cache=InMemoryCache())
    return [graph.invoke({"log": []}) for _ in range(3)]


@healthy("langgraph graph of cached nodes only")
def cached_all(probe):
    team = Team(probe)
    for name in "abc":
        team.node(name, cache_policy=CachePolicy())
    graph = team.edges((START, "a"), ("a", "b"), ("b", "c"), ("c", END)).compile(cache=InMemoryCache())
    return [graph.invoke({"log": []}) for _ in range(2)]


def refuse(state):
    raise ConnectionError("no model")


@healthy("langgraph retries")
def retries(probe):
    team = (
        Team(probe)
        .node("a", refuse, refuse, {"log": ["a"]}, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
        .node("b")
    )
    return team.edges((START, "a"), ("a", "b"), ("b", END)).compile().invoke({"log": []})


@healthy("langgraph retries beside a branch that works", ordered=False)
def parallel_retries(probe):
    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    team = Team(probe).node("a", refuse, {"log": ["a"]}, retry_policy=policy).node("b").node("join")
    return team.edges((START, "a"), (START, "b"), (["a", "b"], "join"), ("join", END)).compile().invoke({"log": []})


@healthy("langgraph error handler")
def error_handler(probe):
    def handle(state, error: NodeError):
        probe.call("handle")
        return Command(update={"log": [f"{error.node} failed"]}, goto="b")

    team = Team(probe).node("a", refuse, error_handler=handle).node("b").edges((START, "a"), ("a", "b"), ("b", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph model that fails and is replaced in the node")
def fallback(probe):
    def ask(state):
        try:
            return refuse(state)
        except ConnectionError:
            return {"log": ["fallback"]}

    return Team(probe).node("ask", ask).edges((START, "ask"), ("ask", END)).compile().invoke({"log": []})


@healthy("langgraph invocations at the same time", ordered=False)
def concurrent(probe):
    team = Team(probe).node("a").node("b").node("c").edges((START, "a"), ("a", "b"), ("a", "c"), ("b", END), ("c", END))
    graph, results = team.compile(), {}
    workers = [threading.Thread(target=lambda i=i: results.update({i: graph.invoke({"log": [i]})})) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [results[i] for i in range(6)]


@healthy("langgraph invocations at the same time on an event loop", ordered=False)
async def concurrent_async(probe):
    team = Team(probe).node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    graph = team.compile()
    return await asyncio.gather(*(graph.ainvoke({"log": [i]}) for i in range(6)))


@healthy("langgraph task that is cancelled")
async def cancelled(probe):
    begun = asyncio.Event()

    async def waits(state):
        begun.set()
        await asyncio.Event().wait()

    builder = StateGraph(Log)
    builder.add_node("a", waits)
    builder.add_edge(START, "a")
    graph = attach(probe, builder).compile()
    task = asyncio.ensure_future(graph.ainvoke({"log": []}))
    await begun.wait()
    task.cancel()
    return await asyncio.gather(task, return_exceptions=True)


@healthy("langgraph graph that a node starts in the background", ordered=False)
async def background_graph(probe):
    tasks, answered = [], asyncio.Event()
    inner = StateGraph(Log)

    async def waits(state):
        probe.call("waits")
        await answered.wait()
        return {"log": ["waited"]}

    inner.add_node("waits", waits)
    inner.add_node("late", lambda state: {"log": [f"late {probe.call('late')}"]})
    inner.add_edge(START, "waits")
    inner.add_edge("waits", "late")
    logger = attach(probe, inner).compile()

    async def starts(state):
        tasks.append(asyncio.create_task(logger.ainvoke({"log": []})))
        await asyncio.sleep(0)
        return {"log": ["started"]}

    builder = StateGraph(Log)
    builder.add_node("starts", starts)
    builder.add_node("answers", lambda state: {"log": ["answered"]})
    builder.add_edge(START, "starts")
    builder.add_edge("starts", "answers")
    result = await attach(probe, builder).compile().ainvoke({"log": []})
    answered.set()
    return [result, *await asyncio.gather(*tasks)]


@healthy("langgraph durability modes")
def durability(probe):
    results = []
    for mode in ("sync", "async", "exit"):
        saver = InMemorySaver()
        graph = Team(probe).node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END)).compile(checkpointer=saver)
        graph.invoke({"log": []}, THREAD, durability=mode)
        results.append(history(graph, THREAD))
    return results


@healthy("langgraph node that raises, and a caller who tries again", ordered=False)
def raising(probe):
    team = (
        Team(probe)
        .node("a")
        .node("b", refuse, {"log": ["b"]})
        .node("c")
        .edges((START, "a"), ("a", "b"), ("a", "c"), ("b", END))
    )
    graph = team.compile()
    try:
        return graph.invoke({"log": []})
    except ConnectionError as error:
        return [str(error), graph.invoke({"log": []})]


@healthy("langgraph node that raises on an event loop while others work", ordered=False)
async def raising_async(probe):
    begun = asyncio.Event()

    async def waits(state):
        begun.set()
        await asyncio.Event().wait()

    async def raises(state):
        await begun.wait()
        raise ConnectionError("no model")

    builder = StateGraph(Log)
    builder.add_node("a", waits)
    builder.add_node("b", raises)
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    return await attach(probe, builder).compile().ainvoke({"log": []})


@healthy("langgraph retried subgraph")
def retried_subgraph(probe):
    inner = (
        Team(probe).node("x", refuse, {"log": ["x"]}).node("y").edges((START, "x"), ("x", "y"), ("y", END)).compile()
    )
    team = Team(probe).node("end")
    team.builder.add_node("sub", inner, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    return team.edges((START, "sub"), ("sub", "end"), ("end", END)).compile().invoke({"log": []})


@healthy("langgraph resumed after an exception", ordered=False)
def resumed_after_exception(probe):
    team = Team(probe).node("a").node("b", refuse, {"log": ["b"]}).node("c").node("d")
    team.edges((START, "a"), ("a", "b"), ("a", "c"), (["b", "c"], "d"), ("d", END))
    graph = team.compile(checkpointer=InMemorySaver())
    try:
        graph.invoke({"log": []}, THREAD)
    except ConnectionError:
        return graph.invoke(None, THREAD)


@healthy("langgraph exceptions keep their cause and context")
def exceptions(probe):
    def broken(state):
        raise ValueError("broken") from KeyError("why")

    def chained(state):
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")  # noqa: B904

    def stops(state):
        raise StopIteration("enough")

    def chain_of(error):
        return [
            repr(error),
            repr(error.__cause__),
            repr(error.__context__),
            getattr(error, "__suppress_context__", None),
        ]

    found = []
    for behaviour in (broken, chained, stops):
        graph = Team(probe).node("a").node("b", behaviour).edges((START, "a"), ("a", "b")).compile()
        try:
            raise LookupError("what the caller handles")
        except LookupError:
            try:
                graph.invoke({"log": []})
            except Exception as error:
                found.append(chain_of(error))
            try:
                asyncio.run(graph.ainvoke({"log": []}))
            except Exception as error:
                found.append(chain_of(error))
    return found


@healthy("langgraph stream that its reader closes")
def closed_stream(probe):
    async def slow(state):
        try:
            await asyncio.Event().wait()
        finally:
            probe.call("slow has ended")

    async def read():
        team = Team(probe).node("a")
        team.builder.add_node("slow", slow)
        graph = team.edges((START, "a"), ("a", "slow")).compile()
        chunks = graph.astream({"log": []}, stream_mode="tasks")
        async for chunk in chunks:
            if chunk["name"] == "slow":
                break
        await asyncio.sleep(0)  # the node begins
        await chunks.aclose()
        return sorted(task.get_coro().__qualname__ for task in asyncio.all_tasks())

    return asyncio.run(read())
