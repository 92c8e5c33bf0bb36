#include <boost/json.hpp>

#include "tests/fuzz/target.h"

namespace digd::fuzz {

bool is_json(std::string_view text, std::size_t max_depth) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::error_code ec;
  boost::json::parse({text.data(), text.size()}, ec, {}, options);
  return !ec || ec == boost::json::error::exponent_overflow;
}

void must_be_json(std::string_view frame, const char* property) { must(is_json(frame), property, frame); }

}  // namespace digd::fuzz
