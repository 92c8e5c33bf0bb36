// Opens the archive at start. A damaged archive is set aside; its readable runs continue in a new file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "archive/archive.h"

namespace digd::daemon {

struct opened_archive {
  std::unique_ptr<archive::archive> archive;
  std::uint64_t runs_lost_to_damage = 0;
};

// The archive's file in the data directory.
std::string archive_file(const std::string& data_dir);

// `credits`: how far a session may be ahead of what is durable. `on_durable` is called on the archive's writer thread.
// Throws `cannot_use` if another process uses the archive, or if the file cannot be opened, is not an archive or is
// from a newer digd; std::runtime_error if the disk or the file is at fault.
opened_archive open_archive(const std::string& data_dir, std::uint64_t credits,
                            const std::function<void(std::span<const archive::durable>)>& on_durable);

}  // namespace digd::daemon
