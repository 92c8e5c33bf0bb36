"""The fixtures of tests/cli, for the tests of the offline passes."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))  # live: a running daemon
sys.path.insert(0, str(Path(__file__).parent))  # labelled_logs

_spec = importlib.util.spec_from_file_location("digctl_fixtures", Path(__file__).parents[1] / "cli" / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)

digctl = _fixtures.digctl
trace = _fixtures.trace
evil_trace = _fixtures.evil_trace
