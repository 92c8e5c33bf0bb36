"""Webhooks of a running digd with real receivers: content, order, filters, TLS and secrets."""

import contextlib
import hashlib
import hmac
import json
import re
import signal
import sqlite3
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from live import DIGD, TIMEOUT_S, Daemon, wait_until
from webhook_receiver import SECRET, Receiver, ask, dead, events_of, hook, orphan, orphans, reload, state, stuck

DOCS = Path(__file__).parents[2] / "docs/webhooks.md"


# ---- content


def test_an_intervention_and_its_detection_are_posted_and_signed(tmp_path):
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url("/a/b?c=d"))) as daemon:
        with daemon.client(agents=["a", "b"], witness=True) as c:
            sent = stuck(c)
            found, made = r.wait_for(2)
        assert (found["run"], found["detection"]["rule"]) == ("r1", "deadlock")
        assert found["detection"]["reason"] and "witness" in found["detection"]
        assert made["run"] == "r1" and made["intervention"] == sent
        assert set(made) == {"id", "run", "intervention"} and set(found) == {"id", "run", "detection"}
        assert made["id"].endswith("-intervention-1") and found["id"].endswith("-detection-1")
        documented = {}
        exec(re.search("```python\n(.*?)```", DOCS.read_text(), re.S)[1], documented)
        for post in r.posts:
            headers = post["headers"]
            assert documented["is_from_digd"](SECRET.encode(), headers, post["raw"])
            assert not documented["is_from_digd"](SECRET.encode(), headers, post["raw"] + b" ")
            assert post["path"] == "/a/b?c=d" and headers["Content-Type"] == "application/json"
            assert headers["Host"] == f"127.0.0.1:{r.port}"
            signed = headers["Digd-Timestamp"].encode() + b"." + post["raw"]
            expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            assert headers["Digd-Signature"] == "v1=" + expected


def test_a_system_without_an_open_socket_is_healed(tmp_path):
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url(), send=["interventions"])) as daemon:
        c = daemon.client(agents=["a", "b"], clock="wall", rules={"deadlock": {"window_ms": 300}})
        c.event("e1", ["a"])
        c.wait_acked()
        c.close()
        made = r.wait_for(1)[0]["intervention"]
        assert (made["id"], made["action"]) == ("sys:1", "create") and made["inject"]
        with daemon.client(
            agents=["a", "b"], clock="wall"
        ) as again:  # the client gets the intervention when it reconnects
            assert again.wait_for("intervention")["id"] == "sys:1"


def test_a_webhook_receives_only_what_its_filters_select(tmp_path):
    with Receiver() as r:
        config = (
            hook(tmp_path, r.url("/all"), "all")
            + hook(tmp_path, r.url("/made"), "made", send=["interventions"])
            + hook(tmp_path, r.url("/rule"), "rule", rules=["orphaned_event"])
            + hook(tmp_path, r.url("/severity"), "severity", severities=["warning"])
            + hook(tmp_path, r.url("/label"), "label", labels=["team=search", "tier=1"])
        )
        with Daemon(tmp_path, config) as daemon:
            with daemon.client("plain", agents=["a", "b"]) as c:
                orphan(c)
                stuck(c)
                c.wait_acked()
            with daemon.client("labelled", agents=["a", "b"], labels={"team": "search", "tier": 1, "more": "x"}) as c:
                orphan(c)
                c.wait_acked()
            with daemon.client("half", agents=["a", "b"], labels={"team": "search"}) as c:
                orphan(c)
                c.wait_acked()
            everything = r.wait_for(5, "/all")
            wait_until(
                lambda: all(w["unread"] == w["waiting"] == 0 for w in ask(daemon, "GET", "/v1/webhooks")["webhooks"]),
                "all webhooks to be idle",
            )
            kinds = lambda path: sorted(
                (b["run"], "intervention" if "intervention" in b else b["detection"]["rule"]) for b in r.taken(path)
            )
            assert len(everything) == 5
            assert kinds("/made") == [("plain", "intervention")]
            assert kinds("/rule") == [(run, "orphaned_event") for run in ("half", "labelled", "plain")]
            assert kinds("/severity") == []
            assert kinds("/label") == [("labelled", "orphaned_event")]


def test_a_new_webhook_receives_only_later_callbacks(tmp_path):
    with Receiver() as r:
        with Daemon(tmp_path) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 2)
            assert not (daemon.data / "webhooks.db").exists()
            assert ask(daemon, "GET", "/v1/webhooks") == {"webhooks": []}
            daemon.stop()
        with Daemon(tmp_path, hook(tmp_path, r.url())) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1, first=2)
            assert events_of(r.wait_for(1), "r1") == ["o2"]


# ---- Slack


def test_names_are_escaped_in_slack_texts(tmp_path):
    nasty = "<!channel>`*x*`<https://evil.example|y>@here&\n\u202e"
    with Receiver() as r, Daemon(tmp_path, hook(tmp_path, r.url(), format="slack", secret_file=None)) as daemon:
        with daemon.client(nasty, place=False, agents=["a", "b", nasty]) as c:
            c.event("e1" + nasty, [nasty], ts=0)
            c.tell("time", ts=15_000)
            c.wait_for("intervention")
            texts = [b["text"] for b in r.wait_for(2)]
        for post in r.posts:
            assert set(post["body"]) == {"text"} and "Digd-Signature" not in post["headers"]
        for text in texts:
            assert "deadlock" in text
            assert "<" not in text and ">" not in text and "\u202e" not in text
            outside = "".join(text.split("`")[::2])
            for word in ("evil", "channel", "here", "x", "@", "&"):
                assert word not in outside
            for live in ("://", "@here", "evil.example"):
                assert live not in text


# ---- TLS


def test_people_get_one_alert_of_a_rule_and_agent_in_a_period(tmp_path):
    config = hook(tmp_path, "URL", format="slack", secret_file=None, send=["detections"], group_ms=500)
    with Receiver() as r, Daemon(tmp_path, config.replace("URL", r.url())) as daemon:
        with daemon.client("r1", agents=["a"], rules={"orphaned_event": {"mode": "observe"}}) as c:
            orphans(c, 3)
            assert len(r.wait_for(1)) == 1
            wait_until(lambda: state(daemon)["joined"] == 2, "two alerts that are left out")

            def next_period():
                orphan(c, f"late{len(r.taken())}-{state(daemon)['joined']}")
                c.wait_acked()
                return len(r.taken()) >= 2

            wait_until(next_period, "the alert of the next period")
        assert re.search(r"\n\d+ more of this rule and agent were left out before\.", r.taken()[1]["text"])


def test_alerts_over_the_rate_wait(tmp_path):
    config = hook(tmp_path, "URL", format="slack", secret_file=None, send=["detections"], group_ms=0, rate=2)
    with Receiver() as r, Daemon(tmp_path, config.replace("URL", r.url())) as daemon:
        with daemon.client("r1", agents=["a"]) as c:
            orphans(c, 5)
            wait_until(lambda: state(daemon)["rate_waits"] >= 1, "a post that waits")
            orphans(c, 3, first=5)  # no further wait begins
            wait_until(lambda: state(daemon)["waiting"] == 6, "all alerts to be queued")
        now = state(daemon)
        assert (len(r.taken()), now["joined"], now["rate_waits"]) == (2, 0, 1)


def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """ca.pem signs good.pem (for localhost) and named.pem (for another name)."""
    folder = tmp_path_factory.mktemp("certificates")
    openssl(
        folder,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-subj",
        "/CN=a CA for tests",
    )
    for name, host in (("good", "localhost"), ("named", "elsewhere.example")):
        openssl(
            folder,
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            f"/CN={host}",
        )
        (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\n")
        openssl(
            folder,
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.pem",
        )
    return folder


def server_tls(certificates, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    return context


def test_a_receiver_with_a_good_certificate_gets_callbacks(tmp_path, certificates):
    with Receiver(tls=server_tls(certificates, "good")) as r:
        url = r.url(scheme="https", host="localhost")
        with Daemon(tmp_path, hook(tmp_path, url, ca_file=str(certificates / "ca.pem"))) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 2)
                assert events_of(r.wait_for(2), "r1") == ["o0", "o1"]


@pytest.mark.parametrize("name, ca", [("named", "ca.pem"), ("good", None)])
def test_a_receiver_with_a_bad_certificate_gets_nothing(tmp_path, certificates, name, ca):
    with Receiver(tls=server_tls(certificates, name)) as r:
        url = r.url(scheme="https", host="localhost")
        ca_file = str(certificates / ca) if ca else None
        with Daemon(tmp_path, hook(tmp_path, url, ca_file=ca_file, attempts=2)) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 1)
                wait_until(lambda: state(daemon)["dead"] == 1, "the dead letter")
            assert dead(daemon)["dead"][0]["why"].startswith("TLS")
        assert not r.posts


# ---- secrets


def test_secrets_appear_in_no_output(tmp_path):
    path = "/services/T0/B0/a-path-that-is-a-secret"
    with Receiver(lambda *_: 500) as r:
        config = hook(tmp_path, r.url(path), attempts=2) + hook(tmp_path, "http://receiver.example" + path, "far")
        (tmp_path / "check").mkdir()
        (tmp_path / "check/digd.toml").write_text(config)
        check = subprocess.run(
            [DIGD, "--config", str(tmp_path / "check/digd.toml"), "--data-dir", str(tmp_path), "--check-config"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert check.returncode == 0 and 'warning: the webhook "far" goes to' in check.stderr
        assert f'url = "http://127.0.0.1:{r.port}/…"' in check.stdout
        with Daemon(tmp_path, '[log]\nlevel = "debug"\n' + hook(tmp_path, r.url(path), attempts=2)) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphan(c, payload={"text": "text-of-an-agent"})
                c.wait_acked()
                wait_until(lambda: state(daemon)["dead"] == 1, "the dead letter")
            daemon.config.write_text(hook(tmp_path, r.url(path), attempts=3))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_logged("reloaded")
            texts = [
                check.stdout,
                check.stderr,
                daemon.log_text(),
                json.dumps(ask(daemon, "GET", "/v1/webhooks")),
                json.dumps(dead(daemon)),
                ask(daemon, "GET", "/metrics"),
            ]
        for text in texts:
            assert SECRET not in text and "a-path-that-is-a-secret" not in text
        assert "text-of-an-agent" not in daemon.log_text()
        assert r.posts and all(SECRET.encode() not in p["raw"] for p in r.posts)


# ---- reload, metrics, stop


def test_a_reload_adds_changes_and_removes_webhooks(tmp_path):
    with Receiver(lambda path, body: 500 if path == "/broken" else 200) as r, Daemon(tmp_path) as daemon:
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            reload(daemon, hook(tmp_path, r.url("/broken"), attempts=1000), "reloaded")
            orphans(c, 2, first=1)
            wait_until(lambda: state(daemon)["failed"] >= 1, "a failure")
            reload(daemon, hook(tmp_path, r.url("/mended")), "reloaded")  # keeps the waiting callbacks
            assert events_of(r.wait_for(2, "/mended"), "r1") == ["o1", "o2"]
            # A webhook that cannot be set up leaves all webhooks unchanged.
            reload(daemon, hook(tmp_path, r.url("/x"), secret_file=str(tmp_path / "none")), "reload_refused")
            reload(daemon, hook(tmp_path, "https://localhost/", ca_file=str(tmp_path / "none")), "reload_refused")
            orphans(c, 1, first=3)
            assert events_of(r.wait_for(3, "/mended"), "r1") == ["o1", "o2", "o3"]
            reload(daemon, "", "reloaded")
            assert ask(daemon, "GET", "/v1/webhooks") == {"webhooks": []}
            orphans(c, 1, first=4)
            reload(daemon, hook(tmp_path, r.url("/mended")), "reloaded")  # starts again, without the earlier callbacks
            orphans(c, 1, first=5)
            assert events_of(r.wait_for(4, "/mended"), "r1")[3] == "o5"
            daemon.wait_logged("webhook.pager: added", "webhook_removed")


def test_a_changed_webhook_posts_at_once(tmp_path):
    with Receiver(lambda path, body: 500 if path == "/broken" else 200) as r:
        patient = {"retry_ms": 600_000, "retry_most_ms": 600_000}
        with Daemon(tmp_path, hook(tmp_path, r.url("/broken"), **patient)) as daemon:
            with daemon.client(agents=["a", "b"]) as c:
                orphans(c, 1)
                wait_until(lambda: state(daemon)["failed"] == 1, "a failure")
                reload(daemon, hook(tmp_path, r.url("/mended"), **patient), "reloaded")
                assert events_of(r.wait_for(1, "/mended"), "r1") == ["o0"]


def test_a_refused_reload_changes_no_webhook(tmp_path):
    """webhooks.db refuses one of two new webhooks, after the first one was stored and another one removed."""
    with Receiver(lambda path, body: 500 if path == "/dead" else 200) as r:
        config = hook(tmp_path, r.url("/dead"), "dead", attempts=1) + hook(tmp_path, r.url("/kept"), "kept")
        other = hook(tmp_path, r.url("/other"), "kept") + "".join(
            hook(tmp_path, r.url("/new"), name) for name in ("new", "refused")
        )
        with Daemon(tmp_path, config) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            wait_until(lambda: state(daemon, "dead")["dead"] == 1, "the dead letter")
            with contextlib.closing(sqlite3.connect(daemon.data / "webhooks.db")) as db:
                db.execute(
                    "CREATE TRIGGER refuse BEFORE INSERT ON webhooks WHEN new.name = 'refused' "
                    "BEGIN SELECT RAISE(ABORT, 'refused'); END"
                )
                reload(daemon, other, "reload_refused")
                assert [w["name"] for w in ask(daemon, "GET", "/v1/webhooks")["webhooks"]] == ["dead", "kept"]
                assert len(dead(daemon, "dead")["dead"]) == 1
                assert db.execute("SELECT name FROM webhooks ORDER BY name").fetchall() == [("dead",), ("kept",)]
                orphans(c, 1, first=1)
                assert events_of(r.wait_for(2, "/kept"), "r1") == ["o0", "o1"]
                assert not r.taken("/other") and not r.taken("/new")
                db.execute("DROP TRIGGER refuse")
            reload(daemon, other, "reloaded")
            orphans(c, 1, first=2)
            assert events_of(r.wait_for(2, "/new"), "r1") == ["o2", "o2"]


def test_a_secret_that_is_missing_stops_the_start(tmp_path):
    daemon = Daemon(tmp_path, hook(tmp_path, "http://127.0.0.1:9/", secret_file=str(tmp_path / "none")))
    done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and 'the webhook "pager" cannot be set up' in done.stderr


def test_a_secret_is_read_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DIGD_PAGER__SECRET", SECRET)
    with Receiver() as r:
        config = hook(tmp_path, r.url(), secret_file=None, secret_env="DIGD_PAGER__SECRET")
        with Daemon(tmp_path, config) as daemon, daemon.client(agents=["a", "b"]) as c:
            orphans(c, 1)
            r.wait_for(1)
            post = r.posts[0]
            signed = post["headers"]["Digd-Timestamp"].encode() + b"." + post["raw"]
            assert (
                post["headers"]["Digd-Signature"]
                == "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            )


def test_metrics_name_each_webhook_but_no_run(tmp_path):
    with Receiver(lambda path, body: 200 if path == "/good" else 500) as r:
        config = hook(tmp_path, r.url("/good"), "good") + hook(tmp_path, r.url("/bad"), "bad", attempts=3)
        with Daemon(tmp_path, config) as daemon, daemon.client("visible-run", agents=["a", "b"]) as c:
            orphans(c, 2)
            wait_until(
                lambda: state(daemon, "bad")["dead"] == 2 and state(daemon, "good")["delivered"] == 2,
                "both webhooks to finish",
            )
            text = ask(daemon, "GET", "/metrics")
        assert "visible" not in text
        samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("digd_webhook"))
        expected = {
            "posted_total": (2, 0),
            "failed_total": (0, 6),
            "retried_total": (0, 4),
            "died_total": (0, 2),
            "dead_letters": (0, 2),
            "waiting": (0, 0),
            "under_way": (0, 0),
            "unread": (0, 0),
            "dead_dropped_total": (0, 0),
        }
        for name, (good, bad) in expected.items():
            assert samples[f'digd_webhook_{name}{{webhook="good"}}'] == str(good), name
            assert samples[f'digd_webhook_{name}{{webhook="bad"}}'] == str(bad), name


def test_a_receiver_that_never_answers_delays_no_verdict_and_no_stop(tmp_path):
    released = threading.Event()
    with (
        Receiver(lambda *_: released.wait(TIMEOUT_S) and 200) as r,
        Daemon(tmp_path, hook(tmp_path, r.url(), timeout_ms=120_000)) as daemon,
    ):
        with daemon.client(agents=["a", "b"]) as c:
            orphans(c, 50)
            assert c.verdicts(2)[0]["action"] == "reroute"
            wait_until(lambda: state(daemon)["under_way"] == 1, "a post under way")
            assert ask(daemon, "GET", "/readyz")["ready"]
        assert daemon.stop() == 0
        released.set()


def test_without_an_archive_there_are_no_webhooks(tmp_path):
    with Daemon(tmp_path, "archive = false\n") as daemon:
        for method, path in (("GET", "/v1/webhooks"), ("GET", "/v1/webhooks/a/dead"), ("POST", "/v1/webhooks/a/retry")):
            assert ask(daemon, method, path, 503)["error"]["code"] == "archive_off"
