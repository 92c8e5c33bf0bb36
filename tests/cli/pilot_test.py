"""digctl pilot and judge, and the HTTP interface behind them, against a real daemon."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import DIGD, Daemon, wait_until  # noqa: E402
from piloting import a_run, asking, detections, orphan, pilot, request  # noqa: E402
from token_access import TOKENS, guarded, status_of  # noqa: E402


# ---- healings that digd would have done


def test_pilot_reports_zero_runs_in_an_empty_archive(digctl, daemon):
    got = asking(digctl, daemon)("pilot")
    assert got.returncode == 0, got.stderr
    assert "0 runs" in got.stdout


def test_pilot_counts_runs_by_rule_agent_and_place(digctl, daemon):
    a_run(daemon, "r1", end="success")
    a_run(daemon, "r2", end="failure", lost=("lost", "lost2"))
    a_run(daemon, "r3", agent="writer", end=None)
    a_run(daemon, "r4", lost=())
    a_run(daemon, "r5", mode="enforce")
    a_run(daemon, "r6", mode="observe")
    a_run(daemon, "r7", end="aborted")
    answer = pilot(daemon)
    assert answer["runs"]["total"] == 7
    assert answer["runs"]["modes"] == {"enforce": 1, "observe": 1, "shadow": 5}
    intervened = {k: answer["intervened"][k] for k in ("runs", "would", "did", "ended_badly")}
    assert intervened == {"runs": 5, "would": 4, "did": 1, "ended_badly": 1}
    assert answer["rules"] == [{"rule": "orphaned_event", "runs": 5, "would": 5, "did": 1}]
    first, second = answer["places"]
    assert (first["rule"], first["agent"], first["place"]) == ("orphaned_event", "critic", "critic → ghost")
    assert (first["runs"], first["would"], first["did"], first["ended_badly"]) == (4, 4, 1, 1)
    assert first["ended"] == {"success": 2, "failure": 1, "unknown": 0, "aborted": 1, "open": 0}
    assert first["silence"] == {"orphaned_event": {"except": ["critic"]}}
    assert (second["agent"], second["runs"], second["ended"]["open"]) == ("writer", 1, 1)
    example = second["examples"][0]
    assert example["run"] == "r3" and example["link"] == "/#/run/r3" and '"lost"' in example["reason"]
    assert len(first["examples"]) == 3

    text = asking(digctl, daemon)("pilot", "--width", "200").stdout
    assert "digd would have intervened in 4 of 7 runs and did intervene in 1." in text
    assert "Of these 5 runs, 1 ended badly anyway" in text
    assert "orphaned_event@critic   critic → ghost" in text
    assert f"http://{daemon.address}/#/run/r3   detection {example['detection']}" in text
    assert "digctl pilot --fine orphaned_event@critic" in text


def test_a_run_without_an_outcome_ended_badly(daemon):
    a_run(daemon, "r1", end=None)
    with daemon.client(run="r2", place=False, agents=["critic"], mode="shadow") as c:
        orphan(c)
        c.tell("run_ended")
        c.wait_acked()
    answer = pilot(daemon)["intervened"]
    assert answer["ended"]["unknown"] == 1 and answer["ended"]["open"] == 1 and answer["ended_badly"] == 1


def test_a_detection_without_an_agent_is_silenced_by_observe_mode(daemon):
    with daemon.client(run="stuck", agents=["a", "b"], mode="shadow", rules={"deadlock": {"window_ms": 100}}) as c:
        c.event("e1", ["a"], ts=0)
        c.start("v1", "a", ["e1"], ts=1)
        c.end("v1", [{"id": "e2", "recipients": ["b"]}], ts=2)
        c.tell("time", ts=5000)
        c.wait_acked()
    (place,) = [candidate for candidate in pilot(daemon)["places"] if candidate["rule"] == "deadlock"]
    assert place["agent"] is None and place["place"] == "a → b"
    assert place["silence"] == {"deadlock": {"mode": "observe"}}


def test_pilot_counts_only_runs_opened_since_the_given_time(digctl, daemon):
    a_run(daemon, "r1")
    assert pilot(daemon, "1m")["runs"]["total"] == 1
    for bad in ("", "7", "d", "0d", "-1d", "1y", "99999999w", "7d "):
        assert request(daemon, "GET", f"/v1/pilot?since={quote(bad)}")[0] == 400, bad
    got = asking(digctl, daemon)("pilot", "--since", "soon")
    assert got.returncode == 2 and "7d" in got.stderr


def test_the_archive_alone_gives_the_daemons_answer(digctl, daemon):
    a_run(daemon, "r1")
    a_run(daemon, "r2", end="failure")
    from_daemon = json.loads(asking(digctl, daemon)("pilot", "--format", "json").stdout)
    from_archive = json.loads(digctl("pilot", "--format", "json", "--data-dir", daemon.data).stdout)
    for answer in (from_daemon, from_archive):
        assert answer.pop("since_ms") < answer.pop("until_ms")
    assert from_archive == from_daemon
    text = digctl("pilot", "--data-dir", daemon.data).stdout
    assert 'run "r2"' in text and "http" not in text


def test_agent_names_cannot_control_the_terminal(digctl, daemon, evil):
    a_run(daemon, "r" + evil, agent="critic" + evil)
    got = asking(digctl, daemon)("pilot")
    assert got.returncode == 0 and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", got.stdout)
    assert "--fine" not in got.stdout  # such a name cannot be typed
    assert pilot(daemon)["places"][0]["agent"] == "critic" + evil


# ---- --fine


def test_fine_prints_the_settings_and_the_healings_they_silence(digctl, daemon):
    a_run(daemon, "r1", lost=("lost", "lost2"))
    a_run(daemon, "r2", agent="writer", mode="enforce")
    got = asking(digctl, daemon)("pilot", "--fine", "orphaned_event@critic", "--fine", "deadlock")
    assert got.returncode == 0, got.stderr
    config, python, hello = got.stdout.split("\n\n")
    wanted = {"orphaned_event": {"except": ["critic"]}, "deadlock": {"mode": "observe"}}
    assert tomllib.loads(config) == {"rules": wanted}
    assert eval(python.splitlines()[1].removeprefix("rules="), {}) == wanted
    assert json.loads(hello.splitlines()[1]) == wanted
    assert "silenced 2 healings" in got.stderr and "0 that it did" in got.stderr
    machine = json.loads(asking(digctl, daemon)("pilot", "--fine", "orphaned_event@writer", "--format", "json").stdout)
    assert machine == {"rules": {"orphaned_event": {"except": ["writer"]}}, "silences": {"would": 0, "did": 1}}


def test_a_run_with_the_settings_of_fine_is_not_healed(digctl, daemon):
    a_run(daemon, "before")
    answer = asking(digctl, daemon)("pilot", "--fine", "orphaned_event@critic", "--format", "json").stdout
    rules = json.loads(answer)["rules"]
    a_run(daemon, "after", rules=rules)
    a_run(daemon, "other", agent="writer", rules=rules)
    runs = {example["run"] for place in pilot(daemon)["places"] for example in place["examples"]}
    assert runs == {"before", "other"}
    (found,) = detections(daemon, "after")
    assert found["detection"]["cause"] == "mode" and found["detection"]["healing"] is None


REPEATING = '[guards.repetition]\nmax_repeats = 1\naction = "return"\n'


def repeat(daemon, run, **hello):
    with daemon.client(run=run, place=False, agents=["critic", "writer"], mode="shadow", **hello) as c:
        c.start("v1", "critic", [])
        for number in range(3):
            c.event(f"e{number}", ["writer"], event={"payload": "the same"}, source="v1")
        c.wait_acked()


def test_a_guard_is_silenced_in_the_table_of_guards(digctl, tmp_path):
    config = tmp_path / "digd.toml"
    config.write_text(REPEATING)
    with Daemon(tmp_path / "d", REPEATING) as daemon:
        repeat(daemon, "before")
        (place,) = pilot(daemon)["places"]
        assert (place["rule"], place["agent"], place["silence_in"]) == ("repetition", "critic", "guards")
        assert place["silence"] == {"repetition": {"except": ["critic"]}}
        ask = asking(digctl, daemon)
        assert "digctl pilot --fine repetition@critic" in ask("pilot", "--width", "200").stdout
        text, python, hello = ask("pilot", "--fine", "repetition@critic").stdout.split("\n\n")
        wanted = {"repetition": {"except": ["critic"]}}
        assert tomllib.loads(text) == {"guards": wanted}
        assert python.splitlines()[1] == 'guards={"repetition":{"except":["critic"]}}'
        assert "`guards`, which cannot change guards of digd.toml" in hello
        assert json.loads(hello.splitlines()[1]) == wanted
        mixed = ask("pilot", "--fine", "repetition", "--fine", "orphaned_event@critic", "--format", "json").stdout
        assert json.loads(mixed)["guards"] == {"repetition": {"mode": "observe"}}
        assert json.loads(mixed)["rules"] == {"orphaned_event": {"except": ["critic"]}}
        assert write(digctl, daemon, config, "repetition@critic").returncode == 0
    with Daemon(tmp_path / "after", config.read_text()) as daemon:
        repeat(daemon, "after")
        assert detections(daemon, "after") and pilot(daemon)["places"] == []
    settings = {"max_repeats": 1, "action": "return", "except": ["critic"]}
    with Daemon(tmp_path / "of a hello") as daemon:
        repeat(daemon, "after", guards={"repetition": settings})
        assert detections(daemon, "after") and pilot(daemon)["places"] == []
    assert tomllib.loads(config.read_text()) == {"guards": {"repetition": settings}}
    checked = subprocess.run([DIGD, "--config", config, "--check-config"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_a_name_beyond_the_basic_plane_is_valid_toml_and_json(digctl):
    name = "a\U000e0067\U0001f600"
    args = ("pilot", "--fine", "deadlock@" + name, "--to", "127.0.0.1:1")
    wanted = {"deadlock": {"except": [name]}}
    config, _, hello = digctl(*args).stdout.split("\n\n")
    assert tomllib.loads(config) == {"rules": wanted}
    assert json.loads(hello.splitlines()[1]) == wanted
    assert json.loads(digctl(*args, "--format", "json").stdout)["rules"] == wanted


def test_fine_suggests_the_rule_for_a_misspelt_one(digctl, daemon):
    ask = asking(digctl, daemon)
    got = ask("pilot", "--fine", "orphand_event@critic")
    assert got.returncode == 2 and 'did you mean "orphaned_event"?' in got.stderr
    assert ask("pilot", "--fine", "deadlock@").returncode == 2
    assert ask("pilot", "--fine", "deadlock", "--fine", "deadlock@a").returncode == 2
    assert ask("pilot", "--write", "digd.toml").returncode == 2


CONFIG = """\
# Ours.
credits = 512  # fewer

[rules.orphaned_event]   # an "é" before the list
max_attempts = 1
text = "é ü"
except = ["ü", 'old']  # known

[ rules . deadlock ]
window_ms = 5000

[limits]
agents = 7
"""


def write(digctl, daemon, config, *fine):
    options = [word for silenced in fine for word in ("--fine", silenced)]
    return asking(digctl, daemon)("pilot", *options, "--write", config)


def test_fine_changes_only_its_settings_in_a_configuration(digctl, daemon, tmp_path):
    config = tmp_path / "digd.toml"
    config.write_text(CONFIG)
    hard = 'a "b"\\ \u202e'
    got = write(
        digctl,
        daemon,
        config,
        "orphaned_event@critic",
        "orphaned_event@old",
        "deadlock@" + hard,
        "early_termination@x",
        "missing_termination",
    )
    assert got.returncode == 0, got.stderr
    before, after = tomllib.loads(CONFIG), tomllib.loads(config.read_text())
    before["rules"]["orphaned_event"]["except"] = ["ü", "old", "critic"]
    before["rules"]["deadlock"]["except"] = [hard]
    before["rules"]["early_termination"] = {"except": ["x"]}
    before["rules"]["missing_termination"] = {"mode": "observe"}
    assert after == before
    for comment in ("# Ours.", "# fewer", '# an "é" before the list', "# known"):
        assert comment in config.read_text()
    checked = subprocess.run([DIGD, "--config", config, "--check-config"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert '"critic"' in checked.stdout
    again = config.read_text()
    assert write(digctl, daemon, config, "orphaned_event@critic").returncode == 0
    assert config.read_text() == again


@pytest.mark.parametrize("text", ["", "credits = 5", "[rules.deadlock]", 'rules.orphaned_event.mode = "shadow"\n'])
def test_fine_is_written_into_minimal_configurations(digctl, daemon, tmp_path, text):
    config = tmp_path / "digd.toml"
    config.write_text(text)
    got = write(digctl, daemon, config, "deadlock@a")
    if got.returncode != 0:  # TOML does not allow a dotted table to be extended elsewhere
        assert "by hand" in got.stderr and config.read_text() == text
        return
    assert tomllib.loads(config.read_text())["rules"]["deadlock"]["except"] == ["a"]
    rest = tomllib.loads(config.read_text())
    del rest["rules"]["deadlock"]
    assert all(rest.get(key) == value for key, value in tomllib.loads(text).items() if key != "rules")


def test_a_configuration_that_cannot_be_edited_in_place_stays_unchanged(digctl, daemon, tmp_path):
    config = tmp_path / "digd.toml"
    for text in ('rules = {deadlock = {mode = "shadow"}}\n', "credits = \n"):
        config.write_text(text)
        got = write(digctl, daemon, config, "deadlock@a")
        assert got.returncode == 2 and config.read_text() == text
    assert write(digctl, daemon, tmp_path / "none.toml", "deadlock@a").returncode == 2


def test_fine_needs_no_daemon(digctl):
    got = digctl("pilot", "--fine", "deadlock@a", "--to", "127.0.0.1:1")
    assert got.returncode == 0 and 'except = ["a"]' in got.stdout and "cannot find" in got.stderr


# ---- judgements


def test_a_judgement_is_listed_counted_and_replaceable(digctl, daemon):
    a_run(daemon, "r1", lost=("lost", "lost2"))
    ask = asking(digctl, daemon)
    first, second = (judged["name"] for judged in detections(daemon, "r1"))
    got = ask("judge", "r1", first, "wrong", "--by", "ann")
    assert got.returncode == 0 and "judged wrong" in got.stderr
    judged, unjudged = detections(daemon, "r1")
    assert (judged["judgement"], judged["judged_by"], unjudged["judgement"]) == ("wrong", "ann", None)
    assert judged["judged_ms"] > 0
    assert ask("judge", "r1", first, "right").returncode == 0
    assert ask("judge", "r1", second, "wrong").returncode == 0
    answer = pilot(daemon)
    assert answer["places"][0]["judged"] == {"right": 1, "wrong": 1}
    (week,) = answer["precision"]
    assert (week["rule"], week["right"], week["wrong"], week["precision"]["value"]) == ("orphaned_event", 1, 1, 0.5)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", week["week"])
    assert "50.0 %" in ask("pilot", "--width", "150").stdout
    assert ask("judge", "r1", first, "none").returncode == 0
    assert detections(daemon, "r1")[0]["judgement"] is None


def test_detections_of_one_message_have_distinct_names(daemon):
    with daemon.client(run="r1", agents=["a"], mode="shadow") as c:
        c.start("v1", "a", [])
        c.end("v1", [{"id": "x", "recipients": ["ghost"]}, {"id": "y", "recipients": ["ghost"]}])
        c.wait_acked()
    first, second = detections(daemon, "r1")
    assert (
        first["seq"] == second["seq"] and first["name"] == str(first["seq"]) and second["name"] == f"{first['seq']}.2"
    )
    status, answer = request(
        daemon, "POST", f"/v1/runs/r1/detections/{second['name']}/judgement", {"judgement": "right"}
    )
    assert (status, answer) == (200, {"run": "r1", "detection": second["name"], "judgement": "right", "by": None})
    assert [each["judgement"] for each in detections(daemon, "r1")] == [None, "right"]


def test_an_empty_name_does_not_hide_who_judged(tmp_path):
    with guarded(tmp_path) as daemon:
        with daemon.client(run="r1", agents=["a"], mode="shadow", token=TOKENS["all"][0]) as c:
            c.start("v1", "a", [])
            c.end("v1", [{"id": "x", "recipients": ["ghost"]}])
            c.wait_acked()
        path = "/v1/runs/r1/detections"
        name = json.loads(status_of(daemon, path, TOKENS["all"][0])[1])["detections"][0]["name"]
        for by, judged_by in (("", "all"), (None, "all"), ("ann", "ann")):
            body = json.dumps({"judgement": "right", "by": by}).encode()
            status, answer = status_of(daemon, f"{path}/{name}/judgement", TOKENS["all"][0], "POST", body)
            assert (status, json.loads(answer)["by"]) == (200, judged_by)
        for wrong in ({"judgement": "right", "by": 7}, {"judgement": "right", "by": "x" * 257}, {"by": "ann"}):
            body = json.dumps(wrong).encode()
            assert status_of(daemon, f"{path}/{name}/judgement", TOKENS["all"][0], "POST", body)[0] == 400
        for unknown in ("1", "0", "x", f"{name}.9"):
            body = b'{"judgement":"right"}'
            assert status_of(daemon, f"{path}/{unknown}/judgement", TOKENS["all"][0], "POST", body)[0] == 404
        file = daemon.data / "audit.jsonl"
        wait_until(lambda: len(file.read_text().splitlines()) == 10, "the audit log")


def test_a_judgement_survives_a_kill(daemon):
    a_run(daemon, "r1")
    (found,) = detections(daemon, "r1")
    path = f"/v1/runs/r1/detections/{found['name']}/judgement"
    assert request(daemon, "POST", path, {"judgement": "right"})[0] == 200
    daemon.kill()
    daemon.start()
    assert detections(daemon, "r1")[0]["judgement"] == "right"


def test_judging_an_unknown_detection_is_refused(digctl, daemon):
    a_run(daemon, "r1")
    (found,) = detections(daemon, "r1")
    path = f"/v1/runs/r1/detections/{found['name']}/judgement"
    for where in (
        "none/detections/1",
        "r1/detections/99",
        f"r1/detections/{found['name']}.2",
        "r1/detections/x",
        "r1/detections/0",
        "r1/detections/1.",
    ):
        assert request(daemon, "POST", f"/v1/runs/{where}/judgement", {"judgement": "right"})[0] == 404, where
    for body in (
        "",
        "{",
        "[]",
        "{}",
        {"judgement": "maybe"},
        {"judgement": 1},
        {"judgement": "right", "by": 5},
        {"judgement": "right", "by": "x" * 300},
    ):
        assert request(daemon, "POST", path, body)[0] == 400, body
    assert request(daemon, "GET", path)[0] == 405
    assert detections(daemon, "r1")[0]["judgement"] is None
    got = asking(digctl, daemon)("judge", "r1", "99", "right")
    assert got.returncode == 2 and 'no detection "99"' in got.stderr


def test_pilot_ignores_a_deleted_run(daemon):
    a_run(daemon, "r1")
    (found,) = detections(daemon, "r1")
    request(daemon, "POST", f"/v1/runs/r1/detections/{found['name']}/judgement", {"judgement": "right"})
    assert request(daemon, "DELETE", "/v1/runs/r1")[0] == 204
    answer = pilot(daemon)
    assert answer["runs"]["total"] == 0 and answer["places"] == [] and answer["precision"] == []


def test_judging_needs_the_operate_right_and_pilot_shows_only_permitted_runs(tmp_path):
    tokens = tmp_path / "tokens.toml"
    secrets = {"all": ("a" * 64, ["ingest", "read", "operate"], None), "reader": ("b" * 64, ["read"], ["mine-"])}
    tokens.write_text(
        "".join(
            f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(secret.encode()).hexdigest()}"\n'
            f"rights = {json.dumps(rights)}\n" + (f"runs = {json.dumps(runs)}\n" if runs else "")
            for name, (secret, rights, runs) in secrets.items()
        )
    )
    tokens.chmod(0o600)
    with Daemon(tmp_path / "d", f'tokens = "{tokens}"\n') as daemon:
        for run in ("mine-1", "theirs-1"):
            with daemon.client(run=run, agents=["critic"], mode="shadow", token="a" * 64) as c:
                orphan(c)
                c.wait_acked()
        (found,) = request(daemon, "GET", "/v1/runs/mine-1/detections", token="b" * 64)[1]["detections"]
        path = f"/v1/runs/mine-1/detections/{found['name']}/judgement"
        assert request(daemon, "POST", path, {"judgement": "right"})[0] == 401
        assert request(daemon, "POST", path, {"judgement": "right"}, token="b" * 64)[0] == 403
        status, answer = request(daemon, "POST", path, {"judgement": "right"}, token="a" * 64)
        assert (status, answer["by"]) == (200, "all")
        mine = request(daemon, "GET", "/v1/pilot", token="b" * 64)[1]
        assert mine["runs"]["total"] == 1 and mine["places"][0]["runs"] == 1
        assert request(daemon, "GET", "/v1/pilot", token="a" * 64)[1]["runs"]["total"] == 2
        assert request(daemon, "GET", "/v1/pilot")[0] == 401
