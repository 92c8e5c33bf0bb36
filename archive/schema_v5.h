// Version 5 of the schema bounds what a detection takes: verdicts refer to detections by their id, and evidence that is
// too long as JSON is stored in two columns (docs/archive.md). Earlier rows stay as they are.
#pragma once

namespace digd::archive {

inline constexpr const char* schema_v5 = R"sql(
ALTER TABLE detections ADD COLUMN more_evidence BLOB
  /* the ids that the evidence in `json` lacks, each as 5:hello; NULL: it is complete */;

DROP VIEW verdicts;
CREATE VIEW verdicts AS         -- a row a blocked event
SELECT e.run, e.id AS entry, e.session, e.seq, e.ts,
       CASE v.type WHEN 'text' THEN v.value ELSE v.value ->> '$.event' END AS event,
       CASE v.type WHEN 'text' THEN 'deliver' ELSE v.value ->> '$.action' END AS action,
       CASE v.type WHEN 'object' THEN v.value -> '$.recipients' END AS recipients,
       CASE v.type WHEN 'object' THEN v.value ->> '$.inject' END AS inject,
       -- JSON: detections.id of each; in entries from before version 5 the detections themselves
       CASE v.type WHEN 'object' THEN
         coalesce(v.value -> '$.detections', v.value -> '$.detections_with_witness') END AS detections
FROM entries AS e,
     json_each(e.verdicts, CASE json_type(e.verdicts) WHEN 'array' THEN '$' ELSE '$.verdicts' END) AS v
WHERE e.verdicts IS NOT NULL;
)sql";

}  // namespace digd::archive
