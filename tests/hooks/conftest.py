import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from coding_agent import program  # noqa: E402
from live import Daemon  # noqa: E402


def pytest_terminal_summary(terminalreporter):
    """Says which programs were not tested."""
    paths = {name: os.environ.get(f"{name.upper()}_BIN") for name in ("Codex", "Gemini", "opencode", "LiteLLM")}
    missing = [name for name, path in {"Claude Code": program(), **paths}.items() if not path]
    if missing:
        names = ", ".join(missing)
        terminalreporter.write_line(
            f"Not installed: {names}. tests/hooks played RECORDED hook calls, not the programs.", red=True, bold=True
        )


@pytest.fixture
def daemon(tmp_path):
    with Daemon(tmp_path / "daemon", "threads = 2\nverdict_deadline_ms = 20000\n") as running:
        yield running
