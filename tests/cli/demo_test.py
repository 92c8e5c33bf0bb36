"""digctl demo as a user calls it: a private daemon that leaves nothing behind. And digctl health."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIGD = os.environ.get("DIGD_BIN", str(ROOT / "build/release/bin/digd"))
DIGCTL = os.environ.get("DIGCTL_BIN", str(ROOT / "build/release/bin/digctl"))
TIMEOUT_S = 120


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path


def demo(folder, *args, **env):
    """Starts digctl demo without a desktop, in a folder of its own."""
    variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    variables |= {"TMPDIR": str(folder / "tmp"), "DIGD_BIN": str(Path(DIGD).resolve()), **env}
    return subprocess.Popen(
        [str(Path(DIGCTL).resolve()), "demo", *args],
        cwd=folder / "work",
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    return process.returncode, out, err


def read_until(stream, text):
    seen = ""
    for line in stream:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"no {text!r} in {seen}")


def test_the_scripted_team_is_healed_and_nothing_is_left(folder):
    status, out, err = finish(demo(folder, "--exit", "--speed", "1000"))
    assert status == 0, err
    assert out.count("reroute") == 2 and out.count("create") == 2
    assert "35 messages" in err and re.search(r"http://127\.0\.0\.1:\d+/#/run/demo\n", err)
    assert list((folder / "tmp").iterdir()) == []


def test_the_columns_stay_aligned_while_rows_come(folder):
    _, out, err = finish(demo(folder, "--exit", "--speed", "20"))
    head, *rows = out.splitlines()
    starts = {row.index(match[0]) for row in rows if (match := re.search(r"deliver|reroute|inject|create", row))}
    assert len(rows) >= 14 and starts == {head.index("action")}, out + err


def test_variables_of_another_daemon_do_not_disturb_the_private_one(folder):
    status, _, err = finish(demo(folder, "--exit", "--speed", "1000", DIGD_URL="127.0.0.1:1", DIGD_TOKENS="/none"))
    assert status == 0, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_page_stays_until_a_signal(folder, number):
    process = demo(folder, "--speed", "1000")
    seen = read_until(process.stderr, "until you press Ctrl-C")
    url = next(line for line in seen.splitlines() if "http://" in line).split()[-1]
    healthy = subprocess.run([DIGCTL, "health", "--to", url.split("/")[2]], capture_output=True, timeout=TIMEOUT_S)
    assert healthy.returncode == 0
    process.send_signal(number)
    status, _, err = finish(process)
    assert status == 0, err
    assert list((folder / "tmp").iterdir()) == []


def test_ctrl_c_ends_a_demonstration_that_still_plays(folder):
    process = demo(folder, "--speed", "0.001")
    read_until(process.stderr, "No language model is involved")
    process.send_signal(signal.SIGINT)
    status, _, err = finish(process)
    assert status == 0, err
    assert list((folder / "tmp").iterdir()) == []


def test_a_missing_digd_is_an_error_that_names_it(folder):
    status, _, err = finish(demo(folder, "--exit", DIGD_BIN="/none/digd"))
    assert status == 2
    assert "/none/digd" in err and "install digd" in err


def test_an_example_runs_broken_and_then_healed(folder):
    pytest.importorskip("digd")
    status, out, err = finish(demo(folder, "--attach", "python", "--exit", "--python", sys.executable))
    assert status == 0, err
    broken, healed = out.split("planner: 'Write a parser.'")[1:]
    assert "lost: 'try it' for 'tester'" in broken and "from digd" not in broken
    assert "from digd" in healed and "reviewer: 'try it'" in healed and "lost" not in healed
    assert (folder / "work/digd_demo_python_team.py").read_text() == (ROOT / "examples/python_team.py").read_text()


@pytest.mark.parametrize(
    ("framework", "module", "note"),
    [
        ("langgraph", "langgraph", 'Agents that can receive'),
        ("openai-agents", "agents", "the answer: A report with 42 sources."),
        ("autogen", "autogen_agentchat", "Do not pass it on"),
    ],
)
def test_the_example_of_a_framework_is_healed_only_when_digd_may(folder, framework, module, note):
    pytest.importorskip(module)
    process = demo(folder, "--attach", framework, "--exit", "--python", sys.executable, PYTHONUNBUFFERED="1")
    status, out, err = finish(process)
    assert status == 0, err
    assert out.count(note) > 0
    name = next(iter((folder / "work").glob("digd_demo_*.py"))).name
    plain = subprocess.run(
        [sys.executable, name],
        cwd=folder / "work",
        env={**os.environ, "DIGD_MODE": "off"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert plain.returncode == 0, plain.stderr
    assert out.startswith(plain.stdout), "in shadow the program prints what it prints without digd"
    assert note not in plain.stdout


def test_an_example_that_the_user_changed_is_kept(folder):
    (folder / "work/digd_demo_python_team.py").write_text("print('my own')\n")
    status, out, _ = finish(demo(folder, "--attach", "python", "--exit", "--python", sys.executable))
    assert status == 0
    assert out == "my own\nmy own\n"


@pytest.mark.parametrize(("framework", "wheel"), [("langgraph", "'WHEEL[langgraph]'"), ("python", "'WHEEL'")])
def test_a_failing_example_is_an_error_that_names_the_packages_to_install(folder, framework, wheel):
    status, _, err = finish(demo(folder, "--attach", framework, "--exit", "--python", "false"))
    assert status == 2
    assert f"missing in false: pip install {wheel}" in err and "--python" in err


def test_health_of_no_daemon_is_wrong_use(digctl):
    asked = digctl("health", "--to", "127.0.0.1:1")
    assert asked.returncode == 2 and asked.stderr
