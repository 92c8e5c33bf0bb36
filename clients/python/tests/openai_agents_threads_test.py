"""The adapter for the OpenAI Agents SDK beside other threads and processes."""

import asyncio
import threading

import digd
import digd.openai_agents
from client_helpers import async_test, unused_address, wait_for
from digd.openai_agents.conversation import cancel_stream
from digd.openai_agents.feed import Feed
from digd.openai_agents.steps import Steps


class Stream:
    """A result of a streamed run whose loop has its own thread."""

    def __init__(self, loop):
        self.run_loop_task = loop.create_task(asyncio.Event().wait())
        self.cancelled_in = []

    def cancel(self):
        self.cancelled_in.append(threading.current_thread())
        self.run_loop_task.cancel()


@async_test
async def test_a_stream_is_cancelled_in_the_thread_of_its_loop():
    stream = Stream(asyncio.get_running_loop())
    await asyncio.to_thread(cancel_stream, stream)
    await wait_for(lambda: stream.cancelled_in, "the cancellation")
    cancel_stream(stream)
    assert stream.cancelled_in == [threading.current_thread()] * 2


def test_a_stream_without_a_known_loop_is_cancelled_at_once():
    class Plain:
        calls = 0

        def cancel(self):
            self.calls += 1

    stream = Plain()
    cancel_stream(stream)
    assert stream.calls == 1


class Running:
    def cancel(self, intervention):
        return True


def test_runs_that_begin_in_other_threads_do_not_disturb_an_intervention():
    steps = Steps(Feed(digd.Run(url=unused_address(), mode="shadow")))
    kept = []

    class Slow(type(steps.running)):
        """Other threads run between any two items."""

        def __iter__(self):
            for item in super().__iter__():
                begin()
                yield item

    def begin():
        thread = threading.Thread(target=lambda: add(Running()))
        thread.start()
        thread.join(0.01)

    def add(run):
        kept.append(run)
        steps.add_running(run)

    steps.running = Slow()
    for _ in range(5):
        add(Running())
    assert steps.cancel(None) and len(kept) >= 10


def test_an_abandoned_run_queues_nothing_for_the_parents_loop():
    """In a forked child the loop of the run never runs again."""

    async def open_run():
        run = digd.Run(url=unused_address(), mode="shadow")
        run.open()
        feed = Feed(run)
        assert feed.loop is asyncio.get_running_loop()
        run.abandon("forked")
        assert feed.loop is None and not feed.heals
        return (await feed.emit(["a"], "text")).as_is

    assert asyncio.run(open_run()) == "unheld"
