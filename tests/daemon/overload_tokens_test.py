"""Overload first sheds the load of the heaviest token, while the others continue."""

import itertools
import json
import re
import signal

from live import Daemon, wait_until
from token_access import TOKENS, entry, hello, ingest, status_of
from watching import work

ALL, HEAVY, LIGHT = TOKENS["all"][0], "1" * 64, "2" * 64
RUNS = 6


def two_tokens(folder):
    tokens = folder / "tokens.toml"
    tokens.write_text(
        entry("heavy", HEAVY, ["ingest"]) + entry("light", LIGHT, ["ingest"]) + entry("all", *TOKENS["all"][:2])
    )
    return Daemon(folder, f'tokens = "{tokens}"\n')


def change(daemon, config):
    first = daemon.config.read_text().splitlines()[0]
    daemon.config.write_text(f"{first}\n[overload]\n{config}")
    daemon.process.send_signal(signal.SIGHUP)


def value(daemon, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", status_of(daemon, "/metrics", ALL)[1], re.MULTILINE)
    return float(found[1]) if found else 0


def filled(daemon):
    """The heavy token has many runs; each is smaller than the one of the light token, and together they are larger."""
    clients = []
    for run, token, n in [*((f"heavy-{i}", HEAVY, 60) for i in range(RUNS)), ("light", LIGHT, 90)]:
        clients.append(daemon.client(run, token=token))
        work(clients[-1], n)
        clients[-1].wait_acked()
    return clients


def is_refused(daemon, token, new=itertools.count()):
    """Whether the token may not open a new run."""
    with ingest(daemon, token) as ws:
        ws.send(hello(f"new-{next(new)}"))
        return json.loads(ws.recv()).get("code") == "over_limit"


def is_message_refused(daemon, token, new=itertools.count()):
    """Whether the token's messages are refused in the run that it has open."""
    run = "open-heavy" if token == HEAVY else "open-light"
    with daemon.client(run, token=token) as c:
        c.event(f"new-{next(new)}", ["a"])
        c.wait_acked()
        return any(frame["type"] == "error" and frame["code"] == "over_limit" for frame in c.kept)


def test_the_many_runs_of_one_token_are_shed_before_a_larger_one_of_another(tmp_path):
    with two_tokens(tmp_path) as daemon:
        filled(daemon)
        change(daemon, "memory_bytes = 1\nno_new_runs = 0\nshrink_credits = 0\nrefuse = 0\n")
        wait_until(lambda: daemon.log_text().count("judging_stopped") == RUNS + 1, "all runs to be shed")
        shed = re.findall(r'judging_stopped run="(\S+)"', daemon.log_text())
        assert shed[-1] == "light"


def test_at_first_only_the_heavy_token_opens_no_runs(tmp_path):
    with two_tokens(tmp_path) as daemon:
        filled(daemon)
        used = value(daemon, 'digd_overload_used_bytes{resource="memory"}')
        only = "no_new_runs = 60\nshrink_credits = 0\nobserve = 0\nrefuse = 0\n"
        change(daemon, f"memory_bytes = {int(used / 0.75)}\n{only}")
        wait_until(lambda: value(daemon, 'digd_overload_action{action="no_new_runs"}') == 1, "the overload")
        wait_until(lambda: is_refused(daemon, HEAVY), "the refusal")
        assert not is_refused(daemon, LIGHT)
        change(daemon, f"memory_bytes = 1\n{only}")
        wait_until(lambda: is_refused(daemon, LIGHT), "the refusal for all")


def test_a_connection_that_holds_more_than_any_run_is_closed_and_the_runs_are_judged_on(tmp_path):
    with two_tokens(tmp_path) as daemon:
        *_, light = filled(daemon)
        greedy = daemon.client("heavy-0", "second", token=HEAVY)
        greedy.ws.socket.sendall(b"\x81\xff" + (1_000_000).to_bytes(8, "big") + b"\0\0\0\0" + b" " * 900_000)
        wait_until(lambda: value(daemon, "digd_connection_memory_bytes") > 1_000_000, "the partial message")
        change(daemon, "memory_bytes = 1\nno_new_runs = 0\nshrink_credits = 0\nrefuse = 0\n")
        assert greedy.closed_with() == 4411
        daemon.wait_logged("overload_closed")
        before, closed = daemon.log_text().split("overload_closed", 1)
        assert closed.startswith(' token="heavy" connections=1') and "judging_stopped" not in before
        light.event("after", ["a"])
        light.verdicts()


def test_for_want_of_disk_the_token_with_most_in_the_archive_is_refused_first(tmp_path):
    """Also what its ended runs take counts, and after a restart."""
    with two_tokens(tmp_path) as daemon:
        with daemon.client("ended", token=HEAVY) as c:
            for i in range(3):
                c.event(f"e{i}", ["a"], event={"payload": "x" * 200_000})
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        for run, token in (("open-heavy", HEAVY), ("open-light", LIGHT)):
            with daemon.client(run, token=token) as c:
                work(c, 3)
                c.wait_acked()
        daemon.stop()
        daemon.start()
        for action, refused in (("no_new_runs", is_refused), ("refuse", is_message_refused)):
            gauge = f'digd_overload_action{{action="{action}"}}'
            off = "".join(f"{name} = 0\n" for name in ("no_new_runs", "observe", "refuse") if name != action)
            only = f"{action} = 60\nshrink_credits = 0\n{off}"
            used = value(daemon, 'digd_overload_used_bytes{resource="archive"}')  # the tries before made the log longer
            change(daemon, f"archive_bytes = {int(used / 0.75)}\n{only}")
            wait_until(lambda gauge=gauge: value(daemon, gauge) == 1, action)
            assert refused(daemon, HEAVY), action
            assert not refused(daemon, LIGHT), action
            change(daemon, f"archive_bytes = 1\n{only}")
            wait_until(lambda refused=refused: refused(daemon, LIGHT), "the refusal for all")
            change(daemon, "")
            wait_until(lambda gauge=gauge: value(daemon, gauge) == 0, "its end")
