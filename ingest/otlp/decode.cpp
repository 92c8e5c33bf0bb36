#include "ingest/otlp/decode.h"

#include <boost/assert/source_location.hpp>
#include <exception>
#include <stdexcept>

namespace digd::otlp {

std::string_view content_type(encoding given_encoding) {
  return given_encoding == encoding::json ? "application/json" : "application/x-protobuf";
}

decode_outcome decode(encoding given_encoding, std::string_view body) {
  try {
    return given_encoding == encoding::json ? decode_json(body) : decode_protobuf(body);
  } catch (const std::exception& e) {  // out of memory
    return decode_failure{std::string("the request cannot be decoded: ") + e.what(), true};
  }
}

void throw_exception_from_error(const decode_failure& failure, const boost::source_location&) {
  throw std::runtime_error(failure.message);
}

}  // namespace digd::otlp
