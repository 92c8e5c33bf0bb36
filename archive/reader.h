// Reads runs of an archive as a whole, through a read-only connection of its own. It takes no lock and does not disturb
// a daemon that writes, so other programs can use it too.
//
// Thread: any; a mutex serializes the calls. Failure: an error code; nothing throws.
#pragma once

#include <boost/system/result.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/entry.h"
#include "archive/sqlite.h"
#include "archive/stored.h"

namespace digd::archive {

class reader {
 public:
  static boost::system::result<std::unique_ptr<reader>> open(const std::string& path, const std::string& vfs = {},
                                                             std::string* problem = nullptr);

  boost::system::result<std::vector<stored_run>> runs();
  boost::system::result<std::vector<stored_run>> open_runs();
  boost::system::result<std::uint64_t> count_ended();
  boost::system::result<std::vector<std::uint64_t>> numbers_of(std::string_view run);
  // Stored bytes of the runs that each token opened; empty: without a token. Reads the row of every run.
  boost::system::result<std::map<std::string, std::uint64_t>> bytes_by_opener();
  boost::system::result<void> each_entry(std::uint64_t run_number,
                                         const std::function<bool(const stored_entry&)>& each);
  boost::system::result<std::vector<intervention_row>> unanswered(std::uint64_t run_number);
  static constexpr std::size_t max_answers_at_once = 256;
  static constexpr std::size_t max_answer_bytes_at_once = 256u << 10;
  boost::system::result<std::vector<stored_answer>> answers(answer_range& range);

  // ---- in pieces. A run may be deleted between two of them: `exists` tells whether the pieces read are the run
  boost::system::result<std::int64_t> last_entry(
      std::uint64_t run_number);  // the id of its last entry; 0: there is none
  boost::system::result<bool> exists(std::uint64_t run_number);
  // Appends the entries that follow `after`, up to a bound, and moves `after` to the last of them. False: no more.
  boost::system::result<bool> read_some(std::uint64_t run_number, std::int64_t& after, std::vector<stored_entry>& out);

 private:
  boost::system::result<std::vector<stored_run>> read_runs(statement& select);
  reader() = default;
  failure prepare();
  failure find_beginning(answer_range& range);
  std::optional<std::string> detection(std::int64_t id);
  failure read_next_piece(std::uint64_t run_number, std::int64_t& id, std::vector<stored_entry>& out);

  std::mutex one_at_a_time_;
  connection db_;
  statement runs_, open_, ended_, numbers_, bytes_by_opener_, entries_, unanswered_, last_entry_, exists_,
      last_answered_, answers_, detection_;
};

}  // namespace digd::archive
