// Version 2 of the schema adds the size of each run, its last sign of life, and a mark for a run that is being deleted.
// With these, retention and the list of runs need not count entries, and a deletion can take many small steps.
// Released: never change it.
#pragma once

namespace digd::archive {

inline constexpr const char* schema_v2 = R"sql(
ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0
  /* of JSON stored: frames, verdicts, detections, interventions */;
ALTER TABLE runs ADD COLUMN heard_ms INTEGER
  /* Unix milliseconds: the latest hello or message; NULL if there was none */;
ALTER TABLE runs ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0
  /* 1: it is deleted, and its rows are being removed */;

UPDATE runs SET
  bytes = (SELECT coalesce(sum(coalesce(length(CAST(frame AS BLOB)), 0) + coalesce(length(CAST(verdicts AS BLOB)), 0)), 0)
           FROM entries WHERE entries.run = number)
        + (SELECT coalesce(sum(length(CAST(json AS BLOB))), 0) FROM detections WHERE detections.run = number)
        + (SELECT coalesce(sum(length(CAST(json AS BLOB))), 0) FROM interventions WHERE interventions.run = number),
  heard_ms = (SELECT max(arrived_ms) FROM entries
              WHERE entries.run = number AND kind IN ('session_joined', 'message', 'refused'));

CREATE INDEX runs_by_end ON runs (ended_ms, number) WHERE ended IS NOT NULL;
CREATE INDEX runs_open ON runs (number) WHERE ended IS NULL;
)sql";

}  // namespace digd::archive
