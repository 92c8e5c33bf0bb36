"""LiteLLM's proxy asks digd before each model call.

The real proxy comes from PyPI; $LITELLM_BIN names it. Without it the first two tests still play its recorded requests.
"""

import json
import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from live import Daemon, wait_until

LITELLM = os.environ.get("LITELLM_BIN", "")
PATH = "/v1/guardrail/beta/litellm_basic_guardrail_api"
START_S = 120.0  # the proxy imports for half a minute on a busy machine
GUARDS = "verdict_deadline_ms = 20000\n[guards.budget]\nmax_model_calls = 3\n[guards.repetition]\nmax_repeats = 2\n"
# As the proxy 1.83.14 sent it.
RECORDED = {
    "input_type": "request",
    "litellm_call_id": "19a6bfa7-738b-4bae-a72c-01522de1b6b9",
    "litellm_trace_id": "trace-12345678",
    "structured_messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "hello"}],
    "images": None,
    "tools": None,
    "texts": ["sys", "hello"],
    "request_data": {},
    "request_headers": {"x-litellm-trace-id": "trace-12345678", "x-litellm-agent-id": "coder"},
    "litellm_version": "1.83.14",
    "additional_provider_specific_params": {"mode": "enforce"},
    "tool_calls": None,
    "model": "fake",
}


def unused_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(url, body, headers=None):
    """Returns the status and the answer."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"} | (headers or {})
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def listed_runs(daemon):
    with urllib.request.urlopen(f"http://{daemon.address}/v1/runs", timeout=20) as response:
        return response.read().decode()


def asked(text, **more):
    return RECORDED | {"texts": ["sys", text], "structured_messages": [{"role": "user", "content": text}]} | more


@pytest.fixture
def guarded(tmp_path):
    with Daemon(tmp_path / "daemon", GUARDS) as running:
        yield running


class FakeModel:
    """An OpenAI-compatible endpoint that answers ok and keeps what it was asked."""

    def __init__(self):
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_): ...

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(body)
                message = {"role": "assistant", "content": "ok"}
                answer = {
                    "id": "x", "object": "chat.completion", "created": 1, "model": "fake",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
                }  # fmt: skip
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """The real proxy before a fake model; `guardrail` is digd's address, or none."""

    def __init__(self, folder, guardrail, mode="enforce"):
        folder.mkdir(exist_ok=True)
        self.model = FakeModel()
        params = {"model": "openai/fake", "api_base": self.model.url, "api_key": "none"}
        config = {"model_list": [{"model_name": "fake", "litellm_params": params}]}
        if guardrail:
            settings = {
                "guardrail": "generic_guardrail_api", "mode": "pre_call", "default_on": True,
                "api_base": f"http://{guardrail}/v1/guardrail", "unreachable_fallback": "fail_open",
                "fail_on_error": False, "additional_provider_specific_params": {"mode": mode},
            }  # fmt: skip
            config["guardrails"] = [{"guardrail_name": "digd", "litellm_params": settings}]
        (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
        self.port = unused_port()
        command = [LITELLM, "--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(self.port)]
        self.log = (folder / "proxy.log").open("w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=folder)
        wait_until(self.is_up, "the proxy answers", START_S)

    def is_up(self):
        assert self.process.poll() is None, "the proxy ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/liveliness", timeout=5) as response:
                return response.status == 200
        except OSError:
            return False

    def ask(self, text, trace="trace-12345678"):
        body = {"model": "fake", "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": text}]}
        headers = {"x-litellm-trace-id": trace, "x-litellm-agent-id": "coder"}
        return post(f"http://127.0.0.1:{self.port}/v1/chat/completions", body, headers)

    def texts(self):
        """The last message of each request that reached the model."""
        return [request["messages"][-1]["content"] for request in self.model.requests]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
        self.model.close()


def test_a_recorded_call_over_the_budget_is_blocked_with_the_reason(guarded):
    url = f"http://{guarded.address}{PATH}"
    answers = [post(url, asked(f"question {n}")) for n in range(4)]
    assert [status for status, _ in answers] == [200] * 4
    actions = [answer["action"] for _, answer in answers]
    assert actions[:2] == ["NONE", "NONE"]
    assert actions[3] == "BLOCKED"
    assert "max_model_calls 3" in answers[3][1]["blocked_reason"]
    other = post(url, asked("question", litellm_trace_id="trace-87654321"))
    assert other == (200, {"action": "NONE"})


def test_a_recorded_call_changes_nothing_in_shadow_and_malformed_ones_are_refused(guarded):
    url = f"http://{guarded.address}{PATH}"
    shadow = {"additional_provider_specific_params": {}}
    assert {post(url, asked("same", **shadow))[1]["action"] for _ in range(6)} == {"NONE"}
    assert post(url, asked("answer", input_type="response")) == (200, {"action": "NONE"})
    status, answer = post(url, {"input_type": "neither"})
    assert status == 400
    assert "input_type" in json.dumps(answer)
    wait_until(lambda: "litellm-trace-12345678/calls" in listed_runs(guarded), "the run is archived")


if LITELLM:

    def test_a_healthy_system_is_the_same_with_digd(tmp_path):
        config = "verdict_deadline_ms = 20000\n[guards.budget]\nmax_model_calls = 100\n"
        with Daemon(tmp_path / "daemon", config) as daemon:
            seen = []
            for name, guardrail in (("plain", None), ("digd", daemon.address)):
                with Proxy(tmp_path / name, guardrail) as proxy:
                    answers = [proxy.ask(f"question {n}") for n in range(5)]
                    seen.append(([(status, a["choices"]) for status, a in answers], proxy.model.requests))
        assert seen[0] == seen[1]

    def test_the_proxy_blocks_what_repeats_and_goes_on_without_digd(tmp_path, guarded):
        with Proxy(tmp_path / "proxy", guarded.address) as proxy:
            answers = [proxy.ask("again") for _ in range(4)]
            assert answers[0][0] == 200
            assert answers[3][0] >= 400  # the proxy's version decides which
            assert "max_model_calls 3" in json.dumps(answers[3][1])
            texts = proxy.texts()
            assert texts[0] == "again"
            assert any(text.startswith("again\n\n") for text in texts), texts
            guarded.kill()
            assert proxy.ask("again")[0] == 200
