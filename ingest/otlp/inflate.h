// gzip and zlib bodies, unpacked up to a limit: a small body cannot become a large one.
#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/otlp/decode.h"

namespace digd::otlp {

// Stops as soon as there is more than `most` (`too_large`), so that at most that and 64 KiB are ever held. Several
// gzip members after each other are one text (RFC 1952, 2.2). Any thread.
boost::system::result<std::string, decode_failure> inflate(std::string_view packed, std::size_t most);

}  // namespace digd::otlp
