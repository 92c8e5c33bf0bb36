"""Looking up the daemon's host name: never in the program's executor, once at a time for each name."""

import asyncio
import socket
import threading

import pytest

import digd
from client_helpers import async_test, wait_for
from digd.lookup import addresses_of, is_address


def test_only_names_are_looked_up():
    assert [is_address(host) for host in ("127.0.0.1", "::1", "localhost", "a.example")] == [True, True, False, False]


class Resolver:
    """A name server that answers when it is told to. Counts the lookups of each name."""

    def __init__(self, monkeypatch, address, name="daemon.example"):
        self.answer, self.calls, self.threads, self.address = threading.Event(), [], set(), address
        self.name = name
        self.inner = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host, port, *args, **kwargs):
        if host != self.name:
            return self.inner(host, port, *args, **kwargs)
        self.calls.append(host)
        self.threads.add(threading.current_thread())
        self.answer.wait(30)
        if self.address is None:
            raise socket.gaierror(socket.EAI_NONAME, "unknown name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.address]


@async_test
async def test_a_name_server_that_hangs_occupies_one_thread_of_its_own(monkeypatch):
    monkeypatch.setattr("digd.session.MAX_CONNECT_S", 0.05)
    resolver = Resolver(monkeypatch, None)
    try:
        runs = [digd.Run(url="daemon.example:7344", mode="shadow", linger_s=0) for _ in range(4)]
        for run in runs:
            run.open()
        await wait_for(lambda: all(run._session.backoff.attempts > 1 for run in runs), "two attempts of each run")
        assert asyncio.get_running_loop()._default_executor is None
        (thread,) = resolver.threads
        assert len(resolver.calls) == 1 and thread.daemon
        for run in runs:
            await asyncio.wait_for(run.close(), 10)
    finally:
        resolver.answer.set()


@async_test
async def test_a_name_that_nobody_knows_is_an_error_and_is_looked_up_again(monkeypatch):
    resolver = Resolver(monkeypatch, None)
    resolver.answer.set()
    for _ in range(2):
        with pytest.raises(OSError, match="unknown name"):
            await addresses_of("daemon.example", 1)
    assert len(resolver.calls) == 2


@async_test
async def test_the_first_address_that_accepts_is_used(daemon, monkeypatch):
    resolver = Resolver(monkeypatch, ["127.0.0.2", "127.0.0.1"], "localhost")
    resolver.answer.set()
    host, port = daemon.address.rsplit(":", 1)
    assert host == "127.0.0.1"
    async with digd.Run(agents=["a"], url=f"localhost:{port}") as run:
        assert (await run.emit(["a"])).as_is is None
