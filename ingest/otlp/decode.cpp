#include "ingest/otlp/decode.h"

#include <boost/assert/source_location.hpp>
#include <exception>
#include <stdexcept>

namespace digd::otlp {

std::string_view content_type(encoding how) {
  return how == encoding::json ? "application/json" : "application/x-protobuf";
}

decode_outcome decode(encoding how, std::string_view body) {
  try {
    return how == encoding::json ? decode_json(body) : decode_protobuf(body);
  } catch (const std::exception& e) {  // out of memory
    return decode_failure{std::string("the request cannot be decoded: ") + e.what(), true};
  }
}

void throw_exception_from_error(const decode_failure& failure, const boost::source_location&) {
  throw std::runtime_error(failure.message);
}

}  // namespace digd::otlp
