// Version 3 of the schema adds people's judgements of detections, and columns with which `digctl pilot` need not read
// the entries of runs. Released: never change it.
#pragma once

namespace digd::archive {

inline constexpr const char* schema_v3 = R"sql(
ALTER TABLE runs ADD COLUMN mode TEXT
  /* off, observe, shadow, enforce: the mode that the run was opened with */;
ALTER TABLE runs ADD COLUMN canary TEXT
  /* enforce or shadow: the group that enforce_share put the run in; NULL: none */;
ALTER TABLE runs ADD COLUMN activations INTEGER NOT NULL DEFAULT 0
  /* accepted activation_started messages */;
ALTER TABLE runs ADD COLUMN metrics TEXT
  /* JSON: the metrics that run_ended reported, up to 4096 bytes; NULL: none */;
ALTER TABLE detections ADD COLUMN subject TEXT
  /* the agent that the rule's `except` would name: `agent`, else that of the event's source */;
ALTER TABLE detections ADD COLUMN place TEXT
  /* where in the system: from which agent to whom; NULL: the run as a whole, or found before version 3 */;

CREATE TABLE judgements (       -- what people think of detections; the latest for each
  detection INTEGER PRIMARY KEY,  -- detections.id
  run       INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  judgement TEXT NOT NULL CHECK (judgement IN ('right', 'wrong')),
  judged_by TEXT,               -- a name that the person gave; NULL: none
  judged_ms INTEGER NOT NULL    -- Unix milliseconds
) STRICT;
CREATE INDEX judgements_by_run ON judgements (run);

UPDATE runs SET
  mode = (SELECT CASE WHEN json_valid(frame) THEN frame ->> '$.mode' END FROM entries
          WHERE entries.run = number AND kind = 'run_opened' LIMIT 1),
  activations = (SELECT count(*) FROM entries
                 WHERE entries.run = number AND kind = 'message' AND type = 'activation_started'),
  metrics = (SELECT CASE WHEN json_valid(frame) THEN
                    CASE WHEN length(frame -> '$.metrics') <= 4096 THEN frame -> '$.metrics' END END
             FROM entries WHERE entries.run = number AND kind = 'message' AND type = 'run_ended' LIMIT 1);
UPDATE detections SET subject = coalesce(agent, nullif(
  (SELECT node.value ->> '$.agent' FROM json_each(detections.json, '$.witness.events') AS node
   WHERE node.value ->> '$.id' = detections.event LIMIT 1), ''));

CREATE INDEX runs_by_opening ON runs (opened_ms, number);
)sql";

}  // namespace digd::archive
