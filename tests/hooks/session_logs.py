"""Session logs of Codex, Gemini CLI and opencode: of the programs against a scripted model, or recorded ones.

With RECORD_HOOKS set and the programs installed, `logs_of` runs the program and keeps what the importers read.
Two are older versions of opencode: 1.1.65 keeps files, and the database of 1.2.11 does not name agents.
$OPENCODE_1_1_BIN and $OPENCODE_1_2_BIN name the programs (`npm install opencode-ai@1.1.65`).
"""

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from agent_programs import PROGRAMS, run_gemini, run_opencode
from codex_test import CODEX, CONFIG
from coding_agent import TIMEOUT_S, without_paths
from fake_model import Model, serve
from fake_responses import ResponsesHandler

LOGS = Path(__file__).parent / "recorded_logs"
TABLES = ("session", "message", "part")
OPENCODE_OF = {
    "opencode": PROGRAMS["opencode"],
    "opencode-1.1": os.environ.get("OPENCODE_1_1_BIN", ""),
    "opencode-1.2": os.environ.get("OPENCODE_1_2_BIN", ""),
}
# Of a rollout: the lines that the importer reads.
CODEX_LINES = {"session_meta", "turn_context", "token_usage_record", "response_item", "event_msg"}
CODEX_KEPT = {"function_call", "function_call_output", "task_started", "task_complete", "token_count", "item_completed"}


def run_codex(folder: Path, model: Model) -> None:
    home, project = folder / "home", folder / "project"
    (home / ".codex").mkdir(parents=True)
    server = serve(model, ResponsesHandler)
    (home / ".codex" / "config.toml").write_text(CONFIG.format(port=server.server_port))
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    try:
        subprocess.run(
            [CODEX, "exec", *flags, "[[part:main]] go"],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "FAKE_KEY": "x"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    finally:
        server.shutdown()


def is_installed(program: str) -> bool:
    return bool({**PROGRAMS, **OPENCODE_OF, "codex": CODEX}[program])


def run(program: str, folder: Path, parts: dict) -> Path:
    """Runs the program; returns the folder or the file of its logs."""
    (folder / "project").mkdir(parents=True)
    home = folder / "home"
    if program == "codex":
        run_codex(folder, Model(parts))
        return home / ".codex" / "sessions"
    home.mkdir()
    if program == "gemini":
        (home / ".gemini").mkdir()
        (home / ".gemini" / "settings.json").write_text("{}")
        run_gemini(folder, Model(parts))
        return home / ".gemini" / "tmp"
    data = home / ".local" / "share" / "opencode"
    run_opencode(folder, Model(parts), OPENCODE_OF[program])
    return data / ("storage" if program == "opencode-1.1" else "opencode.db")


def codex_line(line: dict) -> dict | None:
    payload = line["payload"]
    payload.pop("base_instructions", None)
    kept = line["type"] not in ("response_item", "event_msg") or payload.get("type") in CODEX_KEPT
    if line["type"] not in CODEX_LINES or not kept:
        return None
    if payload.get("type") == "item_completed" and payload["item"]["type"] != "UserMessage":
        return None
    return line


def gemini_line(line: dict) -> dict:
    for message in line.get("$set", {}).get("messages", []):
        for part in message["content"]:
            part["text"] = part["text"][:100]  # the program's description of the machine
    return line


def record_lines(logs: Path, to: Path, folder: Path, clean) -> None:
    for file in sorted(logs.rglob("*.jsonl")):
        target = to / file.relative_to(logs)
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = [clean(json.loads(line)) for line in file.read_text().splitlines()]
        target.write_text("".join(json.dumps(without_paths(line, folder)) + "\n" for line in lines if line))


def record_database(database: Path, to: Path, folder: Path) -> None:
    """Keeps the three tables as SQL."""
    with sqlite3.connect(database) as rows:
        names = {name: sql for name, sql in rows.execute("SELECT name, sql FROM sqlite_master") if name in TABLES}
        text = "".join(names[name] + ";\n" for name in TABLES)
        text += "".join(line + "\n" for line in rows.iterdump() if line.startswith(tuple(map(insert_into, TABLES))))
    to.mkdir(parents=True)
    (to / "opencode.sql").write_text(text.replace(str(folder), "/home/dev").replace(str(folder)[1:], "home/dev"))


def record_files(storage: Path, to: Path, folder: Path) -> None:
    """Keeps the files of the three kinds, one a line."""
    files = sorted(path for kind in TABLES for path in (storage / kind).rglob("*.json"))
    lines = [{"file": str(file.relative_to(storage)), "content": json.loads(file.read_text())} for file in files]
    to.mkdir(parents=True)
    text = "".join(json.dumps(without_paths(line, folder)) + "\n" for line in lines)
    (to / "storage.jsonl").write_text(text)


def insert_into(table: str) -> str:
    return f'INSERT INTO "{table}" '


def record(program: str, logs: Path, to: Path, folder: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    if program == "opencode-1.1":
        return record_files(logs, to, folder)
    if program in OPENCODE_OF:
        return record_database(logs, to, folder)
    record_lines(logs, to, folder, codex_line if program == "codex" else gemini_line)
    for root in logs.rglob(".project_root"):
        (to / root.relative_to(logs)).write_text("/home/dev/project")


def recorded(program: str, scenario: str, folder: Path) -> Path:
    """The recorded logs, as the program keeps them."""
    logs = LOGS / program / scenario
    if program not in OPENCODE_OF:
        return logs
    folder.mkdir(parents=True, exist_ok=True)
    if program == "opencode-1.1":
        for line in map(json.loads, (logs / "storage.jsonl").read_text().splitlines()):
            file = folder / "storage" / line["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(line["content"], indent=2))
        return folder
    database = folder / "opencode.db"
    with sqlite3.connect(database) as rows:
        rows.executescript((logs / "opencode.sql").read_text())
    return database


def logs_of(program: str, scenario: str, parts: dict, folder: Path, is_real: bool = False) -> Path:
    """Logs of a session: of one that the program runs now, or recorded ones."""
    records = bool(os.environ.get("RECORD_HOOKS"))
    if not is_installed(program) or not (is_real or records):
        return recorded(program, scenario, folder)
    logs = run(program, folder, parts)
    if records:
        record(program, logs, LOGS / program / scenario, folder)
    return logs
