// webhooks.db: each webhook's position in the archive, the callbacks that wait, and the dead letters.
//
// The file is separate from the archive, so that the archive's writer never waits for it. It holds references to rows
// of the archive and no text of agents, so that a deleted run leaves no text in it. Writes are not synced one by one. A
// kill loses nothing; a power cut loses the last moments, and digd then sends some callbacks twice. It never skips any:
// the position of a webhook and the callbacks before it are written in one transaction.
//
// Thread: the webhooks'. Bounds: webhook.h limits the callbacks that wait, the settings the dead letters. Failure:
// every call returns a `failure` and throws nothing; a failed call stores nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "archive/callback_reader.h"
#include "archive/sqlite.h"

namespace digd::daemon {

// A callback that waits, or has become a dead letter.
struct stored_callback {
  std::int64_t id = 0;  // a run's callbacks are sent in the order of their ids
  std::uint64_t run_number = 0;
  archive::callback_kind kind = archive::callback_kind::detection;
  std::int64_t row = 0;  // in the archive's table for `kind`
  std::string rule;
  std::int64_t since_ms = 0;  // Unix: when it was archived, or retried by an operator
  std::int64_t attempts = 0;
  std::uint64_t joined = 0;                              // equal alerts left out before this one; not stored
  std::chrono::steady_clock::time_point steady_since{};  // `since_ms` by a clock that nobody sets; not stored
};

// Changes of the set of runs whose ends [otlp_export] still awaits (daemon/webhook/ended_runs.h).
struct run_changes {
  std::vector<std::uint64_t> awaited, settled;  // join the set, leave it
};

struct dead_letter {
  stored_callback callback;
  std::int64_t died_ms = 0;
  std::string problem;
};

class webhook_store {
 public:
  static constexpr int schema_version = 3;
  static constexpr std::int64_t application_id = 0x64696768;  // "digh"

  struct webhook_position {
    std::string name;
    archive::callback_position position;
  };

  archive::failure open(const std::string& path);
  bool is_open() const { return static_cast<bool>(db_); }
  void close();

  // All ids of callbacks begin with this. Random for each new file.
  const std::string& prefix() const { return prefix_; }
  // Deletes everything and draws a new prefix: the archive is a new one.
  archive::failure clear();

  // Calls `work`, which may call those functions below that are not a transaction themselves. If it returns a failure,
  // nothing has changed.
  template <class Work>
  archive::failure transaction(Work work) {
    return db_.transaction(std::move(work));
  }

  archive::failure webhooks(std::vector<webhook_position>& out);
  archive::failure add_webhook(const std::string& name, const archive::callback_position& at);
  archive::failure remove_webhook(const std::string& name);

  // Moves the webhook's position to `upto`, and changes its awaited runs.
  archive::failure move(const std::string& name, const archive::callback_position& upto, const run_changes& runs);
  archive::failure awaited_runs(const std::string& name, std::vector<std::uint64_t>& out);

  // Moves the webhook's position to `upto` and stores the callbacks before it, which get their ids. A transaction.
  archive::failure add_callbacks(const std::string& name, const archive::callback_position& upto,
                                 std::vector<stored_callback>& callbacks, const run_changes& runs = {});
  archive::failure waiting(const std::string& name, std::vector<stored_callback>& out);
  archive::failure set_attempts(std::int64_t id, std::int64_t attempts);
  archive::failure remove_callback(std::int64_t id);

  // Makes a waiting callback a dead letter. Keeps at most `keep` dead letters, drops the oldest, and sets `dropped` to
  // their number. A transaction.
  archive::failure make_dead(const std::string& name, const stored_callback& callback, std::int64_t now_ms,
                             const std::string& problem, std::int64_t keep, std::int64_t& dropped);
  archive::failure dead_letters(const std::string& name, std::int64_t after, std::uint64_t limit,
                                std::vector<dead_letter>& out);
  archive::failure dead_count(const std::string& name, std::int64_t& count);
  // Makes the oldest dead letters, at most `limit`, wait again behind all other callbacks. `out` gets them with their
  // new ids. A transaction.
  archive::failure revive(const std::string& name, std::int64_t now_ms, std::uint64_t limit,
                          std::vector<stored_callback>& out);

  archive::failure runs(std::vector<std::uint64_t>& out);
  // A transaction.
  archive::failure remove_run(std::uint64_t run_number);

 private:
  archive::failure migrate();
  archive::failure prepare();
  archive::failure read_prefix();
  archive::failure insert(const std::string& name, stored_callback& callback);

  archive::connection db_;
  archive::statement webhooks_, add_, move_, remove_webhook_, insert_, waiting_, set_attempts_, remove_callback_,
      make_dead_, trim_, dead_letters_, dead_count_, runs_, remove_run_, await_, settle_, awaited_, forget_;
  std::string prefix_;
};

}  // namespace digd::daemon
