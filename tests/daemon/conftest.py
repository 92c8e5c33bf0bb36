import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from live import Daemon  # noqa: E402


@pytest.fixture
def daemon(tmp_path):
    """A daemon with two engine threads and the defaults."""
    with Daemon(tmp_path, "threads = 2\n") as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """Chromium, which draws the dashboard's graph without a graphics card."""
    from playwright.sync_api import sync_playwright  # here: most of these tests need no browser

    with sync_playwright() as play:
        running = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        yield running
        running.close()
