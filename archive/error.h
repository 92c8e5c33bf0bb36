// The errors of an archive. A sentence for people goes beside the code: `open`'s `problem`, `health`.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <type_traits>

namespace digd::archive {

enum class archive_error : std::uint8_t {
  none,
  cannot_open,     // no such directory, no permission
  not_an_archive,  // a file of another program; left unchanged
  newer_schema,    // written by a newer digd; left unchanged
  older_schema,    // written by an older digd; readable after digd has migrated it
  locked,          // another digd has it open
  corrupt,         // a damaged archive
  io,              // the disk failed or is full
  run_deleted,     // the run was deleted while being read
};

boost::system::error_code make_error_code(archive_error);

}  // namespace digd::archive

template <>
struct boost::system::is_error_code_enum<digd::archive::archive_error> : std::true_type {};
