"""The shell scripts: traps that a run rarely shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_script_pipes_into_a_grep_that_stops_early():
    """`grep -q` ends at its first match. The writer before it then fails, and with pipefail so does the pipeline."""
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file()] + [ROOT / ".ci/run"]
    lines = {
        f"{path.name}:{number}": line
        for path in scripts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\|\s*grep -\w*q", line)
    }
    assert lines == {}
