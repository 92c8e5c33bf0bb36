"""The client of digd. It reports what the agents of a run do, and follows the daemon's verdicts.

docs/clients-python.md describes it.
"""

from . import sync
from .activation import Activation
from .cancellation import Cancelled
from .dig import attach
from .messages import Detection, Event, Intervention, Usage, Verdict
from .run import Run
from .version import __version__

__all__ = [
    "Activation",
    "Cancelled",
    "Detection",
    "Event",
    "Intervention",
    "Run",
    "Usage",
    "Verdict",
    "__version__",
    "attach",
    "sync",
]
