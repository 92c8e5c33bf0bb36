"""The labelled failure logs beside the repository, for tests that read the headline of every log.

They lie in ../shared/data/whowhen, or where DIGD_WHOWHEN_DIR says. Without them nothing is measured, and a warning in
the summary of pytest says that.
"""

import json
import os
import re
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(os.environ.get("DIGD_WHOWHEN_DIR") or Path(__file__).parents[3] / "shared/data/whowhen")
NAMED = re.compile(r"^(?:Most likely|Proven:) (.+?), step (\d+)(?:: “|\. )")
NOBODY = ("Nobody stands out", "The run succeeded")


def each_log(read):
    """`read(file, labels)` of every log, two at a time. Empty, with a warning, where there are no logs."""
    if not FOLDER.is_dir():
        warnings.warn(f"NOT MEASURED: there are no labelled logs in {FOLDER}; set DIGD_WHOWHEN_DIR", stacklevel=2)
        return []
    files = sorted(FOLDER.glob("*/*.json"))
    assert files, f"{FOLDER} has no logs"
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda file: read(file, json.loads(file.read_text())), files))


def digctl_output(*args, given=None):
    command = [os.environ["DIGCTL_BIN"], *map(str, args)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def named(words):
    """The agent and step that a headline names; None if it names nobody."""
    found = NAMED.match(words)
    assert found or words.startswith(NOBODY), words
    return (found.group(1), int(found.group(2))) if found else None


def check_accuracy(headlines):
    """`headlines`: of each log its subset, its labels and its words. At least as often right as `digctl eval` says."""
    measured = json.loads(digctl_output("eval", "whowhen", FOLDER, "--format", "json")) if headlines else {}
    for subset, methods in measured.items():
        of_subset = [(labels, named(words)) for s, labels, words in headlines if s == subset]
        assert len(of_subset) == methods["chief"]["n"]
        blamed = [(labels, name) for labels, name in of_subset if name is not None]
        assert blamed, f"{subset}: no headline names anybody"
        agents = sum(name[0] == labels["mistake_agent"] for labels, name in blamed)
        steps = sum(name[1] == int(labels["mistake_step"]) for labels, name in blamed)
        print(f"{subset}: {len(blamed)} of {len(of_subset)} name somebody; agent {agents}, step {steps} right")
        assert agents / len(blamed) >= methods["chief"]["agent"] - 1e-9, subset
        assert steps / len(blamed) >= methods["chief"]["step"] - 1e-9, subset
