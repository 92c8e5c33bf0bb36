// What is left of an entry that exceeds the largest message of the stream.
#include "daemon/fleet/shortened_entry.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace digd::daemon;
namespace json = boost::json;

namespace {

json::object large_entry(std::size_t detections, std::size_t outcomes, const std::string& session = "main") {
  json::object entry{{"format", 1},
                     {"entry", 7},
                     {"run", "r"},
                     {"run_number", 3},
                     {"n", 5},
                     {"kind", "message"},
                     {"session", session},
                     {"seq", 4},
                     {"ts", 10},
                     {"arrived_ms", 20},
                     {"type", "event"},
                     {"code", nullptr},
                     {"verdicts", "v"},
                     {"frame", std::string(1'000, 'x')},
                     {"interventions", json::array()}};
  json::array found, ended;
  for (std::size_t i = 0; i < detections; ++i) {
    found.push_back({{"id", i}, {"rule", "orphaned_event"}, {"detection", "{}"}, {"more_evidence", nullptr}});
  }
  for (std::size_t i = 0; i < outcomes; ++i) ended.push_back({{"rule", "orphaned_event"}, {"outcome", "cleared"}});
  entry["detections"] = found;
  entry["outcomes"] = ended;
  entry["epoch"] = 2;
  entry["origin_archive"] = "a";
  entry["origin_run_number"] = 9;
  return entry;
}

}  // namespace

TEST_CASE("an_entry_too_large_for_the_stream_loses_its_texts_first") {
  std::string text = json::serialize(large_entry(2, 1));
  REQUIRE(shorten_entry(text, 900) == shortening::cut);
  const json::object left = json::parse(text).as_object();
  CHECK(left.at("cut").as_bool());
  CHECK(left.at("frame").is_null());
  CHECK(left.at("verdicts").is_null());
  CHECK(left.at("detections").as_array().size() == 2);
  CHECK(left.at("detections").as_array()[0].at("detection").is_null());
  CHECK(left.at("outcomes").as_array().size() == 1);
  CHECK_FALSE(left.contains("detections_total"));
}

TEST_CASE("of_an_entry_with_long_lists_as_many_rows_stay_as_fit") {
  std::string text = json::serialize(large_entry(1'000, 600));
  REQUIRE(shorten_entry(text, 10'000) == shortening::cut);
  CHECK(text.size() <= 10'000);
  CHECK(text.size() > 4'000);
  const json::object left = json::parse(text).as_object();
  CHECK(left.at("detections_total").as_int64() == 1'000);
  CHECK(left.at("outcomes_total").as_int64() == 600);
  CHECK_FALSE(left.contains("interventions_total"));
  CHECK(left.at("detections").as_array()[0].at("id").as_int64() == 0);
}

TEST_CASE("an_entry_with_a_field_too_large_keeps_what_identifies_it") {
  json::object entry = large_entry(20, 0);
  entry["type"] = std::string(2'000, 't');
  entry["token"] = std::string(2'000, 'k');
  std::string text = json::serialize(entry);
  REQUIRE(shorten_entry(text, 500) == shortening::bare);
  const json::object left = json::parse(text).as_object();
  for (const char* name : {"format", "entry", "run", "run_number", "n", "kind", "session", "seq", "ts", "arrived_ms",
                           "epoch", "origin_archive", "origin_run_number"}) {
    CHECK(left.at(name) == entry.at(name));
  }
  CHECK(left.at("cut").as_bool());
  CHECK(left.at("type").is_null());
  CHECK(left.at("detections").as_array().empty());
  CHECK(left.at("detections_total").as_int64() == 20);
}

TEST_CASE("an_entry_that_no_message_can_hold_is_not_shortened") {
  std::string text = json::serialize(large_entry(0, 0, std::string(2'000, 's')));
  CHECK(shorten_entry(text, 500) == shortening::too_large);
  std::string wrong = "no JSON";
  CHECK(shorten_entry(wrong, 500) == shortening::too_large);
}
