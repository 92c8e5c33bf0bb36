"""Attaches the zoo's LangGraph systems, and provides their parts."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import StateGraph

import digd.langgraph
from zoo import Probe


class Log(TypedDict):
    """The state of most systems here: a list that nodes add to."""

    log: Annotated[list, operator.add]


def attach(probe: Probe, graph: Any, **options: Any) -> Any:
    """Returns a builder or a compiled graph, watched unless the system runs plain."""
    return digd.langgraph.instrument(graph, **{**probe.options, **options}) if probe.attached else graph


class Team:
    """A graph whose nodes count their calls and record their inputs."""

    def __init__(self, probe: Probe, state: Any = Log, **schemas: Any) -> None:
        self.probe, self.builder = probe, StateGraph(state, **schemas)

    def node(self, name: str, *results: Any, **options: Any) -> Team:
        """A node that returns these results in turn, then the last one. A callable result is called with the state."""
        lock, times = threading.Lock(), iter(range(10_000))

        def work(state: Any) -> Any:
            self.probe.call(name)
            self.probe.saw([name, "reads", state])
            with lock:
                turn = next(times)
            result = results[min(turn, len(results) - 1)] if results else {"log": [name]}
            return result(state) if callable(result) else result

        self.builder.add_node(name, work, **options)
        return self

    def edges(self, *edges: tuple[Any, str]) -> Team:
        for start, end in edges:
            self.builder.add_edge(start, end)
        return self

    def branch(self, start: str, choose: Callable[[Any], Any], *ends: Any) -> Team:
        self.builder.add_conditional_edges(start, choose, *ends)
        return self

    def compile(self, options: dict[str, Any] | None = None, **compile: Any) -> Any:
        return attach(self.probe, self.builder, **(options or {})).compile(**compile)


class Model(BaseChatModel):
    """A chat model that gives these answers in turn, counts its calls and records its inputs."""

    answers: list
    probe: Any
    label: str = "model"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        turn = self.probe.call(self.label)
        self.probe.saw([self.label, "reads", [[m.type, m.content] for m in messages]])
        answer = self.answers[min(turn, len(self.answers)) - 1]
        if callable(answer):
            answer = answer(messages)
        message = answer if isinstance(answer, BaseMessage) else AIMessage(answer)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Model:
        return self


def calls(*requests: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A model's message that calls tools."""
    return AIMessage(
        text,
        tool_calls=[{"name": n, "args": a, "id": f"{n}-{i}", "type": "tool_call"} for i, (n, a) in enumerate(requests)],
    )


def history(graph: Any, config: Any) -> list[Any]:
    """The checkpoints of a thread, latest first, without ids."""
    return [
        [
            s.values,
            list(s.next),
            s.metadata.get("source"),
            s.metadata.get("step"),
            [[t.name, str(t.error) if t.error else None, [i.value for i in t.interrupts]] for t in s.tasks],
        ]
        for s in graph.get_state_history(config)
    ]
