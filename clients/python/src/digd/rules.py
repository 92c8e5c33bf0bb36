"""The rules that judge by time. Written by scripts/generate-rules. Do not edit."""

from __future__ import annotations

RUN_WINDOW_RULES = ("deadlock", "missing_termination")  # the window belongs to the run
EVENT_WINDOW_RULES = ("orphaned_event",)  # each event has a window
