"""Attaches a team that has its own runtime."""

from __future__ import annotations

from typing import Any

from ..run import Run
from .runtime import Runtime


def instrument(team: Any, run: Run, **options: Any) -> Any:
    """Watches a team that has its own runtime: `team = digd.autogen.instrument(team, run)`, before its first use.

    The team is used as before: `run`, `run_stream`, `reset`, `save_state`. After a later call with another run the team
    reports to that run. In mode `off` nothing changes. In `enforce` the team's `run_stream` continues if an answer is
    given back.

    options: of `digd.autogen.Runtime`.
    """
    if not isinstance(run, Run):
        raise TypeError(f"digd.autogen needs a digd.Run, not a {type(run).__module__}.{type(run).__name__}")
    run.adapter_defaults("autogen")
    runtime = getattr(team, "_runtime", None)
    if isinstance(runtime, Runtime) and team._embedded_runtime:
        runtime.watch(run)
    elif run.mode == "off":
        return team
    elif getattr(team, "_embedded_runtime", None) is not True or getattr(team, "_initialized", True):
        raise ValueError("instrument takes a team that was made without runtime= and was not used yet; with a runtime "
                         "of your own, make it with runtime=digd.autogen.Runtime(run) and run it by runtime.run_team")
    else:
        runtime = Runtime(run, ignore_unhandled_exceptions=False, **options)
        team._runtime = runtime
    if run.heals and runtime.chats is not None and "run_stream" not in vars(team):
        run_stream, chats = team.run_stream, runtime.chats
        team.run_stream = lambda *, task=None, **kwargs: chats.run(team, run_stream, task, kwargs)
    return team
