"""The record of healings in one run: how many succeeded, by rule, and whether the run still follows verdicts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from .conversation import count
from .messages import Detection, Json

log = logging.getLogger("digd")

MAX_FAILED_HEALINGS = 3  # after this many, the run delivers everything unchanged


class HealingRecord:
    """Counts healings, and logs one line when healing stops and one at the end of a run that had any."""

    def __init__(self, run_id: str) -> None:
        self.is_stopped = False
        self._run_id = run_id
        self._failures = 0
        self._counts: dict[str, int] = {}  # by rule
        self._logged: set[str] = set()

    def add(self, detections: Iterable[Detection]) -> None:
        """Counts the healed ones of a verdict's or an intervention's detections."""
        for detection in detections:
            if detection.healed:
                count(self._counts, detection.rule)

    def remove(self, detections: Iterable[Detection]) -> None:
        """Takes back what `add` counted: the verdict was not carried out."""
        for detection in detections:
            if detection.healed and self._counts.get(detection.rule):
                count(self._counts, detection.rule, -1)

    def add_failure(self, reason: str) -> bool:
        """Counts a verdict or an intervention that was not carried out. Returns True once, when healing stops."""
        self._failures += 1
        if self._failures != MAX_FAILED_HEALINGS:
            return False
        self.is_stopped = True
        self.log_once(
            "healing_failed",
            "%d of digd's decisions could not be carried out (the last one: %s); from now on messages are delivered "
            "unchanged, and still reported",
            MAX_FAILED_HEALINGS,
            reason,
        )
        return True

    def log_once(self, name: str, text: str, *values: Json) -> None:
        if name not in self._logged:
            self._logged.add(name)
            log.warning("digd: run %s: " + text, self._run_id, *values)

    def log_unheld(self, max_added_s: float) -> None:
        """Logs, once, that messages are not held any more."""
        self.log_once(
            "max_added_ms",
            "holding messages has used up the %g ms that max_added_ms allows; from now on messages are delivered "
            "unchanged",
            max_added_s * 1000,
        )

    def log_summary(self, unhealed: Mapping[str, int]) -> None:
        """Logs one line if digd healed something, or would have in `enforce`; nothing for any other run.

        unhealed: by rule, the detections that only the mode kept from being healed.
        """

        def listed(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{rule} {n}" for rule, n in sorted(counts.items()))

        if self._counts:
            log.info(
                "digd: run %s: healed %d times (%s); `digctl show %s` has the details",
                self._run_id,
                sum(self._counts.values()),
                listed(self._counts),
                self._run_id,
            )
        elif unhealed:
            log.info(
                "digd: run %s: digd would have healed %d times (%s), and changed nothing, because the mode is shadow. "
                'Pass mode="enforce" or set DIGD_MODE=enforce to enable healing; `digctl show %s` has the details',
                self._run_id,
                sum(unhealed.values()),
                listed(unhealed),
                self._run_id,
            )
