"""digd under systemd: readiness, watchdog, passed sockets, reload, drain; and the units themselves."""

import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))

from live import DIGD, TIMEOUT_S, Daemon, wait_until  # noqa: E402
from watching import metric  # noqa: E402

UNIT = ROOT / "systemd/digd.service"


@pytest.fixture
def notifications(tmp_path, monkeypatch):
    """A service manager's notify socket; call it to get all messages so far, in order."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(tmp_path / "notify"))
        s.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        messages = []

        def receive():
            while True:
                try:
                    messages.append(dict(line.split("=", 1) for line in s.recv(65536).decode().splitlines()))
                except BlockingIOError:
                    return messages

        yield receive


def keys(messages):
    return [key for message in messages for key in message]


# ---- notify and watchdog


def test_the_service_manager_is_notified_of_start_and_stop(tmp_path, notifications):
    with Daemon(tmp_path / "d") as daemon:
        wait_until(lambda: "READY" in keys(notifications()), "READY=1")
        assert daemon.address in notifications()[0]["STATUS"]
        daemon.raw().close()  # the socket accepts connections
        assert daemon.stop() == 0
    states = [key for key in keys(notifications()) if key in ("READY", "STOPPING")]
    assert states == ["READY", "STOPPING"]
    assert "WATCHDOG" not in keys(notifications())


def test_it_is_not_ready_if_it_cannot_listen(tmp_path, notifications):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [DIGD, "--listen", listen, "--data-dir", str(tmp_path / "d")], capture_output=True, timeout=TIMEOUT_S
        )
    assert done.returncode == 2 and notifications() == []


def test_the_watchdog_is_notified_several_times_an_interval(tmp_path, notifications, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "150000")
    with Daemon(tmp_path / "d", "threads = 2\n"):
        wait_until(lambda: keys(notifications()).count("WATCHDOG") >= 4, "watchdog notifications")


def test_a_watchdog_of_another_process_is_not_notified(tmp_path, notifications, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "30000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    with Daemon(tmp_path / "d") as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.wait_acked()
        assert daemon.stop() == 0
    assert "WATCHDOG" not in keys(notifications())


# ---- passed sockets

HAND_OVER = """
import os, socket, sys
kind, where, count = sys.argv[1], sys.argv[2], sys.argv[3]
s = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
s.bind(where if kind == "unix" else (where, 0))
if kind != "deaf":
    s.listen()
for n in range(int(count)):
    os.dup2(s.fileno(), 3 + n)
    os.set_inheritable(3 + n, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=count, LISTEN_FDNAMES="digd.socket")
os.execv(sys.argv[4], sys.argv[4:])
"""


class Activated(Daemon):
    kind, where, count = "tcp", "127.0.0.1", 1

    def command(self):
        return [sys.executable, "-c", HAND_OVER, self.kind, self.where, str(self.count), *super().command()]


def test_a_passed_socket_overrides_listen(tmp_path):
    with Activated(tmp_path, listen="127.0.0.1:1") as daemon:
        assert daemon.address.startswith("127.0.0.1:") and daemon.address != "127.0.0.1:1"
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.wait_acked()
        assert daemon.stop() == 0


def test_the_warning_about_tls_is_about_the_passed_socket(tmp_path):
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\nrights = ["read"]\n')
    for folder, where, listen, is_warned in (
        ("wide", "0.0.0.0", "127.0.0.1:1", True),
        ("narrow", "127.0.0.1", "0.0.0.0:1", False),
    ):
        daemon = Activated(tmp_path / folder, f'tokens = "{tokens}"\n', listen=listen)
        daemon.where = where
        with daemon:
            assert ("without TLS" in daemon.log_text()) == is_warned
            assert daemon.stop() == 0


def test_a_passed_unix_socket_is_not_removed(tmp_path):
    daemon = Activated(tmp_path / "d")
    daemon.kind, daemon.where = "unix", str(tmp_path / "s")
    with daemon:
        assert daemon.address == f"unix:{tmp_path}/s"
        daemon.raw().close()
        assert daemon.stop() == 0
    assert (tmp_path / "s").is_socket()


@pytest.mark.parametrize(
    "kind, where, count, reason",
    [
        ("tcp", "0.0.0.0", 1, "other machines"),
        ("tcp", "127.0.0.1", 2, "one socket"),
        ("deaf", "127.0.0.1", 1, "does not listen"),
    ],
)
def test_an_unusable_passed_socket_is_refused(tmp_path, kind, where, count, reason):
    daemon = Activated(tmp_path)
    daemon.kind, daemon.where, daemon.count = kind, where, count
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and reason in done.stderr


# ---- reload


def reload(daemon, text, until):
    daemon.config.write_text(text)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_logged(until)


def test_a_reload_affects_only_new_runs(tmp_path, notifications):
    with Daemon(tmp_path / "d", "credits = 100\n") as daemon:
        wait_until(lambda: "READY" in keys(notifications()), "READY=1")
        with daemon.client("old") as c:
            assert (c.welcome["credits"], c.welcome["mode"]) == (100, "enforce")
        reload(
            daemon,
            'credits = 7\nthreads = 5\nverdict_deadline_ms = 9\n[log]\nlevel = "debug"\n[defaults]\nmode = "observe"\n'
            '[caps]\nmode = "shadow"\n[rules.deadlock]\nwindow_ms = 5\n',
            "reloaded changed=6 need_a_restart=1",
        )
        daemon.wait_logged("credits: 100 -> 7 (to new runs)", "needs_a_restart option=threads")
        with daemon.client("new") as c:
            assert (c.welcome["credits"], c.welcome["verdict_deadline_ms"], c.welcome["mode"]) == (7, 9, "observe")
            assert c.welcome["rules"]["deadlock"]["window_ms"] == 5
        with daemon.client("old") as c:
            assert (c.welcome["credits"], c.welcome["mode"]) == (100, "enforce")
            assert c.welcome["rules"]["deadlock"]["window_ms"] == 10_000
            for i in range(50):  # more than the new credits: the run keeps its own
                c.event(f"e{i}", ["a"])
            c.wait_acked()
        # RELOADING precedes the READY that ends the reload.
        wait_until(lambda: keys(notifications()).count("READY") == 2, "the end of the reload")
        states = [key for key in keys(notifications()) if key in ("READY", "RELOADING")]
        assert states == ["READY", "RELOADING", "READY"]
        assert daemon.stop() == 0


def test_a_bad_file_is_refused_with_its_position_and_changes_nothing(tmp_path):
    with Daemon(tmp_path, "credits = 100\n") as daemon:
        reload(daemon, "threads = 0\ncredits = 0\n", "reload_refused")
        daemon.wait_logged(f"{daemon.config}:2:11", "from 1 to 65536")
        with daemon.client() as c:
            assert c.welcome["credits"] == 100
        reload(daemon, "credits = 5\n", "reloaded changed=1")
        with daemon.client("another") as c:
            assert c.welcome["credits"] == 5
        assert daemon.stop() == 0


def test_the_log_level_changes_at_once(tmp_path):
    with Daemon(tmp_path, '[log]\nlevel = "error"\n') as daemon:
        with daemon.client("quiet"):
            pass
        wait_until(lambda: metric(daemon, "digd_sessions") == 0, "the end of the first session")
        reload(daemon, '[log]\nlevel = "info"\n', "reloaded changed=1")
        with daemon.client("loud"):
            pass
        daemon.wait_logged('run_open run="loud"')
        assert "quiet" not in daemon.log_text()


# ---- stop


def test_a_drain_ends_in_time_although_a_client_never_closes(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.raw() as silent:
        c = daemon.client()
        c.event("e1", ["a"])
        silent.sendall(b"GET / HTTP/1.1\r\n")
        daemon.process.send_signal(signal.SIGTERM)
        assert c.closed_with() == 1001
        assert daemon.process.wait(12) == 0


def test_a_second_sigterm_ends_it_at_once_but_sighup_does_not(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.wait_acked()
        # This client does not answer the close frame, so the drain waits for it.
        url = f"ws://{daemon.address}/v1/ingest"
        host, port = daemon.address.split(":")
        mute = socket.create_connection((host, int(port)))
        mute.sendall(
            f"GET {url[url.index('/v1') :]} HTTP/1.1\r\nHost: {daemon.address}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: digd.v1\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        assert b" 101 " in mute.recv(4096)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_logged("stopping signal=15")
        wait_until(lambda: mute.recv(4096) != b"", "the close frame")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.process.poll() is None
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(TIMEOUT_S) in (-signal.SIGTERM, 0)  # 0: it exited before the signal arrived
        mute.close()
        daemon.process.returncode = 0


# ---- configuration


def check(*args, **env):
    return subprocess.run(
        [DIGD, "--check-config", *args], capture_output=True, text=True, timeout=TIMEOUT_S, env={**os.environ, **env}
    )


def test_check_config_prints_the_effective_configuration(tmp_path):
    file = tmp_path / "digd.toml"
    file.write_text('credits = 5\n[log]\nlevel = "warn"\n')
    done = check("--config", str(file), "--data-dir", "/d", DIGD_LOG_LEVEL="debug", DIGD_RULES__DEADLOCK__WINDOW_MS="7")
    assert done.returncode == 0, done.stderr
    holds = tomllib.loads(done.stdout)
    assert (holds["credits"], holds["log"]["level"], holds["data_dir"]) == (5, "debug", "/d")
    assert holds["rules"]["deadlock"]["window_ms"] == 7
    assert set(holds) == set(tomllib.loads((ROOT / "config/digd.toml").read_text()))


@pytest.mark.parametrize("env", [{"DIGD_CREDITS": "0"}, {"DIGD_LISTEN": "0.0.0.0:1"}, {"DIGD_LOG__LEVELL": "x"}])
def test_a_bad_environment_variable_is_named(env):
    done = check(**env)
    assert done.returncode == 2 and done.stdout == ""
    assert next(iter(env)) in done.stderr or "listen" in done.stderr


def test_environment_variables_override_the_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_CREDITS", "11")
    with Daemon(tmp_path) as daemon, daemon.client() as c:
        assert c.welcome["credits"] == 11


# ---- the units


def test_the_unit_has_a_low_exposure_level():
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)], capture_output=True, text=True
    )
    assert float(re.search(r"exposure level for digd.service: ([\d.]+)", done.stdout)[1]) <= 2.0


def test_the_unit_allows_for_a_drain_and_all_connections():
    unit = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if re.match(r"[A-Z]\w+=", line))
    assert unit["Type"] == "notify" and unit["DynamicUser"] == "yes" and unit["StateDirectory"] == "digd"
    assert int(unit["TimeoutStopSec"]) >= 20 and int(unit["WatchdogSec"]) >= 20
    max_connections = tomllib.loads((ROOT / "config/digd.toml").read_text())["connections"]["most"]
    assert int(unit["LimitNOFILE"]) > max_connections + 1000
    for option in re.findall(r" (--[a-z-]+)", unit["ExecStart"]):
        assert option in subprocess.run([DIGD, "--help"], capture_output=True, text=True).stdout


def test_systemd_accepts_the_units():
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", UNIT, UNIT.with_suffix(".socket")], capture_output=True, text=True
    )
    wrong = [line for line in done.stderr.splitlines() if "digd" in line and "not executable" not in line]
    assert not wrong
