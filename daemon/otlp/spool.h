// otlp.db: the spans of runs that have not ended, and the messages sent to these runs. It makes a 200 durable.
//
// The server writes and syncs a request before it answers, and writes a message before it sends it to the run. After a
// restart it reads both back. It sends the messages that the archive lacks again, under the same seq, as a client does
// with its unacknowledged messages (docs/protocol.md). It deletes a run's rows once the run has ended and is archived.
//
// Thread: the spans'. Bounds: those of the table of runs (gathering.h). Failure: every call returns a `failure` and
// throws nothing; a failed call stores nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/sqlite.h"

namespace digd::daemon {

class otlp_spool {
 public:
  static constexpr int schema_version = 1;
  static constexpr std::int64_t application_id = 0x6469676f;  // "digo"

  struct stored_batch {
    std::int64_t id = 0;
    std::string body;  // OTLP JSON: the part of the request that the mapping reads
  };
  struct stored_line {
    std::string run;
    std::string line;
  };

  // With an empty path it keeps nothing and every call succeeds. No other program may open the file.
  archive::failure open(const std::string& path);
  void close();

  archive::failure add(stored_batch& batch);  // sets its id; synced when this returns
  archive::failure add_lines(std::string_view run, const std::vector<std::string>& traces, std::uint64_t first_seq,
                             const std::vector<std::string>& lines);
  archive::failure forget_batches(const std::vector<std::int64_t>& ids);
  archive::failure forget_run(std::string_view run);

  archive::failure each_batch(const std::function<void(stored_batch&&)>& take);
  archive::failure each_line(const std::function<void(stored_line&&)>& take);  // by run and seq
  archive::failure each_trace(const std::function<void(std::string run, std::string trace)>& take);

 private:
  archive::failure migrate();

  archive::connection db_;
  archive::statement add_, line_, trace_, drop_batch_, drop_lines_, drop_traces_;
  std::int64_t last_id_ = 0;
};

}  // namespace digd::daemon
