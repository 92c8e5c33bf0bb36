// Unpacks gzip and zlib bodies up to a limit, so that a small body cannot become a large one.
#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/otlp/decode.h"

namespace digd::otlp {

// Stops once the text exceeds `max_bytes` (`too_large`), and so holds at most 64 KiB more. Several gzip members in a
// row are one text (RFC 1952, 2.2). Any thread.
boost::system::result<std::string, decode_failure> inflate(std::string_view packed, std::size_t max_bytes);

}  // namespace digd::otlp
