"""The state of a run that its program can read."""

from __future__ import annotations

from collections.abc import Mapping

from .conversation import Conversation, Counters, Phase
from .healing import HealingRecord
from .messages import Json, Mode


class RunState:
    """The read-only part of `Run`."""

    _mode: Mode | None
    _conversation: Conversation
    _healing: HealingRecord
    _ignores_verdicts: bool

    @property
    def mode(self) -> Mode | None:
        """The requested mode; None leaves it to the daemon. `welcome["mode"]` is the effective mode."""
        return self._mode

    @property
    def heals(self) -> bool:
        """Whether a verdict may still change what this run does.

        The welcome's mode decides: an operator's canary enforces some of the runs that requested `shadow`.
        """
        is_stopped = self._healing.is_stopped or self._conversation.no_hold_reason == "max_added_ms"
        if self._ignores_verdicts or self._mode == "off" or self._conversation.closed or is_stopped:
            return False
        return self._enforces

    @property
    def _enforces(self) -> bool:
        """Whether the run's mode is `enforce`; before the welcome, whether the requested mode allows `enforce`."""
        mode = self._mode if self.welcome is None else self.welcome.get("mode", self._mode)
        return mode in (None, "enforce")

    @property
    def ignores_verdicts(self) -> bool:
        """Whether an adapter with the default mode `shadow` was attached after a hello that left the mode open.

        The daemon then keeps its mode, so this client does not follow the verdicts.
        """
        return self._ignores_verdicts

    @property
    def verdict_deadline_s(self) -> float:
        """The longest time that a message waits for its verdict."""
        return self._conversation.deadline_s

    @property
    def holds_events(self) -> bool:
        """Whether an event waits for a person. Any thread may ask."""
        return self._conversation.holds_events

    @property
    def connected(self) -> bool:
        """Whether the run has a connection on which the daemon has answered the hello."""
        return self._conversation.phase is Phase.UP

    @property
    def welcome(self) -> Mapping[str, Json] | None:
        """The effective mode, rules and limits, from the daemon's welcome; None before it."""
        return self._conversation.welcome

    @property
    def counters(self) -> Counters:
        """Counts of timeouts, of refusals by code, and of messages delivered unchanged."""
        return self._conversation.counters

    @property
    def dropped(self) -> int:
        """The number of messages dropped because the window was full."""
        return self._conversation.window.dropped
