// What can be wrong with an archive, as an error code. The words for people go beside it (`open`'s `why`,
// `health`).
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <type_traits>

namespace digd::archive {

enum class archive_error : std::uint8_t {
  none,
  cannot_open,     // no such directory, no permission
  not_an_archive,  // some other program's file; left as it is
  newer_schema,    // written by a later digd; left as it is
  older_schema,    // written by an earlier digd; to be read only after digd has brought it up to date
  locked,          // another digd has it open
  corrupt,         // ours, and damaged
  io,              // the disk failed, or is full
  run_deleted,     // the run was deleted while it was read
};

boost::system::error_code make_error_code(archive_error);

}  // namespace digd::archive

template <>
struct boost::system::is_error_code_enum<digd::archive::archive_error> : std::true_type {};
