"""Forked child processes: a child shares the connections of its parent's runs, and must not use them."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Abandonable(Protocol):
    """The method of `digd.Run`, and of an adapter, that a forked child calls."""

    def abandon(self, reason: str) -> None: ...


_runs: weakref.WeakSet[Abandonable] = weakref.WeakSet()


def abandon_in_child(run: Abandonable) -> None:
    """Abandons the run in each child that this process forks from now on, for as long as the run exists."""
    _runs.add(run)


def _abandon_all() -> None:
    for run in list(_runs):
        run.abandon("forked")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
