// Version 1 of the schema. SQLite keeps the comments in the file: `.schema` shows them. Released: never change it.
#pragma once

namespace digd::archive {

inline constexpr const char* schema_v1 = R"sql(
CREATE TABLE runs (
  number    INTEGER PRIMARY KEY AUTOINCREMENT, -- the archive's own number of the run, never used again
  run       TEXT NOT NULL,      -- the run's id, as clients name it; may come again after the run was deleted
  opened_ms INTEGER NOT NULL,   -- Unix milliseconds
  last_ts   INTEGER,            -- the latest stamp of a message or firing, on the run's own clock
  ended     TEXT,               -- success, failure, aborted, unknown; NULL while it goes on
  ended_ms  INTEGER             -- Unix milliseconds
) STRICT;
CREATE INDEX runs_by_id ON runs (run);

CREATE TABLE entries (          -- everything that was applied to a run, in the order applied
  id         INTEGER PRIMARY KEY,  -- the order of writing; within a run, the order applied
  run        INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  n          INTEGER NOT NULL,  -- position within the run
  kind       TEXT NOT NULL CHECK (kind IN ('run_opened', 'session_joined', 'message', 'refused', 'firing', 'operator_mode')),
  session    TEXT,              -- NULL for firings and operator_mode
  seq        INTEGER,           -- the client's number of the message
  ts         INTEGER NOT NULL,  -- the stamp that counts, milliseconds on the run's own clock
  arrived_ms INTEGER NOT NULL,  -- Unix milliseconds
  type       TEXT,              -- of the frame: event, activation_ended, ...
  code       TEXT,              -- why it was refused
  verdicts   TEXT,              -- JSON: the frame as sent, or, if all were delivered as they are, the events' ids
  frame      TEXT               -- JSON: as received; of run_opened: the hello of an exported trace
) STRICT;
CREATE INDEX entries_by_run ON entries (run);

CREATE TABLE detections (
  id       INTEGER PRIMARY KEY,
  run      INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  entry    INTEGER NOT NULL,    -- entries.id: the message or firing that showed it
  rule     TEXT NOT NULL,
  severity TEXT NOT NULL,       -- failure or warning
  session  TEXT,
  at       INTEGER,             -- seq of the message; NULL if time alone showed it
  ts       INTEGER NOT NULL,
  event    TEXT,
  agent    TEXT,
  healed   INTEGER NOT NULL,    -- 1 or 0
  healing  TEXT,                -- what was done: inject, reroute, create; in shadow, what would have been
  cause    TEXT,                -- why it was not healed
  json     TEXT NOT NULL,       -- the whole detection, evidence and witness included
  reason   TEXT GENERATED ALWAYS AS (json ->> '$.reason') VIRTUAL  -- one sentence
) STRICT;
CREATE INDEX detections_by_run ON detections (run);

CREATE TABLE interventions (    -- what the monitor did of itself: system events, events given back
  row          INTEGER PRIMARY KEY,
  run          INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  id           TEXT NOT NULL,   -- sys:N or give:EVENT:N
  entry        INTEGER NOT NULL,  -- entries.id: what it came with
  action       TEXT NOT NULL,   -- create or reroute
  event        TEXT,            -- what is rerouted
  ts           INTEGER NOT NULL,
  answered     TEXT,            -- what the first client that answered did: created, rerouted, as_is, failed, ...
  answered_ts  INTEGER,
  answered_by  INTEGER,         -- entries.id of that delivery report; NULL while nobody has answered
  json         TEXT NOT NULL,   -- the frame as sent
  UNIQUE (run, id)
) STRICT;

CREATE TABLE outcomes (         -- what became of a healing
  id          INTEGER PRIMARY KEY,
  run         INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  entry       INTEGER NOT NULL, -- entries.id: when it was known
  rule        TEXT NOT NULL,
  event       TEXT,             -- the detection's event; of a window, the intervention's id
  detected_ts INTEGER NOT NULL, -- the detection's ts
  ts          INTEGER NOT NULL,
  outcome     TEXT NOT NULL     -- cleared, recurred, unresolved
) STRICT;
CREATE INDEX outcomes_by_run ON outcomes (run, detected_ts);

CREATE VIEW messages AS
SELECT run, id AS entry, n, session, seq, ts, arrived_ms, type, code, verdicts, frame
FROM entries WHERE kind IN ('message', 'refused');

CREATE VIEW sessions AS         -- a row each time a session said hello
SELECT run, id AS entry, session, arrived_ms AS joined_ms, frame AS hello
FROM entries WHERE kind = 'session_joined';

CREATE VIEW verdicts AS         -- a row a blocked event
SELECT e.run, e.id AS entry, e.session, e.seq, e.ts,
       CASE v.type WHEN 'text' THEN v.value ELSE v.value ->> '$.event' END AS event,
       CASE v.type WHEN 'text' THEN 'deliver' ELSE v.value ->> '$.action' END AS action,
       CASE v.type WHEN 'object' THEN v.value -> '$.recipients' END AS recipients,
       CASE v.type WHEN 'object' THEN v.value ->> '$.inject' END AS inject
FROM entries AS e,
     json_each(e.verdicts, CASE json_type(e.verdicts) WHEN 'array' THEN '$' ELSE '$.verdicts' END) AS v
WHERE e.verdicts IS NOT NULL;

CREATE VIEW deliveries AS       -- what clients say they did about verdicts and interventions
SELECT run, id AS entry, session, seq, ts,
       frame ->> '$.event' AS event, frame ->> '$.of' AS intervention,
       frame ->> '$.applied' AS applied, frame ->> '$.reason' AS reason
FROM entries WHERE kind = 'message' AND type = 'delivery' AND json_valid(frame);

CREATE VIEW firings AS          -- each detection with what came of it
SELECT d.run, d.id AS detection, d.entry, d.rule, d.severity, d.ts, d.event, d.agent,
       d.healed, d.healing, d.cause, o.outcome, o.ts AS outcome_ts, d.reason
FROM detections AS d
LEFT JOIN outcomes AS o
  ON o.run = d.run AND o.detected_ts = d.ts AND o.rule = d.rule AND d.healed
 AND (o.event IS d.event
      OR d.at IS NULL AND (d.event IS NULL
                           OR substr(o.event, 1, length(d.event) + 6) = 'give:' || d.event || ':'));
)sql";

}  // namespace digd::archive
