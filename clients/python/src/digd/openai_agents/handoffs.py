"""Copies of a system's agents whose hand-offs ask before they are carried out. The agents themselves are left as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, Handoff, RunContextWrapper, handoff

HandOff = Callable[[Handoff[Any, Any], RunContextWrapper[Any], str], Awaitable[Agent[Any]]]
"""Carries a hand-off out: given it, the context and the model's arguments; returns the agent that goes on."""


class Directory:
    """The copies, by their originals and by name. An agent is copied once, with the hand-offs that it has then."""

    def __init__(self, hand_off: HandOff) -> None:
        self._hand_off = hand_off
        self._copies: dict[int, tuple[Agent[Any], Agent[Any]]] = {}  # by id(); the original is kept, so that ids stay taken
        self._named: dict[str, Agent[Any]] = {}

    def named(self, name: str) -> Agent[Any] | None:
        """The copy of the agent of that name that was met first."""
        return self._named.get(name)

    def copy_of(self, agent: Agent[Any]) -> Agent[Any]:
        """The copy; a copy's is itself."""
        known = self._copies.get(id(agent))
        if known is not None:
            return known[1]
        copy = agent.clone(handoffs=[])
        self._copies[id(agent)] = (agent, copy)
        self._copies[id(copy)] = (copy, copy)
        self._named.setdefault(agent.name, copy)
        copy.handoffs = [self._gated(h) for h in agent.handoffs]
        return copy

    def _gated(self, said: Agent[Any] | Handoff[Any, Any]) -> Handoff[Any, Any]:
        if isinstance(said, Handoff):
            original = said
        else:
            original = handoff(said)
            self.copy_of(said)

        async def ask(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            return await self._hand_off(original, context, arguments)

        return dataclasses.replace(original, on_invoke_handoff=ask)
