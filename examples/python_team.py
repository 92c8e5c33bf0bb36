#!/usr/bin/env python3
"""A team of three scripted agents, attached to digd with its Python client: `python3 examples/python_team.py`.

The planner sends a part of the work to "tester", which does not exist. Without a daemon that part is lost. With a
daemon it comes back to the planner with the names of the existing agents, and the planner sends it to one of them.
Needs the package `digd`.
"""

import asyncio
import logging
import os

import digd

AGENTS = ["planner", "coder", "reviewer"]


async def main() -> None:
    inboxes: dict[str, asyncio.Queue[tuple[str, str, str | None]]] = {agent: asyncio.Queue() for agent in AGENTS}

    def deliver(verdict: digd.Verdict, text: str) -> None:
        for agent in verdict.recipients:
            if agent in inboxes:
                inboxes[agent].put_nowait((verdict.event, text, verdict.inject))
            else:
                print(f"   lost: {text!r} for {agent!r}")

    async def act(agent: str, parts: dict[str, str], answer: str | None = None) -> None:
        """Reads the agent's inbox and sends these parts to these agents, or submits the answer."""
        mail = [inboxes[agent].get_nowait() for _ in range(inboxes[agent].qsize())]
        if not mail:
            return
        async with run.activation(agent, [event for event, _, _ in mail]) as a:
            for _, text, note in mail:
                print(f"{agent}: {text!r}" + (f"\n   from digd: {note}" if note else ""))
            sent = {a.output([to], payload={"text": text}): text for to, text in parts.items()}
            if answer is not None:
                a.output(payload={"text": answer}, submit=True)
        for event, text in sent.items():
            deliver(a.verdict(event), text)

    async with digd.Run(agents=AGENTS, mode=os.environ.get("DIGD_MODE", "enforce")) as run:
        deliver(await run.emit(["planner"], payload={"text": "Write a parser."}), "Write a parser.")
        await act("planner", {"coder": "write it", "tester": "try it"})
        await act("planner", {"reviewer": "try it"})
        await act("coder", {"reviewer": "here it is"})
        await act("reviewer", {}, answer="It works.")
        await run.end("success")


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    asyncio.run(main())
