"""axe-core finds no violation in the dashboard: contrast, names, roles; wide and light, narrow and dark."""

import subprocess

import pytest
from axe_playwright_python.sync_playwright import Axe
from counted_runs import DEMO, play_troubled
from live import DIGCTL, Daemon
from playwright.sync_api import expect

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Daemon(tmp_path_factory.mktemp("axe")) as daemon:
        subprocess.run([DIGCTL, "send", str(DEMO), "--to", daemon.address], check=True, capture_output=True, timeout=60)
        play_troubled(daemon)
        yield daemon


def violations(page):
    return [
        f"{v['id']}: {node['target']} {node.get('failureSummary', '')}"
        for v in Axe().run(page).response["violations"]
        for node in v["nodes"]
    ]


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_axe_finds_no_violation(daemon, browser, viewport, scheme):
    context = browser.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(30_000)
    found = {}
    for run in ("demo", "troubled"):
        page.goto(f"http://{daemon.address}/#/run/{run}")
        expect(page.get_by_role("region", name="Answer").get_by_text("What now?")).to_be_visible(timeout=30_000)
        found[run] = violations(page)
    for button in ("Pilot", "Health"):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        found[button] = violations(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(f"http://{daemon.address}/#/run/unknown")
    expect(page.get_by_role("heading", name="There is no such run yet")).to_be_visible()
    found["unknown"] = violations(page)
    context.close()
    assert found == {place: [] for place in found}
