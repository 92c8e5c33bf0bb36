"""The parts of LangGraph that this adapter relies on beyond its documented interface.

They are tested with the version in clients/requirements.txt. If one of them is missing, the graph runs unwatched.

- `PregelNode.node`: the cached runnable of a node with its writers. The adapter puts its own around it.
- `PregelNode.flat_writers`: the writers, for commands to a parent graph.
- A task's configuration: the keys below, of which `__pregel_call` leads to the loop that runs the graph, and
  `__pregel_send` takes writes of the task.
- `PregelLoop`: `nodes`, `tasks`, `channels`, `status`, `step`, `after_tick`.
- Tasks: `id`, `name`, `path`, `input`, `triggers`, `writes`, `cache_key`.
- The default recursion limit: one that differs from it was chosen by the user.
- Channels: the names `branch:to:NODE`, `join:NAMES:NODE` and `__pregel_tasks`; `names` and `seen` of joins; `finished`
  of those that wait for the end of the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph import errors
from langgraph.graph import END
from langgraph.types import Command

from ..messages import Outcome

TASK_ID, NAMESPACE, CALL, PUSH = "__pregel_task_id", "checkpoint_ns", "__pregel_call", "__pregel_push"
CHECKPOINTER, SEND_WRITES = "__pregel_checkpointer", "__pregel_send"
SENDS, TO, JOIN = "__pregel_tasks", "branch:to:", "join:"
ERROR_HANDLER = "node_error_handler"
DRAINED: Any = getattr(errors, "GraphDrained", ())  # raised by a graph that got a request to stop; not in LangGraph 1.0

try:
    from langgraph._internal._config import DEFAULT_RECURSION_LIMIT
except ImportError:
    DEFAULT_RECURSION_LIMIT: Any = 25  # type: ignore[no-redef]  # the documented default of earlier versions


Write = tuple[str, Any]
"""A write of a task: the name of a channel, and a value."""


def outcome_of_error(error: BaseException) -> Outcome:
    """The outcome of an invocation that raised. Interrupts and commands to a parent graph count as success."""
    if isinstance(error, (errors.GraphInterrupt, errors.ParentCommand)):
        return "success"
    if isinstance(error, DRAINED) or not isinstance(error, Exception):
        return "aborted"
    return "failure"


def declares_recursion_limit(*configs: RunnableConfig | None) -> bool:
    """Whether one of the configurations has a recursion limit that the user chose."""
    limits = [config["recursion_limit"] for config in configs if config and "recursion_limit" in config]
    return any(limit != DEFAULT_RECURSION_LIMIT for limit in limits)


def loop_of(config: RunnableConfig) -> Any:
    """The loop that runs the task of this configuration; None if it cannot be found."""
    call = config.get("configurable", {}).get(CALL)
    if call is not None and not isinstance(call, functools.partial):  # a node with a timeout guards it in a closure
        cells = [cell.cell_contents for cell in getattr(call, "__closure__", None) or ()]
        call = next((c for c in cells if isinstance(c, functools.partial)), None)
    return getattr(call.keywords.get("schedule_task"), "__self__", None) if call is not None else None


def task_of(loop: Any, config: RunnableConfig) -> Any:
    return loop.tasks.get(config["configurable"].get(TASK_ID))


def node_tasks(loop: Any) -> Iterator[Any]:
    """The tasks of this step that run nodes, without the calls of functions within them."""
    for task in list(loop.tasks.values()):
        if task.name in loop.nodes and task.path[-1] is not True:
            yield task


def failed_task(loop: Any, handler: Any) -> Any:
    """The failed task that an error handler's task replaces; None if `handler` is not such a task."""
    if ERROR_HANDLER not in handler.path:
        return None
    return next((t for t in node_tasks(loop) if t.path == handler.path[:-2]), None)


def starts_nodes(write: Write) -> bool:
    return write[0] == SENDS or write[0].startswith((TO, JOIN))


def target_of(write: Write) -> str:
    channel, value = write
    if channel == SENDS:
        return str(value.node)
    return channel[len(TO) :] if channel.startswith(TO) else channel.rsplit(":", 1)[1]


def drop_writes(task: Any, dropped: list[Write], kept: set[str]) -> None:
    """Removes writes from a task. All writes to a channel go together, because one event represents them."""
    channels = {w[0] for w in dropped if w[0] != SENDS} - kept
    sends = {id(w) for w in dropped if w[0] == SENDS}
    remaining = [w for w in task.writes if w[0] not in channels and id(w) not in sends]
    task.writes.clear()
    task.writes.extend(remaining)


def is_available(loop: Any, channel: str) -> bool:
    found = loop.channels.get(channel)
    return found is not None and bool(found.is_available())


def starts_more_nodes(loop: Any, tasks: Iterable[Any]) -> bool:
    """Whether LangGraph will run a node after these tasks, the only ones of their step."""
    arrived: dict[str, set[str]] = {}
    for channel, value in (write for task in tasks for write in list(task.writes)):
        if channel == SENDS or (channel.startswith(TO) and channel[len(TO) :] in loop.nodes):
            return True
        if channel.startswith(JOIN):
            arrived.setdefault(channel, set()).add(value)
    for channel, names in arrived.items():
        if loop.channels[channel].names <= loop.channels[channel].seen | names:
            return True
    return any(waits_for_the_end(channel) for channel in list(loop.channels.values()))


def waits_for_the_end(channel: Any) -> bool:
    """Whether a channel holds something for a deferred node, which runs when nothing else is left."""
    if not hasattr(channel, "finished") or channel.finished:
        return False
    trial = channel.copy()
    trial.finish()
    return bool(trial.is_available())


def bare_gotos(value: Any) -> list[str] | None:
    """The targets of commands without an update; None if the value is anything else."""
    commands = list(value) if isinstance(value, (list, tuple)) else [value]
    targets: list[str] = []
    for command in commands:
        if not isinstance(command, Command) or command.update or command.graph is not None:
            return None
        for goto in command.goto if isinstance(command.goto, (list, tuple)) else [command.goto]:
            if not isinstance(goto, str):
                return None
            targets += [goto] if goto != END else []
    return targets or None


def is_addressed(command: Command[Any], config: RunnableConfig, node: str) -> bool:
    """Whether a command that a subgraph raised for a parent graph is for the graph that contains `node`."""
    namespace = str(config["configurable"].get(NAMESPACE, ""))
    names = "|".join(part.split(":")[0] for part in namespace.split("|") if not part.isdigit())
    return command.graph in (namespace, names, node)


def hook_after_tick(loop: Any, hook: Callable[[], None]) -> None:
    """Calls `hook` at the end of each step of a loop: all tasks are done, and their writes are not applied yet."""
    after_tick = type(loop).after_tick.__get__(loop)

    def hooked() -> None:
        hook()
        after_tick()

    loop.after_tick = hooked


def unhook(loop: Any) -> None:
    vars(loop).pop("after_tick", None)
