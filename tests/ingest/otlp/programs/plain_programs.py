"""Programs without a framework, traced by Traceloop's decorators.

HEALTHY ones end as their author meant, BROKEN ones do not.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from traceloop.sdk.decorators import agent, task, tool, workflow


@tool(name="search")
def search(query):
    return "found " + query


@task(name="outline")
def outline(text):
    return "outline of " + text


@agent(name="writer")
def writer(text):
    return "draft: " + outline(text)


@agent(name="critic")
def critic(text):
    return "good: " + text


@agent(name="researcher")
def researcher(text):
    return search(text)


def chain():
    @workflow(name="story")
    def work(text):
        return critic(writer(text))

    work("a poem")


def fan_out_join():
    """Two concurrent researchers; a writer reads both answers."""

    @workflow(name="report")
    def work(text):
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(copy_context().run, researcher, topic) for topic in ("law", "facts")]
        return writer(" ".join(future.result() for future in found))

    work("a report")


def nested_agents():
    """An agent calls another agent twice."""

    @agent(name="editor")
    def editor(text):
        return critic(text) + critic(text)

    @workflow(name="edit")
    def work(text):
        return editor(writer(text))

    work("a poem")


def agent_without_workflow():
    writer("a poem")


def critic_again_after_failure():
    """A workflow calls a critic again after it failed."""
    tries = []

    @agent(name="shaky_critic")
    def shaky(text):
        tries.append(text)
        if len(tries) == 1:
            raise ConnectionError("the model is away")
        return "good"

    @workflow(name="story")
    def work(text):
        draft = writer(text)
        try:
            return shaky(draft)
        except ConnectionError:
            return shaky(draft)

    work("a poem")


def race():
    """Two concurrent agents; the first answer wins and the other agent is cancelled."""

    @agent(name="slow")
    async def slow():
        await asyncio.Event().wait()

    @agent(name="fast")
    async def fast():
        await asyncio.sleep(0)
        return "first"

    @workflow(name="race")
    async def work():
        other = asyncio.create_task(slow())
        answer = await fast()
        other.cancel()
        await asyncio.wait([other])
        return answer

    asyncio.run(work())


def agent_fails():
    @agent(name="database")
    def database(text):
        raise ValueError("no such table")

    @workflow(name="story")
    def work(text):
        return database(writer(text))

    try:
        work("a poem")
    except ValueError:
        pass


HEALTHY = (chain, fan_out_join, nested_agents, agent_without_workflow, critic_again_after_failure, race)
BROKEN = (agent_fails,)
