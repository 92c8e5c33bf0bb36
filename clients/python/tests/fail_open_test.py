"""A program goes on as without digd: without threads, after its event loop, in finalizers, and in forked children."""

import asyncio
import os
import signal
import threading

import pytest

import digd
import digd.sync
from client_helpers import async_test, unused_address, url_of
from dig_double import DIGGraph
from live import wait_until
from digd.lookup import addresses_of
from digd.options import parse_address
from digd.transport import connect


# ---- event loops and threads


def test_a_coroutine_that_outlives_its_loop_can_be_closed(daemon):
    async def work():
        async with digd.Run(agents=["a"], url=url_of(daemon)) as run:
            await run.emit(["a"])
            async with run.activation("a"):
                suspended.set()
                await asyncio.Event().wait()

    loop, suspended = asyncio.new_event_loop(), asyncio.Event()
    coroutine = work()
    task = loop.create_task(coroutine)
    loop.run_until_complete(suspended.wait())
    loop.close()
    task._log_destroy_pending = False
    coroutine.close()  # as when the interpreter ends


@pytest.fixture
def no_threads(monkeypatch):
    """The process cannot start threads until the context ends."""

    def start(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        yield patched


def test_without_a_thread_a_run_continues_unwatched(no_threads, caplog, monkeypatch):
    monkeypatch.setattr(digd.sync, "_loop", None)
    with digd.sync.Run(agents=["a"], url=unused_address()) as run:
        with run.activation("a") as activation:
            assert activation.emit(["a"]).as_is == "disconnected"
    assert digd.sync._loop is None  # the next run tries again
    assert "the background thread cannot start" in caplog.text


@async_test
async def test_a_lookup_without_a_thread_fails_and_the_next_one_succeeds(no_threads):
    with pytest.raises(OSError, match="can't start new thread"):
        await addresses_of("localhost", 80)
    no_threads.undo()
    assert await asyncio.wait_for(addresses_of("localhost", 80), 20)


def test_a_hook_that_exits_ends_its_own_call_only(daemon):
    def redact(value):
        if value == "exit":
            raise SystemExit(3)
        return value

    with digd.sync.Run(agents=["a"], url=url_of(daemon), redact=redact) as run:
        with pytest.raises(SystemExit):
            run.emit(["a"], "exit")
        assert run.emit(["a"], "text").as_is is None


def test_a_payload_may_need_a_lock_that_its_caller_has(daemon):
    lock, done = threading.RLock(), []

    class Guarded:
        def __repr__(self):
            with lock:
                return "guarded"

    def work():
        with digd.sync.Run(agents=["a"], url=url_of(daemon)) as run, lock:
            with run.activation("a", [run.emit(["a"], Guarded())]) as activation:
                activation.output(["a"], {"of": Guarded()})
            done.append(activation.verdicts)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert [verdict.as_is for verdict in done[0]] == [None]


def test_a_finalizer_may_need_the_background_thread_while_it_starts(monkeypatch):
    """As when the collector ends a generator within a run, in the thread that just starts the first one."""
    monkeypatch.setattr(digd.sync, "_loop", None)
    new_loop, nested, loops = asyncio.new_event_loop, [], []

    def create():
        if not nested:
            nested.append(None)
            nested[0] = digd.sync.background_loop()
        return new_loop()

    monkeypatch.setattr(digd.sync.asyncio, "new_event_loop", create)
    thread = threading.Thread(target=lambda: loops.append(digd.sync.background_loop()), daemon=True)
    thread.start()
    thread.join(20)
    assert loops == nested and loops[0] is digd.sync._loop


def test_a_generator_that_the_collector_ends_on_the_background_loop_ends_its_activation(daemon):
    run, reports = digd.sync.Run(agents=["a"], url=url_of(daemon)), []
    enqueue = run.aio._session.enqueue
    run.aio._session.enqueue = lambda report: (reports.append(report.type), enqueue(report))[1]

    def work():
        with run:
            with run.activation("a"):
                yield

    async def close(generator):
        generator.close()

    generator = work()
    next(generator)
    asyncio.run_coroutine_threadsafe(close(generator), digd.sync.background_loop()).result(20)
    wait_until(lambda: not digd.sync._closing, "the end of the run")
    assert reports == ["activation_started", "activation_ended", "run_ended"] and run.aio._conversation.closed


@async_test
async def test_certificate_authorities_are_not_read_on_the_programs_loop(monkeypatch):
    threads = []

    def create():
        threads.append(threading.current_thread())
        raise OSError("no authorities")

    monkeypatch.setattr("digd.transport.tls.create_default_context", create)
    with pytest.raises(OSError, match="no authorities"):
        await connect(parse_address("wss://127.0.0.1:1"), "r", None, 20, lambda frame: None, lambda: None)
    assert threads and threads[0] is not threading.main_thread()


# ---- forks


def exit_code_of_child(work):
    """Forks, calls `work` in the child within 10 s, and returns its exit code."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Blocked:
    """A function that another thread is in until `leave` is set."""

    def __init__(self):
        self.entered, self.leave = threading.Event(), threading.Event()

    def __call__(self, *_):
        self.entered.set()
        self.leave.wait(30)
        return "e1"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads
def test_a_child_that_is_forked_while_a_thread_takes_an_id_does_not_hang():
    run, blocked = digd.sync.Run(mode="off"), Blocked()
    next_id, run.aio.next_id = run.aio.next_id, blocked
    thread = threading.Thread(target=run.next_id, args=("e",))
    thread.start()
    blocked.entered.wait(20)

    def in_child():
        run.aio.next_id = next_id
        assert run.emit(["a"]).as_is == "off"

    try:
        assert exit_code_of_child(in_child) == 0
    finally:
        blocked.leave.set()
        thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_while_a_thread_reports_a_graph_does_not_hang(daemon, monkeypatch):
    graph, blocked = DIGGraph(), Blocked()
    attachment = digd.attach(graph, url=url_of(daemon))
    monkeypatch.setattr(attachment, "_open_run", blocked)
    thread = threading.Thread(target=attachment._on_change)
    thread.start()
    blocked.entered.wait(20)
    try:
        assert exit_code_of_child(attachment._on_change) == 0
    finally:
        monkeypatch.undo()
        monkeypatch.setattr(attachment, "_open_run", lambda: None)
        blocked.leave.set()
        thread.join()
        attachment.close()
