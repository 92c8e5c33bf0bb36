// Version 4 of the schema. The lines that digd adds by itself get a kind each: before, `limit` and `semantics` were
// stored with the kind `operator_mode`. A digd of that time left the new columns that are marked as reserved
// NULL; docs/archive.md says which of them are filled now.
//
// ALTER TABLE cannot change a CHECK constraint, and copying `entries` would take as much space again. The steps below
// are those that SQLite documents for a constraint that becomes weaker (https://www.sqlite.org/lang_altertable.html,
// section 7): edit the text in sqlite_schema, then read the schema again. ALTER TABLE works on the text that it has
// read, so the columns come first.
#pragma once

namespace digd::archive {

inline constexpr const char* schema_v4 = R"sql(
ALTER TABLE runs ADD COLUMN semantics INTEGER
  /* reserved: the version of the rules that the run is judged by */;
ALTER TABLE runs ADD COLUMN opened_by TEXT
  /* reserved: the name of the token that opened the run; NULL: none was needed */;
ALTER TABLE runs ADD COLUMN input_tokens INTEGER
  /* total of the usage reported; NULL: none was reported */;
ALTER TABLE runs ADD COLUMN output_tokens INTEGER /* as input_tokens */;
ALTER TABLE runs ADD COLUMN cost INTEGER
  /* total, in millionths of the user's currency; NULL: none was reported */;
ALTER TABLE runs ADD COLUMN model_calls INTEGER /* as input_tokens */;
ALTER TABLE runs ADD COLUMN tool_calls INTEGER /* as input_tokens */;

ALTER TABLE entries ADD COLUMN token TEXT
  /* reserved: the name of the token that sent the frame; NULL: none was needed */;
ALTER TABLE entries ADD COLUMN activation TEXT
  /* reserved: the activation that the frame's usage is about */;
ALTER TABLE entries ADD COLUMN model TEXT
  /* reserved: the model that the activation used */;
ALTER TABLE entries ADD COLUMN input_tokens INTEGER /* reserved: what the frame reports */;
ALTER TABLE entries ADD COLUMN output_tokens INTEGER /* reserved: what the frame reports */;
ALTER TABLE entries ADD COLUMN cost INTEGER
  /* reserved: what the frame reports, in millionths of the user's currency */;
ALTER TABLE entries ADD COLUMN fingerprints TEXT
  /* reserved: JSON: fingerprints of the frame's events, by event id */;
ALTER TABLE entries ADD COLUMN depth INTEGER
  /* reserved: the greatest depth among the frame's events */;

ALTER TABLE detections ADD COLUMN action TEXT
  /* of a guard: inject, return, hold, cancel, observe */;
ALTER TABLE detections ADD COLUMN limits TEXT
  /* JSON: of a guard: the limits that were passed */;
ALTER TABLE detections ADD COLUMN fingerprint TEXT
  /* reserved: that of the event */;
ALTER TABLE detections ADD COLUMN depth INTEGER
  /* reserved: that of the event */;
ALTER TABLE detections ADD COLUMN hold TEXT
  /* the hold that began with it: interventions.id */;
ALTER TABLE detections ADD COLUMN superseded_by TEXT
  /* reserved: the rule or guard whose action was done instead */;

ALTER TABLE interventions ADD COLUMN hold_ms INTEGER
  /* reserved: of a hold: for how long it waits for a decision */;
ALTER TABLE interventions ADD COLUMN on_timeout TEXT
  /* reserved: of a hold: release or return, if nobody decides */;
ALTER TABLE interventions ADD COLUMN decision TEXT
  /* reserved: of a hold: release or return; NULL while it is open */;
ALTER TABLE interventions ADD COLUMN decided_by TEXT
  /* reserved: of a hold: the name that the person gave; NULL: it ended by itself */;
ALTER TABLE interventions ADD COLUMN decided_ts INTEGER
  /* reserved: of a hold: when it ended, on the run's own clock */;
ALTER TABLE interventions ADD COLUMN cancelled TEXT
  /* reserved: JSON: the activations that the client was asked to cancel */;

DROP VIEW sessions;
CREATE VIEW sessions AS         -- a row each time a session said hello
SELECT run, id AS entry, session, arrived_ms AS joined_ms, frame AS hello, token
FROM entries WHERE kind = 'session_joined';

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'kind IN (''run_opened'', ''session_joined'', ''message'', ''refused'', ''firing'', ''operator_mode'')',
    'kind IN (''run_opened'', ''session_joined'', ''message'', ''refused'', ''firing'', ''operator_mode'','
    || ' ''limit'', ''semantics'', ''decision'')'),
    'NULL for firings and operator_mode', 'NULL for firings and for lines of digd''s own')
WHERE type = 'table' AND name = 'entries';
PRAGMA writable_schema = RESET;

UPDATE entries SET kind = frame ->> '$.type'
WHERE kind = 'operator_mode' AND json_valid(frame) AND frame ->> '$.type' IN ('limit', 'semantics');
)sql";

}  // namespace digd::archive
