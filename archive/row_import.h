// Writes an archive from the rows of a fleet, so that every reader of archives can read them. It is the opposite of
// entry_stream.h. The archive is for reading only: no daemon may continue it. Readers see the rows after `finish`,
// which ends the import, or after `publish`, which more rows may follow.
//
// Thread: one. Failure: a `failure`; nothing throws, and the file is then incomplete. Bounds: one row is in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/schema.h"
#include "archive/sqlite.h"
#include "model/message.h"

namespace digd::archive {

class row_import {
 public:
  // Returns the usage that an accepted message reports; `frame` is the message.
  using usage_reader = std::function<std::optional<usage_amounts>(std::string_view frame)>;

  // `path` must not exist.
  open_trouble open(const std::string& path, usage_reader usage);

  // A row as JSON, with the fields that docs/fleet.md lists for a message. The rows of a run come in their order. If a
  // row has `detection_shift`, its detections' ids are its `verdicts`' ids plus that number.
  failure add(std::string_view row);
  // After the last row. Without it, or `publish`, the file has no runs.
  failure finish();
  // Commits the rows so far. Its cost grows with the entries of the runs that have new rows.
  failure publish();
  // Drops the rows since `publish`.
  failure discard();
  // The largest number that a row or a run has had.
  std::int64_t highest() const { return highest_; }
  // Removes a run, and commits. Its number is not used again.
  failure remove(std::int64_t run_number);

 private:
  struct fields {
    std::int64_t run_number = 0, entry = 0, detection_shift = 0;
    std::uint64_t seq = 0;
    bool is_message = false;
    std::string run, frame, verdicts;
  };
  struct detection {
    std::int64_t id = 0;
    std::string json;  // complete
  };
  failure prepare();
  failure read_detections(std::string_view row, std::vector<detection>& into, std::int64_t& bytes);
  static void shift_verdicts(fields& row, const std::vector<detection>& detections);
  failure add_usage(std::int64_t run_number, const usage_amounts& used);

  connection db_;
  statement fields_, detection_texts_, intervention_bytes_;
  statement add_run_, add_entry_, add_detections_, add_interventions_, add_outcomes_, add_usage_;
  usage_reader usage_;
  std::int64_t highest_ = 0;
};

}  // namespace digd::archive
