// `GET /v1/pilot` and `digctl pilot`: what digd did over many runs or would have done in shadow, how the two groups of
// the canary compare, and how often people judged each rule right. docs/pilot.md has the members.
//
// Thread: any; one browser each. Bounds: `max_runs`, `max_rows`, `max_places`, `max_examples`; `left_out` says that
// there were more. Cost: rows of runs, of healings and of judgements; no entries are read.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "archive/browser.h"

namespace digd::stored {

struct pilot_request {
  static constexpr std::uint64_t max_runs = 100'000;
  static constexpr std::uint64_t max_rows = 500'000;
  static constexpr std::size_t max_places = 500;
  static constexpr std::size_t max_examples = 3;  // of a place
  static constexpr std::string_view usual_since = "7d";

  std::int64_t since_ms = 0;  // runs opened since then, Unix milliseconds
  std::int64_t now_ms = 0;
  std::function<bool(std::string_view run)> shows;  // a token's runs; empty: all
};

boost::system::result<std::string> pilot_json(archive::browser& from, const pilot_request& asked);

// "90m", "36h", "7d", "4w" in milliseconds; nothing if it has another form, or more than a century.
std::optional<std::int64_t> duration_ms(std::string_view text);

// A detection's name within its run: the number of its archive entry; if it is not the entry's first detection, also
// its place there, after a dot. "812", "812.2".
struct detection_name {
  std::int64_t entry = 0;
  std::uint64_t place_in_entry = 1;
};
std::string to_string(const detection_name& name);
std::optional<detection_name> detection_name_from(std::string_view text);

}  // namespace digd::stored
