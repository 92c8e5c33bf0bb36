"""The consecutive activations of one `Runner.run`."""

from __future__ import annotations

from typing import Any

from ..line import InputEvent, Line
from ..messages import Verdict


class Turns(Line):
    """The consecutive activations of the agents of one run."""

    async def take_rest(self) -> None:
        """Begins an activation for inputs that no activation has taken, if there are any."""
        if self.has_inputs and self.activation is None:
            await self.begin(self.agent)
        await self.advance()

    async def settle(self, reaction: str = "consume") -> None:
        """Ends the activation with one reaction to all inputs, those included that no activation has taken."""
        await self.take_rest()
        await self.end(reaction)

    async def fail(self, error: BaseException | str) -> None:
        """Fails like a line, after an activation has taken the inputs that wait."""
        await self.take_rest()
        await super().fail(error)


def has_no_arguments(arguments: str) -> bool:
    """Whether a handoff has no arguments."""
    return arguments.strip() in ("", "{}", "null")


def is_rerouted(verdict: Verdict) -> bool:
    """Whether the monitor sends the event to other agents."""
    return verdict.action == "reroute"


def input_from_verdict(verdict: Verdict, **more: Any) -> InputEvent:
    """The event of a verdict as an input, with the verdict's text and the fields in `more`."""
    return InputEvent(verdict.event, verdict.inject, verdict if verdict.action != "deliver" else None, **more)
