// Reading an archive: a read-only connection of its own. Also for programs that do not write: no lock is
// taken, and a daemon that is writing is not disturbed.
//
// Threads: any; calls are served one after another.
#pragma once

#include <boost/system/result.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "archive/sqlite.h"

namespace digd::archive {

class reader {
 public:
  static boost::system::result<std::unique_ptr<reader>> open(const std::string& path, const std::string& vfs = {},
                                                             std::string* why = nullptr);

  boost::system::result<std::vector<stored_run>> runs();
  boost::system::result<void> each_entry(std::uint64_t run_number,
                                         const std::function<bool(const stored_entry&)>& each);
  boost::system::result<std::vector<intervention_row>> unanswered(std::uint64_t run_number);

  // ---- by pieces: a run may be deleted between two of them; `exists` tells whether what was read is the run
  boost::system::result<std::int64_t> last_entry(std::uint64_t run_number);  // its id; 0: there is none
  boost::system::result<bool> exists(std::uint64_t run_number);
  // Appends the next piece, what comes after the entry `after`, and moves that on; false: there is no more.
  boost::system::result<bool> read_some(std::uint64_t run_number, std::int64_t& after, std::vector<stored_entry>& out);

 private:
  reader() = default;
  failure prepare();
  // The entries of a run after the one with `id`, up to a bound; moves `id` to the last of them.
  failure read_on(std::uint64_t run_number, std::int64_t& id, std::vector<stored_entry>& out);

  std::mutex one_at_a_time_;
  connection db_;
  statement runs_, entries_, unanswered_, last_entry_, exists_;
};

}  // namespace digd::archive
