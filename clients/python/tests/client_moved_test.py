"""A run that another daemon has: the client follows `moved` (docs/protocol.md)."""

import asyncio
import contextlib
import json
import logging

import pytest
from websockets.asyncio.server import serve

import digd
from client_helpers import async_test, unused_address, url_of, wait_for
from live import TIMEOUT_S
from digd.conversation import MAX_MOVES


@contextlib.asynccontextmanager
async def moving_daemon(*to):
    """A server that answers each hello with `moved`, to each address in turn and then to the last. Yields its address
    and the hellos so far."""
    hellos = []

    async def answer(connection):
        hellos.append(json.loads(await connection.recv()))
        address = to[min(len(hellos), len(to)) - 1]
        frame = {"type": "error", "code": "moved", "to": address or own, "message": "elsewhere", "fatal": True}
        await connection.send(json.dumps(frame))
        await connection.close(4400)

    async with serve(answer, "127.0.0.1", 0, subprotocols=["digd.v1"]) as server:
        own = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield own, hellos


@async_test
async def test_a_client_connects_to_the_daemon_that_has_the_run(daemon):
    async with moving_daemon(url_of(daemon)) as (address, hellos):
        async with digd.Run("r1", url=address, agents=["a", "b"]) as run:
            task = await run.emit(["a"])
            assert (task.action, task.as_is) == ("deliver", None)
            assert run.connected and len(hellos) == 1
            await run.end("success")
            assert await run.flush()


@async_test
async def test_without_the_other_daemon_the_client_returns_to_the_first(daemon):
    async with moving_daemon(unused_address(), url_of(daemon)) as (address, hellos):
        async with digd.Run("r1", url=address, agents=["a", "b"]) as run:
            await wait_for(lambda: run.connected, "the connection")
            assert len(hellos) == 2
            assert (await run.emit(["a"])).as_is is None


@async_test
async def test_moves_in_a_row_are_limited(caplog):
    caplog.set_level(logging.WARNING, "digd")
    async with moving_daemon(None) as (address, hellos):
        async with digd.Run("r1", url=address, agents=["a", "b"]) as run:
            verdict = await asyncio.wait_for(run.emit(["a"]), TIMEOUT_S)
            await wait_for(lambda: len(hellos) > MAX_MOVES, "the last move")
            assert verdict.as_is is not None
            assert (await run.emit(["a"])).as_is == "error:moved"
    assert len(hellos) == MAX_MOVES + 1


@pytest.mark.parametrize("to", ["ftp://there", "wss://", "None"])
@async_test
async def test_an_invalid_address_ends_the_conversation(to, caplog):
    caplog.set_level(logging.WARNING, "digd")
    async with moving_daemon(to) as (address, hellos):
        async with digd.Run("r1", url=address, agents=["a", "b"]) as run:
            await wait_for(lambda: hellos, "the hello")
            await asyncio.wait_for(run.emit(["a"]), TIMEOUT_S)
            await wait_for(lambda: "moved to" in caplog.text, "the warning")
            assert (await run.emit(["a"])).as_is == "error:moved"
    assert "continues unwatched" in caplog.text and len(hellos) == 1
