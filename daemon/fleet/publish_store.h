// fleet.db: how far a daemon has published its archive, and which runs. After a crash, at most the messages of one
// piece are published again, under the same ids.
//
// Thread: the publisher's. Bounds: a row for each published run that the archive has. Failure: every call returns a
// `failure` and throws nothing; a failed call stores nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "archive/entry_stream.h"
#include "archive/sqlite.h"

namespace digd::daemon {

class publish_store {
 public:
  static constexpr int schema_version = 1;
  static constexpr std::int64_t application_id = 0x64696766;  // "digf"

  archive::failure open(const std::string& path);

  // A random name of the archive. Messages of different archives never have the same id.
  const std::string& archive_name() const { return archive_; }
  const archive::stream_position& position() const { return position_; }

  // The entries up to `position` are in the stream.
  archive::failure move(const archive::stream_position& position, std::span<const archive::streamed_entry> published);
  archive::failure runs(std::vector<std::int64_t>& numbers);
  archive::failure remove_run(std::int64_t number);
  // The archive is a new one: begins at its start, with a new name.
  archive::failure restart();

 private:
  archive::failure migrate();
  archive::failure read_position();

  archive::connection db_;
  archive::statement move_, add_run_, remove_run_;
  std::string archive_;
  archive::stream_position position_;
};

}  // namespace digd::daemon
