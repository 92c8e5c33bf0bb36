// otlp.db: the spans of requests whose runs have not ended, and what was told of these runs. It is why 200 means durable.
//
// A request is written and synced before it is answered; a message is written before the run is told. After a restart
// both are read back, and what the archive does not have of a run is told again under the same seq: the spool is to
// /v1/traces what a client's memory of the unacked is to the WebSocket (protocol.md). Rows go when their run has ended
// and all of it is archived.
//
// Thread: the spans'. Failure: a `failure`; nothing throws; nothing of a failed call is stored.
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
    std::string body;  // OTLP JSON, what the mapping reads of the request
  };
  struct stored_line {
    std::string run;
    std::string line;
  };

  // An empty path: nothing is kept, every call succeeds. Each file is this program's alone.
  archive::failure open(const std::string& path);
  void close();

  archive::failure add(stored_batch& one);  // gets its id; synced when this returns
  archive::failure tell(std::string_view run, const std::vector<std::string>& traces, std::uint64_t first_seq,
                        const std::vector<std::string>& lines);
  archive::failure forget_batches(const std::vector<std::int64_t>& ids);
  archive::failure forget_run(std::string_view run);

  archive::failure each_batch(const std::function<void(stored_batch&&)>& take);
  archive::failure each_line(const std::function<void(stored_line&&)>& take);  // by run and seq
  archive::failure each_trace(const std::function<void(std::string run, std::string trace)>& take);

 private:
  archive::failure migrate();
  template <class Work>
  archive::failure together(Work work);

  archive::connection db_;
  archive::statement add_, line_, trace_, drop_batch_, drop_lines_, drop_traces_;
  std::int64_t last_id_ = 0;
};

}  // namespace digd::daemon
