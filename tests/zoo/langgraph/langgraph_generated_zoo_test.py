"""Random graphs run with digd as without it, and a rule fires exactly if a join did not complete.

The graphs mix edges, conditional edges, goto with and without an update, Send, join lists, deferred and cached nodes
and loops. A graph that ends while a join still waits for a branch has unfinished work. All others are healthy.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from langgraph.graph import END, START, StateGraph
from langgraph.pregel._loop import PregelLoop
from langgraph.types import CachePolicy, Command, Send

sys.path.insert(0, str(Path(__file__).parent))

from langgraph_attach import Log, attach  # noqa: E402
from zoo import Case, comparable, detections_of, execute  # noqa: E402

SEEDS = range(300) if os.environ.get("ZOO") == "all" else range(0, 300, 15)
MAX_LOG = 20  # length of the state at which nodes stop starting others


def node_of(probe, seed, name, kind, targets):
    def work(state):
        probe.call(name)
        probe.saw([name, state])
        draw = random.Random(f"{seed} {name} {len(state['log'])}")
        chosen = draw.sample(targets, draw.randint(0, len(targets))) if len(state["log"]) < MAX_LOG else []
        if kind == "goto":
            return Command(update={"log": [name]}, goto=chosen or END)
        if kind == "bare goto":
            return Command(goto=chosen or END)
        if kind == "send":
            return Command(update={"log": [name]}, goto=[Send(t, {"log": [*state["log"], name]}) for t in chosen])
        return {"log": [name]}

    return work


def choice_of(seed, name, targets):
    def choose(state):
        if len(state["log"]) >= MAX_LOG or not targets:
            return END
        draw = random.Random(f"choice {seed} {name} {len(state['log'])}")
        return draw.sample(targets, draw.randint(1, len(targets)))

    return choose


def build(probe, seed):
    draw = random.Random(seed)
    names = [f"n{i}" for i in range(draw.randint(2, 8))]
    builder = StateGraph(Log)
    for i, name in enumerate(names):
        kind = draw.choice(["edges", "edges", "choice", "goto", "send", "last", "bare goto"])
        loops = kind != "bare goto" and draw.random() < 0.3
        pool = [n for n in names if n != name] if loops else names[i + 1 :]
        targets = draw.sample(pool, min(len(pool), draw.randint(1, 3)))
        cached = kind in ("edges", "choice", "last") and draw.random() < 0.15
        builder.add_node(
            name,
            node_of(probe, seed, name, kind, targets),
            defer=draw.random() < 0.15,
            cache_policy=CachePolicy() if cached else None,
        )
        if kind == "edges":
            for target in [t for t in targets if t > name] or [END]:
                builder.add_edge(name, target)
        if kind == "choice":
            builder.add_conditional_edges(name, choice_of(seed, name, targets))
    for end in draw.sample(names[2:], min(len(names[2:]), draw.randint(0, 2))):
        builder.add_edge(draw.sample([n for n in names if n < end], 2), end)
    for name in draw.sample(names, draw.randint(1, min(3, len(names)))):
        builder.add_edge(START, name)
    return attach(probe, builder).compile(cache=InMemoryCache())


def body_of(seed):
    def body(probe):
        graph = build(probe, seed)
        config = {"recursion_limit": 200}
        if seed % 3 == 0:
            return [asyncio.run(graph.ainvoke({"log": []}, config)) for _ in range(2)]
        return [graph.invoke({"log": []}, config) for _ in range(2)]

    return body


@pytest.fixture
def incomplete_joins(monkeypatch):
    """The joins that were incomplete when their graph ended."""
    found = []
    tick = PregelLoop.tick

    def watched(loop):
        continues = tick(loop)
        if not continues:
            found.extend(
                c.key
                for c in loop.channels.values()
                if isinstance(c, (NamedBarrierValue, NamedBarrierValueAfterFinish)) and c.seen
            )
        return continues

    monkeypatch.setattr(PregelLoop, "tick", watched)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rule_fires_exactly_if_a_join_did_not_complete(zoo_daemon, incomplete_joins, seed):
    case = Case(f"generated {seed}", body_of(seed), ordered=False)
    url = f"ws://{zoo_daemon.address}"
    plain, _ = execute(case, "plain", None)
    unfinished = bool(incomplete_joins)
    for mode in ("default", "enforce"):
        attached, probe = execute(case, mode, url)
        rules = {d["rule"] for d in detections_of(zoo_daemon.address, probe)}
        want, have = comparable(plain, False), comparable(attached, False)
        for part in ("result", "error", "calls", "seen"):
            assert have[part] == want[part], f"{part} differs ({mode})"
        assert bool(rules) == unfinished and rules <= {"early_termination", "deadlock"}, (mode, rules, incomplete_joins)
