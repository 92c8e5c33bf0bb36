// homes.db keeps what a daemon must know about homes after a restart. This is the incarnation of its lease; the runs
// that it took over, whose earlier entries it must not publish again; and its copies of runs whose home is elsewhere.
//
// Thread: any. Calls that write wait for the disk; the others do not. Bounds: a row for each such run that the archive
// has. Failure: every call that can fail returns a `failure`; a failed call has changed neither the file nor the
// memory.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "archive/sqlite.h"

namespace digd::daemon {

// A run that was taken over from another home.
struct adopted_run {
  std::uint64_t number = 0, epoch = 0;
  std::string origin_archive;
  std::uint64_t origin_number = 0;
  std::uint64_t kept = 0;  // how many entries earlier homes published; until `is_complete`, the largest number
  bool is_complete = false;
};

class home_store {
 public:
  static constexpr int schema_version = 1;
  static constexpr std::int64_t application_id = 0x6469676c;         // "digl"
  static constexpr std::int64_t former_application_id = 0x64696768;  // webhooks.db has the same

  // `archive_name`: rows about another archive are removed.
  archive::failure open(const std::string& path, const std::string& archive_name);

  std::string incarnation() const;  // empty: none yet
  archive::failure set_incarnation(const std::string& incarnation);

  archive::failure begin_adoption(const std::vector<adopted_run>& runs);
  archive::failure complete_adoption(std::uint64_t number, std::uint64_t kept);
  std::optional<adopted_run> adopted(std::uint64_t number) const;
  // Whether the adoption began and is not complete. The archive then has only a part of the run.
  bool is_incomplete(std::uint64_t number) const;
  std::vector<std::uint64_t> incomplete() const;

  // Notes that the archive's copy no longer counts as the run. It changes only memory, so engine threads may call it;
  // `save_moved` writes to the disk.
  void note_moved(std::uint64_t number);
  bool has_moved(std::uint64_t number) const;
  archive::failure save_moved();

  // The archive has deleted the run.
  archive::failure forget(std::uint64_t number);

 private:
  archive::failure migrate();
  archive::failure load();

  mutable std::mutex db_mutex_;  // taken before `mutex_`
  archive::connection db_;
  mutable std::mutex mutex_;  // guards the rest; no thread waits for the disk while it holds this
  std::string incarnation_;
  boost::unordered_flat_map<std::uint64_t, adopted_run> adopted_;
  boost::unordered_flat_set<std::uint64_t> moved_, unsaved_;
};

}  // namespace digd::daemon
