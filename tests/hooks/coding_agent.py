"""Runs Claude Code against a scripted model, with its hooks sent to a daemon, and keeps the calls of the hooks.

Without the program the recorded hook calls of the same scenario are played instead, in their order.
"""

import json
import os
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

from fake_model import Model, serve

RECORDED = Path(__file__).parent / "recorded"
HOOKS = (
    "UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionDenied SubagentStart SubagentStop Stop "
    "StopFailure SessionEnd"
).split()
TIMEOUT_S = 120.0


def program() -> str | None:
    """Returns the path of Claude Code: $CLAUDE_CODE_BIN, or the one in the wheel of claude-agent-sdk."""
    if given := os.environ.get("CLAUDE_CODE_BIN"):
        return given if given != "none" else None
    found = find_spec("claude_agent_sdk")
    if not found or not found.origin:
        return None
    bundled = Path(found.origin).parent / "_bundled" / "claude"
    return str(bundled) if bundled.exists() else None


@dataclass
class Hook:
    """A hook call, and its answer."""

    call: dict
    status: int
    answer: dict


def post(url: str, call: dict) -> Hook:
    """Sends a hook call, as the program does."""
    request = urllib.request.Request(url, json.dumps(call).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            return Hook(call, response.status, json.loads(response.read() or b"{}"))
    except urllib.error.HTTPError as error:
        return Hook(call, error.code, {})
    except OSError:
        return Hook(call, 0, {})


@dataclass
class Relay:
    """Passes hook calls on to the daemon and keeps them; `before` is called with each first."""

    url: str
    before: object = None
    hooks: list[Hook] = field(default_factory=list)

    def serve(self) -> ThreadingHTTPServer:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if relay.before:
                    relay.before(call)
                hook = post(relay.url, call)
                relay.hooks.append(hook)
                body = json.dumps(hook.answer).encode()
                self.send_response(hook.status or 502)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


@dataclass
class Session:
    """A session that has ended: its hooks, and what the models were asked. `result`: None if it was recorded."""

    hooks: list[Hook]
    model: Model
    result: str | None

    @property
    def is_real(self) -> bool:
        return self.result is not None

    @property
    def changed(self) -> list[dict]:
        """The answers that change what the program does."""
        return [hook.answer for hook in self.hooks if hook.answer]


def environment(home: Path, model_port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}",
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # the tests may run as root
    }


def settings_with(hooks_url: str, timeout_s: float = 30) -> dict:
    """Returns settings that send every hook to one address."""
    entry = [{"hooks": [{"type": "http", "url": hooks_url, "timeout": timeout_s}]}]
    return {"hooks": dict.fromkeys(HOOKS, entry)}


def run_program(
    folder: Path, model: Model, settings: dict, prompt: str = "[[part:main]] go", resumes: tuple[str, ...] = ()
) -> str:
    """Runs a prompt to its end, and then `resumes` in the same session; returns the last result that was printed."""
    home, project = folder / "home", folder / "project"
    (home / ".claude").mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    server = serve(model)
    flags = ["--output-format", "json", "--dangerously-skip-permissions"]
    result = ""
    try:
        for command in [["-p", prompt], *(["--continue", "-p", each] for each in resumes)]:
            done = subprocess.run(
                [program(), *command, *flags],
                cwd=project,
                env=environment(home, server.server_port),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
            assert done.returncode == 0, done.stderr + done.stdout
            result = json.loads(done.stdout)["result"]
    finally:
        server.shutdown()
    return result


def play(
    scenario: str,
    folder: Path,
    url: str,
    parts: dict,
    before: object = None,
    hook_timeout_s: float = 30,
    resumes: tuple[str, ...] = (),
) -> Session:
    """Runs a scenario with the real program, or plays its recorded hook calls."""
    model = Model(parts)
    record = RECORDED / f"{scenario}.jsonl"
    if not program():
        hooks = []
        for line in record.read_text().splitlines():
            call = json.loads(line)
            if before:
                before(call)
            hooks.append(post(url, call))
        return Session(hooks, model, None)
    relay = Relay(url, before)
    server = relay.serve()
    try:
        hooks_url = f"http://127.0.0.1:{server.server_port}/"
        result = run_program(folder, model, settings_with(hooks_url, hook_timeout_s), resumes=resumes)
    finally:
        server.shutdown()
    if os.environ.get("RECORD_HOOKS") and before is None:
        RECORDED.mkdir(exist_ok=True)
        lines = [json.dumps(without_paths(hook.call, folder)) + "\n" for hook in relay.hooks]
        record.write_text("".join(lines))
    return Session(relay.hooks, model, result)


def without_paths(call: dict, folder: Path) -> dict:
    """Returns the call with the paths of this machine replaced."""
    text = json.dumps(call).replace(str(folder), "/home/dev")
    text = text.replace(str(folder).replace("/", "-").replace("_", "-"), "-home-dev")
    return json.loads(re.sub(r"/tmp/claude-\d+/[^/\"\\]+", "/tmp/claude-0/-home-dev-project", text))
