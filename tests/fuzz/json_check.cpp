#include <boost/json.hpp>

#include "tests/fuzz/target.h"

namespace digd::fuzz {

bool is_json(std::string_view text, std::size_t deepest) {
  boost::json::parse_options options;
  options.max_depth = deepest;
  boost::json::error_code ec;
  boost::json::parse({text.data(), text.size()}, ec, {}, options);
  return !ec || ec == boost::json::error::exponent_overflow;
}

void must_be_json(std::string_view frame, const char* text) { must(is_json(frame), text, frame); }

}  // namespace digd::fuzz
