"""Tests a suspicion by experiment: repeats a LangGraph run from the state before a step, with a hint and without.
`digctl rerun` calls this module.

    python -m digd.langgraph.rerun THREAD --graph team.py:graph --check team.py:solved --from researcher --hint "…"

The run is a thread of the graph's checkpointer. Its checkpoints are only read: every repetition continues from a copy
in memory, so that the thread keeps its state and history. Nodes are executed again, with all their side effects.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import StateSnapshot

MAX_CHECKPOINTS = 10_000
SIGNIFICANT = 0.05


class RerunError(Exception):
    """The rerun cannot be made; the text says why."""


@dataclass
class Outcome:
    """How often the check succeeded in the reruns of one kind: with the hint, or without."""

    runs: int = 0
    succeeded: int = 0
    failed_to_run: int = 0  # how many of the runs ended with an exception; they count as not succeeded


@dataclass
class Comparison:
    thread: str
    step: int
    nodes: list[str]
    hint: str | None
    original: bool
    with_hint: Outcome | None
    without_hint: Outcome
    p: float | None  # Fisher's exact test, one-sided: the hint makes success more frequent
    flips: str  # "yes", "no", "open"; without a hint: "yes" if a plain rerun succeeds where the run did not

    def words(self) -> str:
        where = f"step {self.step} ({', '.join(self.nodes)})"
        plain = f"{self.without_hint.succeeded} of {self.without_hint.runs} reruns without a hint succeed"
        was = "succeeded" if self.original else "failed"
        if self.with_hint is None:
            return f"The run {was}. From before {where}, {plain}."
        hinted = f"{self.with_hint.succeeded} of {self.with_hint.runs} with the hint"
        verdict = {
            "yes": "The hint flips the outcome",
            "no": "The hint does not flip the outcome",
            "open": "Not decided; more repetitions (-n) are needed",
        }[self.flips]
        return f"The run {was}. From before {where}, {plain}, and {hinted}. {verdict} (p = {self.p:.3g})."


def fisher(better: int, n: int, other: int, m: int) -> float:
    """The one-sided p-value of Fisher's exact test: `better` of `n` runs succeed, compared with `other` of `m`.

    It is the probability of at least `better` successes among the `n` if both kinds of runs succeed equally often.
    """
    total = better + other
    cases = range(better, min(n, total) + 1)
    return sum(comb(n, k) * comb(m, total - k) for k in cases if total - k <= m) / comb(n + m, total)


def history(graph: Any, thread: str) -> list[StateSnapshot]:
    """The thread's states, the oldest first."""
    if not graph.checkpointer:
        raise RerunError("the graph has no checkpointer: compile it with one")
    states: list[StateSnapshot] = []
    for state in graph.get_state_history({"configurable": {"thread_id": thread}}):
        if len(states) == MAX_CHECKPOINTS:
            raise RerunError(f"thread {thread!r} has more than {MAX_CHECKPOINTS} checkpoints")
        states.append(state)
    if not states:
        raise RerunError(f"the checkpointer has no thread {thread!r}")
    # A thread may have branches; only the one that led to the latest state counts.
    of_id = {state.config["configurable"]["checkpoint_id"]: state for state in states}
    path = [states[0]]
    while path[-1].parent_config is not None:
        parent = of_id.get(path[-1].parent_config["configurable"]["checkpoint_id"])
        if parent is None:
            break
        path.append(parent)
    return path[::-1]


def before(states: list[StateSnapshot], step: str) -> StateSnapshot:
    """The state before `step`: a step number, a node's name (its last activation), or NODE:N (its N-th, from 1).

    A node that several `Send`s start in one step has one activation for each, as in a recorded run.
    """
    runnable = [state for state in states if state.next]
    if step.isdigit():
        found = [state for state in runnable if step_of(state) == int(step)]
    else:
        name, _, number = step.rpartition(":")
        if not name or not number.isdigit():
            name, number = step, ""
        found = [state for state in runnable for node in state.next if node == name]
        if number:
            found = found[int(number) - 1 : int(number)] if int(number) > 0 else []
    if not found:
        known = "; ".join(f"{step_of(state)}: {', '.join(state.next)}" for state in runnable[:50])
        raise RerunError(f"--from {step}: there is no such step. Steps: {known}")
    return found[-1]


def step_of(state: StateSnapshot) -> int:
    """The number of the step that runs after this state; the first node runs in step 1."""
    return int((state.metadata or {}).get("step", -1)) + 1


def hinted(state: StateSnapshot, hint: str, key: str) -> dict[str, Any]:
    """The update of the state that carries the hint."""
    if key == "messages":
        from langchain_core.messages import HumanMessage

        return {key: [HumanMessage(hint)]}
    if key not in state.values:
        raise RerunError(f"--hint-key {key}: the state has no such key. Keys: {', '.join(sorted(state.values))}")
    now = state.values[key]
    if isinstance(now, str):
        return {key: f"{now}\n{hint}" if now else hint}
    if isinstance(now, list):
        return {key: [*now, hint]}
    raise RerunError(f"--hint-key {key}: expected a text or a list, and it is a {type(now).__name__}")


def from_copy(graph: Any, saved: CheckpointTuple, state: StateSnapshot, update: dict[str, Any] | None) -> Any:
    """Continues the run from a copy of the checkpoint in memory; returns the final values."""
    saver = InMemorySaver()
    start: RunnableConfig = {"configurable": {"thread_id": "rerun", "checkpoint_ns": ""}}
    versions = saved.checkpoint["channel_versions"]
    config = saver.put(start, saved.checkpoint, saved.metadata, versions)
    again = graph.copy(update={"checkpointer": saver})
    if update:
        writers = list(saved.checkpoint["versions_seen"])
        config = with_update(again, config, update, state, writers)
    return again.invoke(None, config)


def with_update(graph: Any, config: Any, update: dict[str, Any], state: StateSnapshot, writers: list[str]) -> Any:
    """Adds the hint as the input, or as the output of an earlier node, so that the same nodes run next."""
    for writer in [None, *sorted(name for name in writers if not name.startswith("__")), "__input__", "__start__"]:
        try:
            changed = graph.update_state(config, update, as_node=writer)
        except Exception:  # LangGraph refuses ambiguous or unknown writers with several types
            continue
        if graph.get_state(changed).next == state.next:
            return changed
    raise RerunError(f"the hint cannot be added: the graph would not go on with {', '.join(state.next)}")


def show_progress(text: str) -> None:
    """Replaces the line on standard error if that is a terminal; an empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def repeat(graph: Any, saved: CheckpointTuple, state: StateSnapshot, update: Any, check: Any, n: int) -> Outcome:
    out = Outcome()
    for _ in range(n):
        show_progress(f"rerunning {'with' if update else 'without'} the hint: {out.runs} of {n}")
        out.runs += 1
        try:
            out.succeeded += bool(check(from_copy(graph, saved, state, update)))
        except RerunError:
            raise
        except Exception as error:  # a run that breaks off has not succeeded
            out.failed_to_run += 1
            show_progress("")
            print(f"digd rerun: repetition {out.runs}: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            show_progress("")
    return out


def rerun(
    graph: Any,
    thread: str,
    step: str,
    check: Callable[[Any], Any],
    hint: str | None = None,
    n: int = 5,
    hint_key: str = "messages",
) -> Comparison:
    """Compares `n` reruns from before `step` with the hint with `n` reruns without. `check` judges final values."""
    states = history(graph, thread)
    state = before(states, step)
    saved = graph.checkpointer.get_tuple(state.config)
    if saved is None:
        raise RerunError("the checkpointer has lost the state")
    update = hinted(state, hint, hint_key) if hint else None
    original = bool(check(states[-1].values))
    plain = repeat(graph, saved, state, None, check, n)
    with_hint = repeat(graph, saved, state, update, check, n) if hint else None
    p = None
    flips = "yes" if plain.succeeded > 0 and not original else "no"
    if with_hint is not None:
        p = fisher(with_hint.succeeded, n, plain.succeeded, n)
        flips = "yes" if p < SIGNIFICANT else "no" if with_hint.succeeded <= plain.succeeded else "open"
    return Comparison(thread, step_of(state), list(state.next), hint, original, with_hint, plain, p, flips)


def load(reference: str, option: str) -> Any:
    """The object that FILE.py:NAME names; a function without parameters is called if `option` is --graph."""
    file, _, name = reference.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        raise RerunError(f"{option} {reference}: expected FILE.py:NAME, and there is no file {file!r}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise RerunError(f"{option} {reference}: {file} is not a Python file")
    module = sys.modules.get(path.stem)
    if module is None or getattr(module, "__file__", None) != str(path):
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise RerunError(f"{option} {reference}: {file} has no {name!r}")
    found = getattr(module, name)
    return found() if option == "--graph" and inspect.isfunction(found) else found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="digctl rerun", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("thread")
    parser.add_argument("--graph", required=True)
    parser.add_argument("--check", required=True)
    parser.add_argument("--from", dest="step", required=True)
    parser.add_argument("--hint")
    parser.add_argument("--hint-key", default="messages")
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    chosen = parser.parse_args(arguments)
    try:
        graph = load(chosen.graph, "--graph")
        check = load(chosen.check, "--check")
        got = rerun(graph, chosen.thread, chosen.step, check, chosen.hint, chosen.n, chosen.hint_key)
    except RerunError as error:
        print(f"digctl rerun: {error}", file=sys.stderr)
        return 2
    print(json.dumps(asdict(got)) if chosen.format == "json" else got.words())
    return 0


if __name__ == "__main__":
    sys.exit(main())
