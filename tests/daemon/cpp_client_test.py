"""The C++ client against a running digd: a program on it is driven over its standard input (clients/cpp/tests)."""

import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from live import DIGCTL, TIMEOUT_S, Daemon, wait_until
from websockets.sync.server import serve

BIN = Path(DIGCTL).parent
NOBODY = "127.0.0.1:9"  # the discard port: nothing listens there


class Program:
    """The driver: send it commands, read its lines."""

    def __init__(self, url, run="r1", rules="{}", **options):
        chosen = [f"{name}={value}" for name, value in options.items()]
        command = [BIN / "digd-cpp-client-driver", url, run, rules, *chosen]
        env = {k: v for k, v in os.environ.items() if not k.startswith("DIGD_")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )

    def ask(self, command, *expected):
        """Sends a command, and reads a line for each expected one."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert [self.line() for _ in expected] == list(expected)

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.stdin = None
        try:
            self.output, self.log = self.process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert kind or self.process.returncode in (0, 2), self.log  # a sanitizer has another one


def recorded(daemon, run="r1"):
    """The run's messages in the archive."""
    listed = subprocess.run(
        [DIGCTL, "export", run, "--to", daemon.address],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert listed.returncode == 0, listed.stderr
    return [json.loads(line) for line in listed.stdout.splitlines()]


def test_an_event_to_nobody_comes_back_to_its_author(daemon):
    with Program(daemon.address) as program:
        program.ask("announce task planner", "verdict task deliver - planner")
        program.ask("start p1 planner task", "started p1")
        program.ask(
            "end p1 code coder tests tester",
            "verdict code deliver - coder",
            "verdict tests reroute - planner",
            "ended p1",
        )
        program.ask("finish", "finished")
        program.ask("flush", "flushed")
    types = [m["type"] for m in recorded(daemon)]
    assert types == ["hello", "event", "activation_started", "activation_ended", "run_ended"]
    assert program.process.returncode == 0 and program.log == ""


def test_an_intervention_reaches_the_handler_and_is_reported_as_carried_out(daemon):
    # At most one: the window fires again, on a slow machine before the next command.
    with Program(daemon.address, rules='{"missing_termination":{"window_ms":50,"max_attempts":1}}') as program:
        program.ask("announce task planner", "verdict task deliver - planner")
        program.ask("start p1 planner task", "started p1")
        program.ask("end p1", "ended p1", "intervention sys:1 create planner")
        program.ask("flush", "flushed")
        # The handler reports after it has printed.
        wait_until(lambda: any(m.get("of") == "sys:1" for m in recorded(daemon)), "the delivery report")
    delivery = next(m for m in recorded(daemon) if m.get("of") == "sys:1")
    assert delivery["applied"] == "created"
    assert recorded(daemon)[-1]["outcome"] == "aborted"  # the program ended without finishing the run


def test_a_run_that_another_daemon_has_goes_there(daemon):
    moved = {"type": "error", "code": "moved", "to": f"ws://{daemon.address}", "message": "elsewhere", "fatal": True}
    hellos = []

    def answer(connection):
        hellos.append(connection.recv())
        connection.send(json.dumps(moved))
        connection.close(4400)

    with serve(answer, "127.0.0.1", 0, subprotocols=["digd.v1"]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Program(f"127.0.0.1:{server.socket.getsockname()[1]}") as program:
            program.ask("announce task planner", "verdict task deliver - planner")
            program.ask("finish", "finished")
            program.ask("flush", "flushed")
        server.shutdown()
    assert len(hellos) == 1 and program.log == ""
    assert [m["type"] for m in recorded(daemon)] == ["hello", "event", "run_ended"]


# If each of these events waited for a verdict (250 ms), the program would exceed TIMEOUT_S.
EVENTS = int(TIMEOUT_S) * 8


def verdicts_without_a_daemon(program):
    """Announces EVENTS events at once and ends the program; its answers."""
    with program:
        program.process.stdin.write("".join(f"announce e{i} coder\n" for i in range(EVENTS)))
    return program.output.splitlines()[:EVENTS]


def test_without_a_daemon_events_go_out_unchanged_and_nothing_waits():
    program = Program(NOBODY)
    assert verdicts_without_a_daemon(program) == [f"verdict e{i} deliver disconnected coder" for i in range(EVENTS)]
    assert program.log.count("no daemon at 127.0.0.1:9") == 1


def test_a_daemon_that_never_answers_does_not_delay_each_event():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        program = Program("127.0.0.1:%d" % silent.getsockname()[1])
        assert verdicts_without_a_daemon(program) == [f"verdict e{i} deliver disconnected coder" for i in range(EVENTS)]


def test_a_killed_daemon_gets_what_it_missed_when_it_is_back(tmp_path):
    with Daemon(tmp_path, listen=f"unix:{tmp_path}/digd.sock") as daemon:
        with Program(daemon.address) as program:
            program.ask("announce e1 planner", "verdict e1 deliver - planner")
            program.ask("flush", "flushed")
            daemon.kill()
            wait_until(lambda: ask_as_is(program), "the lost connection")
            program.ask("announce e2 coder", "verdict e2 deliver disconnected coder")
            daemon.start()
            wait_until(lambda: flushes(program), "the connection")
            program.ask("announce e3 coder", "verdict e3 deliver - coder")
            program.ask("flush", "flushed")
        announced = {m["event"]["id"]: m for m in recorded(daemon) if m["type"] == "event"}
        assert announced["e2"]["as_is"] and "as_is" not in announced["e3"]
    assert "no daemon at" in program.log and "connected to" in program.log


def ask_as_is(program, seen=iter(range(10_000))):
    event = f"probe{next(seen)}"
    program.process.stdin.write(f"announce {event} coder\n")
    program.process.stdin.flush()
    return program.line() == f"verdict {event} deliver disconnected coder"


def flushes(program):
    program.process.stdin.write("flush\n")
    program.process.stdin.flush()
    return program.line() == "flushed"


def test_a_full_buffer_drops_messages_and_reports_the_gap(tmp_path):
    daemon = Daemon(tmp_path, listen=f"unix:{tmp_path}/digd.sock")
    with Program(daemon.listen, buffer=300) as program:
        for i in range(10):
            program.ask(f"announce e{i} coder", f"verdict e{i} deliver {'disconnected' if i < 6 else 'credits'} coder")
        with daemon:
            wait_until(lambda: flushes(program), "the connection")
            gaps = [m for m in recorded(daemon) if m["type"] == "gap"]
            assert gaps == [gaps[0]] and gaps[0]["dropped"] == 4


def test_after_three_failed_healings_events_go_out_unchanged(daemon):
    with Program(daemon.address) as program:
        program.ask("announce task planner", "verdict task deliver - planner")
        for i in range(3):
            program.ask(f"start p{i} planner" + (" task" if i == 0 else ""), f"started p{i}")
            program.ask(f"end p{i} e{i} tester", f"verdict e{i} reroute - planner", f"ended p{i}")
            program.ask("refuse", f"refused e{i}")
        program.ask("start p3 planner", "started p3")
        program.ask("end p3 e3 tester", "verdict e3 deliver healing_failed tester", "ended p3")
        program.ask("flush", "flushed")
    assert program.log.count("3 of digd's decisions could not be carried out") == 1
    lines = recorded(daemon)
    assert [m["applied"] for m in lines if m["type"] == "delivery"] == ["as_is"] * 3
    assert next(m for m in lines if m.get("activation") == "p3" and m["type"] == "activation_ended")["as_is"]


@pytest.mark.parametrize("hook, seen", [("hidden", "hidden"), ("throw", "digd: left out, the redaction hook threw")])
def test_the_redaction_hook_selects_the_texts_that_leave_the_process(daemon, hook, seen):
    with Program(daemon.address, redact=hook) as program:
        program.ask("announce task planner", "verdict task deliver - planner")
        program.ask("start p1 planner task", "started p1")
        program.ask("end p1 lost tester", "verdict lost reroute - planner", "ended p1")
        program.ask("refuse", "refused lost")
        program.ask("start p2 planner", "started p2")
        program.ask("fail p2 secret", "failed p2")
        program.ask("flush", "flushed")
    lines = recorded(daemon)
    assert "secret" not in json.dumps(lines)
    assert next(m for m in lines if m["type"] == "event")["event"]["payload"] == seen
    assert next(m for m in lines if m["type"] == "delivery")["reason"] == seen
    assert next(m for m in lines if m.get("failed"))["error"] == seen


def test_the_user_agent_and_the_errors_name_this_client():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with Program("127.0.0.1:%d" % server.getsockname()[1]) as program:
            connection = server.accept()[0]
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(4096)
            connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            wait_until(lambda: ask_as_is(program), "the refusal")
            connection.close()
    assert b"user-agent: digd-cpp/" in request.lower()
    assert "the option `token` or DIGD_TOKEN" in program.log and "--token-file" not in program.log


@pytest.mark.parametrize("option", ["max_added_ms", "fail_closed_ms"])
def test_a_negative_time_is_an_error(option):
    with Program(NOBODY, **{option: -1}) as program:
        pass
    assert program.process.returncode == 2
    assert f"{option} is below 0" in program.log


@pytest.mark.parametrize("url", ["http://127.0.0.1:7344", "localhost", "unix:digd.sock"])
def test_an_invalid_address_is_an_error(url):
    with Program(url) as program:
        pass
    assert program.process.returncode == 2
    assert "is not an address of a daemon" in program.log


def test_the_example_is_healed_by_a_daemon_and_runs_without_one(daemon):
    def run(url):
        return subprocess.run(
            [BIN / "digd-cpp-team"], env={"DIGD_URL": url}, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    healed, alone = run(daemon.address), run(NOBODY)
    assert "from digd: Your event" in healed.stdout and "lost" not in healed.stdout
    assert healed.stdout.count("reviewer: ") == 2
    assert "lost: 'try it' for 'tester'" in alone.stdout
    assert healed.returncode == alone.returncode == 0
