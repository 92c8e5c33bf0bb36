"""Runs Gemini CLI and opencode against a scripted model, attached with digctl, and keeps the calls of their hooks.

Without a program ($GEMINI_BIN, $OPENCODE_BIN) the recorded hook calls of the same scenario are played instead.
"""

import json
import os
import subprocess
from pathlib import Path

from attach_test import digctl
from claude_code_test import Watched
from coding_agent import RECORDED, TIMEOUT_S, Relay, Session, post, without_paths
from fake_chat import ChatHandler
from fake_gemini import GeminiHandler
from fake_model import Model, serve
from live import DIGCTL

PROMPT = "[[part:main]] go"
PROGRAMS = {"gemini": os.environ.get("GEMINI_BIN", ""), "opencode": os.environ.get("OPENCODE_BIN", "")}


class AgentWatched(Watched):
    """A daemon that answers the hooks of one program."""

    def __init__(self, daemon, program: str):
        super().__init__(daemon)
        self.program = program

    def url(self, mode="shadow"):
        return f"http://{self.daemon.address}/v1/hooks/{self.program}?mode={mode}"


def start(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    """Runs a program in the project's folder to its end; returns its standard output."""
    path = f"{Path(DIGCTL).resolve().parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder / "project",
        env={"PATH": path, "HOME": str(folder / "home"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def run_gemini(folder: Path, model: Model) -> str:
    settings = folder / "home" / ".gemini" / "settings.json"
    own = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | own))
    server = serve(model, GeminiHandler)
    command = [PROGRAMS["gemini"], "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--skip-trust"]
    variables = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
    try:
        text = start([*command, "--output-format", "json", "-p", PROMPT], folder, variables)
    finally:
        server.shutdown()
    return json.loads(text)["response"]


def run_opencode(folder: Path, model: Model, program: str = PROGRAMS["opencode"]) -> str:
    server = serve(model, ChatHandler)
    options = {"baseURL": f"http://127.0.0.1:{server.server_port}/v1", "apiKey": "x"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"fake": {"name": "fake"}}}
    config = {"provider": {"fake": provider}, "model": "fake/fake", "small_model": "fake/fake"}
    config |= {"autoupdate": False, "share": "disabled", "permission": {"bash": "allow"}}
    names = "AUTOUPDATE MODELS_FETCH LSP_DOWNLOAD".split()
    variables = {"OPENCODE_CONFIG_CONTENT": json.dumps(config)} | {f"OPENCODE_DISABLE_{name}": "1" for name in names}
    try:
        text = start([program, "run", PROMPT], folder, variables)
    finally:
        server.shutdown()
    return text.strip().splitlines()[0]


def play(scenario: str, folder: Path, watched: AgentWatched, mode: str, parts: dict) -> Session:
    """Runs a scenario with the real program, or plays its recorded hook calls."""
    program, model = watched.program, Model(parts)
    record = RECORDED / f"{program}_{scenario}.jsonl"
    if not PROGRAMS[program]:
        hooks = [post(watched.url(mode), json.loads(line)) for line in record.read_text().splitlines()]
        return Session(hooks, model, None)
    relay = Relay(watched.url(mode))
    server = relay.serve()
    for name in ("home", "project"):
        (folder / name).mkdir()
    attached = digctl("attach", program, mode, "--to", f"127.0.0.1:{server.server_port}", cwd=folder / "home")
    assert attached.returncode == 0, attached.stderr
    try:
        result = {"gemini": run_gemini, "opencode": run_opencode}[program](folder, model)
    finally:
        server.shutdown()
    if os.environ.get("RECORD_HOOKS"):
        record.write_text("".join(json.dumps(without_paths(hook.call, folder)) + "\n" for hook in relay.hooks))
    return Session(relay.hooks, model, result)
