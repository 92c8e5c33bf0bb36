"""Which parts of payloads the daemon keeps."""

import hashlib
import json
import sqlite3
import subprocess

import pytest

from live import DIGCTL, TIMEOUT_S, Daemon

SECRET = "sk-0123456789abcdef"


def kept_after(tmp_path, config):
    """Returns all bytes on disk and the archived frames of a run with the secret in every possible place."""
    with Daemon(tmp_path, config) as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"], event={"payload": {"text": f"my key is {SECRET}!", "n": [1, {"deep": SECRET}]}})
            c.start("v1", "a", ["e1"])
            c.end("v1", [{"id": "e2", "recipients": ["nobody"], "payload": SECRET}], {"e1": "consume"})
            c.verdicts()
            c.start("v2", "a", ["e2"])
            c.tell("activation_ended", activation="v2", failed=True, error=f"denied: {SECRET}")
            c.wait_acked()
        with daemon.client("ended") as c:
            c.tell("run_ended", outcome="success", metrics={"note": f"denied: {SECRET}", "cost": 2})
            c.wait_acked()
        assert daemon.stop() == 0
        raw = b"".join(f.read_bytes() for f in daemon.data.iterdir() if f.is_file())
        frames = [
            json.loads(row[0])
            for row in sqlite3.connect(daemon.data / "digd.sqlite").execute("SELECT frame FROM messages ORDER BY entry")
        ]
        daemon.start()
        with daemon.client(agents=["a"]) as again:  # recovery reads the run back
            again.event("e9", ["a"])
            assert again.verdicts()
        return raw, frames


def test_payloads_are_kept_in_full_by_default(tmp_path):
    raw, frames = kept_after(tmp_path, "")
    assert SECRET.encode() in raw
    assert frames[2]["outputs"][0]["payload"] == SECRET


def test_secrets_are_redacted_before_they_are_stored(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nredact = ["sk-[0-9a-f]+", "unused"]')
    assert SECRET.encode() not in raw
    assert frames[0]["event"]["payload"] == {"text": "my key is [redacted]!", "n": [1, {"deep": "[redacted]"}]}
    assert frames[2]["outputs"][0]["payload"] == "[redacted]"
    assert frames[4]["error"] == "denied: [redacted]"


def test_digest_mode_keeps_only_the_digest_of_a_payload(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nkeep = "digest"\nredact = ["denied.*"]')
    assert SECRET.encode() not in raw
    payload = json.dumps(SECRET)
    assert frames[2]["outputs"][0]["payload"] == {
        "sha256": hashlib.sha256(payload.encode()).hexdigest(),
        "bytes": len(payload),
    }


def test_none_mode_keeps_no_payload(tmp_path):
    raw, frames = kept_after(tmp_path, '[payloads]\nkeep = "none"\nredact = ["denied.*"]')
    assert SECRET.encode() not in raw
    assert "payload" not in frames[0]["event"] and "payload" not in frames[2]["outputs"][0]


def test_refused_messages_are_redacted_like_others(tmp_path):
    with Daemon(tmp_path, f'[payloads]\nkeep = "none"\nredact = ["{SECRET}"]') as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("e1", ["a"])
            c.tell("activation_started", activation="v1", agent="a", inputs=7, payload={"text": SECRET})
            c.tell("activation_ended", activation="unknown", error=SECRET, payload=SECRET)
            c.event("e1", ["a"], event={"payload": SECRET})
            for code in ("bad_message", "unknown_activation", "duplicate_event"):
                assert c.error()["code"] == code
            c.wait_acked()
        assert daemon.stop() == 0
        assert SECRET.encode() not in b"".join(f.read_bytes() for f in daemon.data.iterdir() if f.is_file())
        daemon.start()
        with daemon.client(agents=["a"]) as again:
            assert again.welcome["acked_seq"] == 4


def test_an_invalid_redaction_pattern_is_refused(tmp_path):
    daemon = Daemon(tmp_path, '[payloads]\nredact = ["("]')
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "payloads.redact" in done.stderr and "missing )" in done.stderr


@pytest.mark.parametrize(
    "config, quoted",
    [
        ("", f"Error: exception in line 3 with {SECRET}"),
        ('[payloads]\nredact = ["sk-[0-9a-f]+"]', "Error: exception in line 3 with [redacted]"),
        ('[payloads]\nkeep = "digest"', None),
        ('[payloads]\nkeep = "none"', None),
    ],
)
def test_a_report_quotes_the_suspect_and_the_detections_as_far_as_texts_are_kept(tmp_path, config, quoted):
    with Daemon(tmp_path, config) as daemon:
        with daemon.client(agents=["planner", "coder"], mode="observe") as c:
            c.event("task", ["planner"], ts=1, event={"payload": {"text": "Compute 6 times 7."}})
            c.start("v1", "planner", ["task"], ts=2)
            c.end("v1", [{"id": "e1", "recipients": ["coder"], "payload": {"text": "Please multiply."}}], ts=3)
            c.start("v2", "coder", ["e1"], ts=4)
            text = f"Error: exception in line 3 with {SECRET}"
            c.end("v2", [{"id": "e2", "recipients": ["nobody"], "payload": {"text": text}}], ts=5)
            c.tell("run_ended", outcome="failure", ts=6)
            c.wait_acked()
        made = {}
        for form in ("json", "md"):
            command = [DIGCTL, "report", "r1", "--to", daemon.address, "--format", form]
            made[form] = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout
    conclusion = json.loads(made["json"])["conclusion"]
    assert (conclusion["agent"], conclusion["activation"]) == ("coder", "v2")
    assert conclusion["quote"] == quoted
    plain = made["md"].replace("\\", "")
    assert (SECRET in plain) == (quoted is not None and SECRET in quoted)
    assert plain.count(f"“{quoted}”") == (1 if quoted else 0) and ("What e2 says:" in plain) == (quoted is not None)
