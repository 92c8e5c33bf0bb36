"""The ends of runs and connections: forked children, finalized generators, closing daemons, and hellos that no daemon
gets."""

import asyncio
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import digd
import digd.sync
from client_helpers import async_test, url_of, wait_for
from client_moved_test import moving_daemon
from digd.session import Session, Target
from digd.conversation import Conversation
from digd.options import parse_address
from digd.transport import Link


def output_of(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


SUSPENDED = """
import sys, digd.sync
def work():
    with digd.sync.Run(agents=["a"], url=sys.argv[1]) as run:
        with run.activation("a"):
            yield run.emit(["a"])
steps = work()
next(steps)
"""


def test_a_generator_suspended_within_a_run_ends_with_the_interpreter(daemon):
    assert output_of(SUSPENDED, url_of(daemon)) == (0, "", "")


def test_a_users_thread_may_have_any_name(daemon):
    verdicts = []

    def work():
        with digd.sync.Run(agents=["a"], url=url_of(daemon)) as run:
            verdicts.append(run.emit(["a"]).as_is)

    thread = threading.Thread(target=work, name="digd")
    thread.start()
    thread.join(30)
    assert verdicts == [None]


def test_a_call_from_the_background_loop_is_an_error(daemon):
    with digd.sync.Run(agents=["a"], url=url_of(daemon)) as run:

        async def call():
            run.emit(["a"])

        with pytest.raises(RuntimeError, match="use digd.Run there"):
            asyncio.run_coroutine_threadsafe(call(), digd.sync.background_loop()).result(20)


FORKS = """
import asyncio, os, sys, warnings, digd
async def in_child(run):
    verdict = await asyncio.wait_for(run.emit(["a"]), 10)
    await run.close()
    return verdict.as_is
async def main():
    async with digd.Run(agents=["a"], url=sys.argv[1]) as run:
        assert (await run.emit(["a"])).as_is is None
        child = os.fork()
        if child == 0:
            try:
                as_is = asyncio.run(in_child(run))
                os._exit(7 if as_is == "forked" and not run.heals else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert (await run.emit(["a"])).as_is is None
asyncio.run(main())
"""


def test_a_forked_child_leaves_the_run_of_an_event_loop_alone(daemon):
    assert output_of(FORKS, url_of(daemon)) == (0, "", "")


@async_test
async def test_a_run_that_ends_at_once_is_reported_to_the_daemon_that_has_it(daemon):
    async with moving_daemon(url_of(daemon)) as (address, hellos):
        async with digd.Run("r1", url=address, agents=["a"], hold=False) as run:
            await run.emit(["a"])
            await run.end("success")
        assert len(hellos) == 1 and run.welcome is not None and run._conversation.idle


# ---- closing


@async_test
async def test_closing_while_the_daemon_closes_raises_nothing():
    class Transport(asyncio.Transport):
        aborted = False

        def write(self, data):
            pass

        def is_closing(self):
            return False

        def can_write_eof(self):
            return False

        def abort(self):
            self.aborted = True

    link = Link("ws://localhost/v1/ingest?run=r", None, lambda frame: None, lambda: None)
    transport = Transport()
    link.connection_made(transport)
    link.opened.set_result(None)
    link._ws.state = digd.transport.State.CLOSING
    await link.close(0.01)
    assert transport.aborted


@pytest.mark.parametrize(
    "code, reason", [(None, "the connection was lost"), (1001, "the daemon closed the connection with code 1001")]
)
def test_a_lost_connection_is_logged_in_words(code, reason, caplog, monkeypatch):
    class Closed:
        close_code = code

    monkeypatch.setattr(digd.session, "_missing_daemons", set())
    conversation = Conversation({})
    conversation.phase = digd.conversation.Phase.UP
    session = Session(Target(parse_address("h:1"), "r"), conversation, lambda intervention: None)
    session._on_connection_lost(Closed())
    (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert line.startswith(f"digd: no daemon at ws://h:1 ({reason});")


# ---- hellos


@pytest.mark.parametrize(
    "options, name",
    [
        ({"labels": {"path": Path(".")}}, "labels"),
        ({"limits": {"agents": float("nan")}}, "limits"),
        ({"capabilities": {"hold": object()}}, "capabilities"),
    ],
)
def test_a_setting_that_is_not_json_is_an_error_that_names_it(options, name):
    with pytest.raises(ValueError, match=f"{name}: expected what JSON can express"):
        digd.Run(**options)
    assert digd.Run(mode="off", **options).mode == "off"


@async_test
async def test_a_hello_that_cannot_be_sent_closes_its_connection(daemon):
    async with digd.Run(agents=["a"], url=url_of(daemon), mode="shadow", linger_s=0.1) as run:
        run._conversation.hello["labels"] = object()  # as a later `ask_for` could
        links = []
        lost = run._session._on_connection_lost
        run._session._on_connection_lost = lambda link: (links.append(link._transport.is_closing()), lost(link))
        await wait_for(lambda: links, "the first attempt")
        assert links[0]
