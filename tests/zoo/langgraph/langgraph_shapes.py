"""Healthy graphs in the shapes of LangGraph's guides: chains, routers, loops, branches, joins, deferred nodes, Send."""

import random

from langgraph.graph import END, START
from langgraph.types import Command, Send

from langgraph_attach import Team, attach
from zoo import healthy


@healthy("langgraph chain")
def chain(probe):
    team = Team(probe).node("outline").node("draft").node("polish")
    return (
        team.edges((START, "outline"), ("outline", "draft"), ("draft", "polish"), ("polish", END))
        .compile()
        .invoke({"log": []})
    )


@healthy("langgraph chain on an event loop")
async def async_chain(probe):
    team = Team(probe).node("outline").node("draft")
    return await team.edges((START, "outline"), ("outline", "draft"), ("draft", END)).compile().ainvoke({"log": []})


@healthy("langgraph single node")
def single(probe):
    return Team(probe).node("only").edges((START, "only"), ("only", END)).compile().invoke({"log": []})


@healthy("langgraph router")
def router(probe):
    team = (
        Team(probe)
        .node("classify")
        .node("billing")
        .node("support")
        .edges((START, "classify"), ("billing", END), ("support", END))
    )
    team.branch("classify", lambda state: "support" if "help" in state["log"] else "billing", ["billing", "support"])
    graph = team.compile()
    return [graph.invoke({"log": ["help"]}), graph.invoke({"log": ["invoice"]})]


@healthy("langgraph router from START that may end at once")
def start_router(probe):
    team = Team(probe).node("work").edges(("work", END))
    team.branch(START, lambda state: "work" if state["log"] else END, ["work", END])
    graph = team.compile()
    return [graph.invoke({"log": [1]}), graph.invoke({"log": []})]


@healthy("langgraph writer and critic loop")
def writer_critic(probe):
    team = Team(probe).node("writer", lambda s: {"log": [f"draft {len(s['log'])}"]}).node("critic", {"log": ["again"]})
    team.edges((START, "writer"), ("writer", "critic"))
    team.branch("critic", lambda state: "writer" if len(state["log"]) < 9 else END, ["writer", END])
    return team.compile().invoke({"log": []})


@healthy("langgraph loop by goto with a counter in the state")
def goto_loop(probe):
    step = lambda s: Command(update={"log": ["x"]}, goto="b" if len(s["log"]) < 12 else END)  # noqa: E731
    back = lambda s: Command(update={"log": ["y"]}, goto="a")  # noqa: E731
    return Team(probe).node("a", step).node("b", back).edges((START, "a")).compile().invoke({"log": []})


@healthy("langgraph node that repeats itself")
def self_loop(probe):
    team = Team(probe).node("count").edges((START, "count"))
    team.branch("count", lambda state: "count" if len(state["log"]) < 8 else END)
    return team.compile().invoke({"log": []})


@healthy("langgraph node that polls itself by a bare goto")
def polling(probe):
    wait, ready = Command(goto="poll"), Command(update={"log": ["ready"]}, goto="use")
    return (
        Team(probe)
        .node("poll", *[wait] * 6, ready)
        .node("use")
        .edges((START, "poll"), ("use", END))
        .compile()
        .invoke({"log": []})
    )


@healthy("langgraph parallel branches that each end", ordered=False)
def parallel_ends(probe):
    team = Team(probe).node("plan").node("left").node("right")
    team.edges((START, "plan"), ("plan", "left"), ("plan", "right"), ("left", END), ("right", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph parallel branches that meet without a join list", ordered=False)
def parallel_meet(probe):
    team = Team(probe).node("plan").node("left").node("right").node("merge")
    team.edges(
        (START, "plan"), ("plan", "left"), ("plan", "right"), ("left", "merge"), ("right", "merge"), ("merge", END)
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph parallel branches from START with a join list", ordered=False)
def parallel_join(probe):
    team = Team(probe).node("left").node("right").node("merge")
    team.edges((START, "left"), (START, "right"), (["left", "right"], "merge"), ("merge", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph uneven join", ordered=False)
def uneven_join(probe):
    team = Team(probe).node("short").node("long1").node("long2").node("long3").node("merge")
    team.edges(
        (START, "short"),
        (START, "long1"),
        ("long1", "long2"),
        ("long2", "long3"),
        (["short", "long3"], "merge"),
        ("merge", END),
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph uneven branches without a join list run the last node twice", ordered=False)
def uneven_meet(probe):
    team = Team(probe).node("short").node("long1").node("long2").node("merge")
    team.edges(
        (START, "short"), (START, "long1"), ("long1", "long2"), ("short", "merge"), ("long2", "merge"), ("merge", END)
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph branches that each fan out and meet at one join", ordered=False)
def fans_meet(probe):
    team = Team(probe).node("a").node("b").node("join")
    parts = ["a1", "a2", "b1", "b2"]
    for part in parts:
        team.node(part).edges((part[0], part))
    team.edges((START, "a"), (START, "b"), (parts, "join"), ("join", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph branches that each fan out and meet without a join list", ordered=False)
def fans_meet_loosely(probe):
    team = Team(probe).node("a").node("b").node("collect")
    for part in ("a1", "a2", "b1", "b2"):
        team.node(part).edges((part[0], part), (part, "collect"))
    return team.edges((START, "a"), (START, "b"), ("collect", END)).compile().invoke({"log": []})


@healthy("langgraph conditional edge to several nodes", ordered=False)
def conditional_fan_out(probe):
    team = Team(probe).node("plan").node("x").node("y").node("z").node("merge")
    team.edges((START, "plan"), ("x", "merge"), ("y", "merge"), ("z", "merge"), ("merge", END))
    team.branch("plan", lambda state: ["x", "z"], ["x", "y", "z"])
    return team.compile().invoke({"log": []})


@healthy("langgraph several conditional edges from one node", ordered=False)
def conditional_edges(probe):
    team = Team(probe).node("plan").node("x").node("y").edges((START, "plan"), ("x", END), ("y", END))
    team.branch("plan", lambda state: "x", ["x", END]).branch("plan", lambda_choose_y, ["y", END])
    return team.compile().invoke({"log": []})


def lambda_choose_y(state):
    return "y"


@healthy("langgraph bare goto to several nodes", ordered=False)
def bare_fan_out(probe):
    team = Team(probe).node("plan", Command(goto=["x", "y"])).node("x").node("y").node("merge")
    return team.edges((START, "plan"), (["x", "y"], "merge"), ("merge", END)).compile().invoke({"log": []})


@healthy("langgraph deferred node", ordered=False)
def deferred(probe):
    team = Team(probe).node("a").node("b").node("b2").node("b3").node("last", defer=True)
    team.edges((START, "a"), (START, "b"), ("b", "b2"), ("b2", "b3"), ("a", "last"), ("b3", "last"), ("last", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph deferred join list beside a branch that ends", ordered=False)
def deferred_join(probe):
    team = Team(probe).node("a").node("b").node("side").node("last", defer=True)
    team.edges((START, "a"), (START, "b"), (START, "side"), ("side", END), (["a", "b"], "last"), ("last", END))
    return team.compile().invoke({"log": []})


@healthy("langgraph map-reduce with a join", ordered=False)
def map_reduce(probe):
    team = Team(probe).node("part", lambda s: {"log": [s["n"]]}).node("reduce", lambda s: {"log": [sum(s["log"])]})
    team.edges(("part", "reduce"), ("reduce", END)).branch(
        START, lambda state: [Send("part", {"n": n}) for n in range(5)], ["part"]
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph map-reduce to END", ordered=False)
def map_to_end(probe):
    team = (
        Team(probe)
        .node("plan", {"log": []})
        .node("part", lambda s: {"log": [s["n"]]})
        .edges((START, "plan"), ("part", END))
    )
    team.branch("plan", lambda state: [Send("part", {"n": n}) for n in range(4)], ["part"])
    return team.compile().invoke({"log": []})


@healthy("langgraph map-reduce with equal arguments", ordered=False)
def map_equal(probe):
    same = {"n": 7}
    team = (
        Team(probe).node("part", lambda s: {"log": [s["n"]]}).node("reduce").edges(("part", "reduce"), ("reduce", END))
    )
    team.branch(START, lambda state: [Send("part", same) for _ in range(3)], ["part"])
    return team.compile().invoke({"log": []})


@healthy("langgraph nested map-reduce", ordered=False)
def nested_map(probe):
    team = Team(probe).node("chapter", {"log": []}).node("section", lambda s: {"log": [s["n"]]}).node("book")
    team.edges(("section", "book"), ("book", END))
    team.branch(START, lambda state: [Send("chapter", {"n": n, "log": []}) for n in (1, 2)], ["chapter"])
    team.builder.add_conditional_edges(
        "chapter", lambda state: [Send("section", {"n": m}) for m in (10, 20)], ["section"]
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph map-reduce in two stages", ordered=False)
def two_stages(probe):
    team = (
        Team(probe)
        .node("read", lambda s: {"log": [s["n"]]})
        .node("sort", {"log": []})
        .node("check", lambda s: {"log": [-s["n"]]})
    )
    team.node("report").edges(("read", "sort"), ("check", "report"), ("report", END))
    team.branch(START, lambda state: [Send("read", {"n": n}) for n in (1, 2, 3)], ["read"])
    team.branch("sort", lambda state: [Send("check", {"n": n}) for n in state["log"]], ["check"])
    return team.compile().invoke({"log": []})


@healthy("langgraph two planners that send to one pool of workers", ordered=False)
def shared_pool(probe):
    send = lambda first: lambda s: Command(goto=[Send("worker", {"n": first + i}) for i in range(3)])  # noqa: E731
    team = (
        Team(probe)
        .node("east", send(0))
        .node("west", send(10))
        .node("worker", lambda s: {"log": [s["n"]]})
        .node("collect")
    )
    return (
        team.edges((START, "east"), (START, "west"), ("worker", "collect"), ("collect", END))
        .compile()
        .invoke({"log": []})
    )


@healthy("langgraph Send to different nodes", ordered=False)
def send_mixed(probe):
    team = (
        Team(probe)
        .node("a", lambda s: {"log": ["a", s["n"]]})
        .node("b", lambda s: {"log": ["b", s["n"]]})
        .edges(("a", END), ("b", END))
    )
    team.branch(START, lambda state: [Send("a", {"n": 1}), Send("b", {"n": 2})], ["a", "b"])
    return team.compile().invoke({"log": []})


@healthy("langgraph side branch that is shorter than the main one", ordered=False)
def short_side(probe):
    team = (
        Team(probe)
        .node("main1")
        .node("main2")
        .node("main3")
        .node("audit")
        .edges((START, "main1"), ("main1", "main2"), ("main2", "main3"))
    )
    return team.edges(("main1", "audit"), ("audit", END), ("main3", END)).compile().invoke({"log": []})


@healthy("langgraph side branch that is longer than the main one", ordered=False)
def long_side(probe):
    team = (
        Team(probe)
        .node("main")
        .node("s1")
        .node("s2")
        .node("s3")
        .edges((START, "main"), (START, "s1"), ("s1", "s2"), ("s2", "s3"))
    )
    return team.edges(("main", END), ("s3", END)).compile().invoke({"log": []})


@healthy("langgraph side branch whose answer is named", ordered=False)
def named_answer(probe):
    team = (
        Team(probe)
        .node("writer")
        .node("metrics")
        .node("store")
        .edges((START, "writer"), (START, "metrics"), ("metrics", "store"))
    )
    return team.edges(("writer", END), ("store", END)).compile({"submits": ["writer"]}).invoke({"log": []})


@healthy("langgraph nodes without a way out", ordered=False)
def no_way_out(probe):
    team = Team(probe).node("a").node("log1").node("log2").edges((START, "a"), ("a", "log1"), ("a", "log2"))
    return team.compile().invoke({"log": []})


@healthy("langgraph escalation ladder by bare goto")
def ladder(probe):
    team = Team(probe)
    for tier in range(1, 6):
        team.node(f"tier{tier}", Command(goto=f"tier{tier + 1}"))
    return team.node("tier6").edges((START, "tier1"), ("tier6", END)).compile().invoke({"log": []})


@healthy("langgraph refusal that is returned once")
def refusal(probe):
    team = (
        Team(probe)
        .node("desk", Command(goto="expert"), Command(update={"log": ["desk"]}, goto=END))
        .node("expert", Command(goto="desk"))
    )
    return team.edges((START, "desk")).compile().invoke({"log": []})


@healthy("langgraph goto beside a static edge", ordered=False)
def goto_and_edge(probe):
    team = Team(probe).node("a", Command(update={"log": ["a"]}, goto="b")).node("b").node("c")
    return team.edges((START, "a"), ("a", "c"), ("b", END), ("c", END)).compile().invoke({"log": []})


@healthy("langgraph bare goto beside a static edge", ordered=False)
def bare_goto_and_edge(probe):
    team = Team(probe).node("a", Command(goto="b")).node("b").node("c")
    return team.edges((START, "a"), ("a", "c"), ("b", END), ("c", END)).compile().invoke({"log": []})


@healthy("langgraph two edges to the same node")
def double_edge(probe):
    team = (
        Team(probe)
        .node("a", Command(update={"log": ["a"]}, goto="b"))
        .node("b")
        .edges((START, "a"), ("a", "b"), ("b", END))
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph self-consistency voting", ordered=False)
def voting(probe):
    team = (
        Team(probe)
        .node("voter", {"log": ["42"]})
        .node("tally", lambda s: {"log": [max(set(s["log"]), key=s["log"].count)]})
    )
    team.edges(("voter", "tally"), ("tally", END)).branch(
        START, lambda state: [Send("voter", {"log": []})] * 5, ["voter"]
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph broadcast and answers", ordered=False)
def broadcast(probe):
    names = [f"peer{i}" for i in range(6)]
    team = Team(probe).node("speaker").node("chair")
    for name in names:
        team.node(name, {"log": ["same text"]}).edges(("speaker", name), (name, "chair"))
    return team.edges((START, "speaker"), ("chair", END)).compile().invoke({"log": []})


@healthy("langgraph debate of three agents in two rounds", ordered=False)
def debate(probe):
    team = (
        Team(probe).node("judge", lambda s: {"log": ["judge"]}).edges((START, "pro"), (START, "con"), (START, "third"))
    )
    for name in ("pro", "con", "third"):
        team.node(name)
    team.edges((["pro", "con", "third"], "judge"))
    team.branch(
        "judge",
        lambda s: END if s["log"].count("judge") == 2 else ["pro", "con", "third"],
        ["pro", "con", "third", END],
    )
    return team.compile().invoke({"log": []})


@healthy("langgraph sequence and branches that are drawn at random", ordered=False)
def layered(probe):
    """Twelve nodes in four layers. Each node reaches some nodes of the next layer. A seed fixes the edges."""
    pick, team = random.Random(17), Team(probe)
    layers = [[f"n{i}{j}" for j in range(3)] for i in range(4)]
    for name in (n for layer in layers for n in layer):
        team.node(name)
    team.edges(*((START, n) for n in layers[0]), *((n, END) for n in layers[-1]))
    for upper, lower in zip(layers, layers[1:]):
        for name in upper:
            team.edges(*((name, n) for n in pick.sample(lower, pick.randint(1, 3))))
    return team.compile().invoke({"log": []})


@healthy("langgraph compiled graph that is instrumented afterwards")
def instrumented_later(probe):
    graph = Team(probe).node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END)).builder.compile()
    attach(probe, attach(probe, graph))
    return graph.invoke({"log": []})
