"""The command lines in the README and in docs/ run, with the digd and digctl of this tree, in a folder of their own.

A daemon on loopback, which has judged the demonstration, stands for the reader's. Files and runs of the reader are
replaced by ones that exist. NOT_RUN lists the lines that do not run here, with the reason. samples_test.py and
commands_test.py check that the options of all of them exist.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests/daemon"), str(ROOT / "tests/analysis/causal")]
import team  # noqa: E402
from live import DIGCTL, DIGD, Daemon  # noqa: E402
from samples_test import blocks  # noqa: E402

TIMEOUT_S = 120
LINE = re.compile(
    r"(?:sudo |\w+=\S* )*"
    r"(?:(?:digctl|curl|npm|npx|pip|python|cmake|ctest|podman|apt|systemctl|journalctl|sqlite3|export|for|claude) "
    r"|digd (?=[-&])|(?:scripts|build)/|claude$)"
)
NOT_RUN = {
    r"(DIGD_MODE=off )?python examples/langgraph_healed\.py": "commands_test.py compares what it prints",
    r"digctl tail": "follows until Ctrl-C; tests/cli/watching_test.py",
    r"scripts/": "builds or measures for minutes; scripts/check-release",
    r"cmake |npm --prefix dashboard": "builds digd, as CI does",
    r"sudo apt|systemctl|journalctl": "changes this machine; scripts/test-package does it in a clean root",
    r"podman ": "needs the image; scripts/test-packages podman",
    r"digd &": "the daemon of this test stands for it",
    r"claude": "needs Claude Code; tests/hooks replay what it sends",
    r"digctl restore": "needs a stopped daemon; tests/daemon/backup_test.py",
    r"digctl causal explain /var": "needs an archive of 30 runs; tests/analysis/causal/causal_cli_test.py",
    r"digctl (causal eval|eval \w+|chief-train)": "needs data sets that are not here; tests/analysis has small ones",
    r"for |digctl import whowhen \.\.|digctl replay \$trace": "needs a data set that is not here",
    r"digctl rerun": "needs the reader's graph; clients/python/tests/langgraph_rerun_test.py",
    r"python -m digd\.fleet|digctl --fleet|digctl .*--fleet …": "needs a store; tests/fleet",
    r"digctl report .*--format pdf": "needs Chromium; tests/cli/report_test.py",
    r"digctl attribute shapley (accuracy|faithfulness|metrics|speed)": "attribute_shapley_test.py prints these tables",
}
# What the pages name, and what stands for it. {data} is the data directory of the daemon.
STANDS_FOR = {
    r"/usr/share/doc/digd/examples/": "tests/traces/",
    r"/var/lib/digd\b": "{data}",
    r"/etc/digd\b": "etc",
    r"(localhost|127\.0\.0\.1):7344\b": "{address}",
    r"/v1/runs/r1\b": "/v1/runs/demo",
    r"\bFILE\b": "copy.sqlite",
    r"\bTRACE\b": "tests/traces/demo.jsonl",
    r"\bRUN\b": "demo",
    r"\bruns/SESSION\.TURN\.jsonl": "$(ls runs/*.jsonl | head -n 1)",
}


def lines_of(text):
    """The command lines of a block; some blocks have two columns."""
    for line in text.splitlines():
        for part in re.split(r"\s{2,}", line.strip()):
            if part.startswith("#"):
                break
            command = part.removeprefix("$ ").split(" #")[0].strip()
            if LINE.match(command):
                yield command


def reason_not_to_run(line):
    return next((reason for pattern, reason in NOT_RUN.items() if re.match(pattern, line)), None)


def runnable_blocks():
    for place, text in blocks(""):
        lines = [line for line in lines_of(text) if not reason_not_to_run(line)]
        if lines:
            yield pytest.param(lines, id=place)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Daemon(tmp_path_factory.mktemp("daemon")) as started:
        send = [DIGCTL, "send", ROOT / "tests/traces/demo.jsonl", "--to", started.address]
        subprocess.run(send, check=True, capture_output=True, timeout=TIMEOUT_S)
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the samples name."""
    folder = tmp_path_factory.mktemp("files")
    for name in ("tests", "examples"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    for name, program in (("digd", DIGD), ("digctl", DIGCTL)):
        (folder / "bin" / name).symlink_to(Path(program).resolve())
    (folder / "etc").mkdir()
    shutil.copy(ROOT / "config/digd.toml", folder / "etc")
    shutil.copy(ROOT / "tests/traces/demo.jsonl", folder / "run.jsonl")
    shutil.copy(ROOT / "tests/ingest/otlp/recorded/healthy/langgraph_router.json", folder / "spans.json")
    steps = [{"role": "assistant", "name": name, "content": f"I am {name}."} for name in ("Reader", "Clerk", "Writer")]
    log = {"question": "Who?", "question_ID": "q", "ground_truth": "1", "mistake_agent": "Clerk", "mistake_step": "1"}
    (folder / "log.json").write_text(json.dumps({**log, "history": steps}))
    for name in ("before", "after", "A", "B", "runs"):
        team.write(folder / name, 40, 1, "waits", -1.0 if name in ("after", "B") else 0.2)
    sessions = folder / "home/.codex/sessions"
    shutil.copytree(ROOT / "tests/hooks/recorded_logs/codex/two", sessions)
    environment = {**os.environ, "HOME": str(folder / "home")}
    explain = [DIGCTL, "causal", "explain", folder / "runs", "--format", "json"]
    done = subprocess.run(explain, env=environment, capture_output=True, timeout=TIMEOUT_S, check=True)
    (folder / "causes.json").write_bytes(done.stdout)
    return folder


@pytest.mark.parametrize("lines", list(runnable_blocks()))
def test_the_command_lines_of_a_block_run(lines, files, daemon, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(files, folder, symlinks=True)
    path = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {"PATH": ":".join(path), "HOME": str(folder / "home"), "DIGD_URL": daemon.address}
    for line in lines:
        script = line.replace("[", "").replace("]", "") if line.startswith("digctl") else line
        for pattern, place in STANDS_FOR.items():
            script = re.sub(pattern, place.format(data=daemon.data, address=daemon.address), script)
        script = script.replace("curl ", "curl --fail --show-error ")
        shell = ["bash", "-o", "pipefail", "-c", script]
        streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        done = subprocess.run(shell, cwd=folder, env=environment, timeout=TIMEOUT_S, **streams)
        assert done.returncode == 0, f"{line}\n{script}\n{done.stdout}{done.stderr}"


def test_every_line_that_does_not_run_has_a_reason_that_is_used():
    lines = [line for _, text in blocks("") for line in lines_of(text)]
    assert len(lines) > 60
    for pattern in NOT_RUN:
        assert any(re.match(pattern, line) for line in lines), pattern
