// webhooks.db: how far each webhook is in the archive, what waits to be sent, and the dead letters.
//
// A file of its own beside the archive, so that the archive's writer never waits for it. It holds no text of agents,
// only which rows of the archive are meant: a deleted run leaves nothing behind here. Not synced after each write:
// after a power cut it is as it was some moments ago, and some callbacks are sent twice; none is left out, for how far
// a webhook is and what waits are written together. A kill loses nothing that was written.
//
// Thread: one at a time, the webhooks'. Failure: a `failure`; nothing throws. Nothing of a failed call is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "archive/callback_reader.h"
#include "archive/sqlite.h"

namespace digd::daemon {

// A callback that waits, or a dead letter.
struct stored_callback {
  std::int64_t id = 0;  // the order of sending, within a run
  std::uint64_t run_number = 0;
  archive::callback_kind kind = archive::callback_kind::detection;
  std::int64_t row = 0;  // in the archive's table of that kind
  std::string rule;
  std::int64_t since_ms = 0;  // Unix: when it was archived, or asked for again
  std::int64_t attempts = 0;
};

struct dead_letter {
  stored_callback callback;
  std::int64_t died_ms = 0;
  std::string why;
};

class webhook_store {
 public:
  static constexpr int schema_version = 1;
  static constexpr std::int64_t application_id = 0x64696768;  // "digh"

  struct known {
    std::string name;
    archive::callback_position position;
  };

  archive::failure open(const std::string& path);
  bool is_open() const { return static_cast<bool>(db_); }
  void close();

  // The prefix of all ids of callbacks; of a new file, a new one.
  const std::string& prefix() const { return prefix_; }
  // Forgets everything, the prefix too: there is another archive now.
  archive::failure begin_anew();

  archive::failure webhooks(std::vector<known>& out);
  archive::failure add(const std::string& name, const archive::callback_position& at);
  archive::failure forget(const std::string& name);

  // The webhook is at `upto`, and these are to be sent; they get their ids.
  archive::failure take(const std::string& name, const archive::callback_position& upto,
                        std::vector<stored_callback>& these);
  archive::failure waiting(const std::string& name, std::vector<stored_callback>& out);
  archive::failure tried(std::int64_t id, std::int64_t attempts);
  archive::failure done(std::int64_t id);

  // A callback that waited is a dead letter now. Of those beyond `keep` the oldest go; `dropped` says how many.
  archive::failure died(const std::string& name, const stored_callback& callback, std::int64_t now_ms,
                        const std::string& why, std::int64_t keep, std::int64_t& dropped);
  archive::failure dead(const std::string& name, std::int64_t after, std::uint64_t limit,
                        std::vector<dead_letter>& out);
  archive::failure dead_count(const std::string& name, std::int64_t& count);
  // The oldest dead letters, at most `limit`, wait again, behind what waits already; `out` has them with their new ids.
  archive::failure revive(const std::string& name, std::int64_t now_ms, std::uint64_t limit,
                          std::vector<stored_callback>& out);

  archive::failure runs(std::vector<std::uint64_t>& out);
  archive::failure forget_run(std::uint64_t run_number);

 private:
  archive::failure migrate();
  archive::failure prepare();
  archive::failure read_prefix();
  archive::failure insert(const std::string& name, stored_callback& callback);
  template <class Work>
  archive::failure transaction(Work work);  // one transaction

  archive::connection db_;
  archive::statement webhooks_, add_, move_, forget_, insert_, waiting_, tried_, done_, died_, trim_, dead_,
      dead_count_, runs_, forget_run_;
  std::string prefix_;
};

}  // namespace digd::daemon
