// Parses JSON that nests as deeply as digd's protocol allows. Boost's own limit is 32 levels.
#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <string_view>

namespace digd {

// A payload may nest 1,000 levels; answers and feed frames have some around it.
inline constexpr std::size_t max_json_depth = 2'000;

// Null with `ec` set if the text is not JSON or nests more. Any thread.
inline boost::json::value parse_json(std::string_view text, boost::system::error_code& ec) {
  boost::json::parse_options options;
  options.max_depth = max_json_depth;
  return boost::json::parse({text.data(), text.size()}, ec, {}, options);
}

}  // namespace digd
