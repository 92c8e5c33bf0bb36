"""The page of digctl report in Chromium: it runs no foreign script, requests nothing, and is accessible."""

import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

DEMO = Path(__file__).parents[2] / "traces/demo.jsonl"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def pages(digctl, evil_trace, tmp_path):
    """The page of a run, as a file."""

    def make(name, *args):
        path = tmp_path / f"{name}.html"
        done = digctl("report", DEMO if name == "demo" else evil_trace, "--budget", "300", "-o", path, *args)
        assert done.returncode == 0, done.stderr
        return path

    return make


def opened(browser, path, **options):
    """Opens a page that collects its errors, requests and dialogs in `page.wrong`."""
    page = browser.new_context(**options).new_page()
    page.wrong = []
    page.on("request", lambda r: None if r.url.startswith("file:") else page.wrong.append(r.url))
    page.on("dialog", lambda d: page.wrong.append(d.message) or d.dismiss())
    page.on("console", lambda m: page.wrong.append(m.text))
    page.on("pageerror", lambda e: page.wrong.append(e.message))
    page.goto(path.as_uri())
    return page


@pytest.mark.parametrize("which", ["demo", "evil"])
def test_the_page_runs_no_foreign_script_and_requests_nothing(browser, pages, which):
    page = opened(browser, pages(which))
    assert page.locator("script").count() == 1 and page.locator("img, iframe, link, object").count() == 0
    page.click("#open-all")
    assert page.locator("details:not([open])").count() == 0
    assert page.wrong == []


@pytest.mark.parametrize("which", ["demo", "evil"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_accessibility_violation(browser, pages, which, scheme):
    page = opened(browser, pages(which), bypass_csp=True, color_scheme=scheme)
    page.click("#open-all")
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in found] == []


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_the_page_fits_its_window(browser, pages, width):
    page = opened(browser, pages("evil"), viewport={"width": width, "height": 800})
    page.click("#open-all")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_every_control(browser, pages):
    page = opened(browser, pages("demo"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"DIV.scroll", "SUMMARY."} <= seen
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


def test_printing_opens_all_details(browser, pages):
    page = opened(browser, pages("demo"))
    page.pdf()
    assert page.locator("details:not([open])").count() == 0


def test_the_answer_fills_one_screen_and_the_page_a_third_of_what_it_was(browser, pages):
    page = opened(browser, pages("demo"), viewport={"width": 1280, "height": 800})
    verdict = page.locator("header .verdict").bounding_box()
    assert verdict["y"] + verdict["height"] < 800
    assert page.locator("header").bounding_box()["height"] < 800
    assert page.locator("header .verdict strong").all_inner_texts() == ["What went wrong?", "Who?", "What now?"]
    sections = page.locator("section > h2").all_inner_texts()
    assert sections == ["What happened", "Who", "Why: the detections", "What was done", "How sure", "Method"]
    # The page had 11,840 px when each method had an open section of its own.
    assert page.evaluate("document.documentElement.scrollHeight") <= 11840 / 3
    folded = page.locator("#method details:not([open])").count()
    assert folded == page.locator("#method details").count() > 3
