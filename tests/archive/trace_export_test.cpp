#include <catch2/catch.hpp>
#include <vector>

#include "archive/trace_export.h"

using namespace digd::archive;

namespace {

std::vector<std::string> exported(const std::vector<stored_entry>& entries) {
  std::vector<std::string> lines;
  trace_export out([&](std::string_view line) { lines.emplace_back(line); });
  for (const stored_entry& e : entries) out.take(e);
  out.finish();
  return lines;
}

stored_entry entry_of(entry_kind kind, std::uint64_t seq, std::string session, std::string frame, std::int64_t ts) {
  stored_entry e;
  e.kind = kind;
  e.seq = seq;
  e.session = std::move(session);
  e.frame = std::move(frame);
  e.ts = ts;
  return e;
}

}  // namespace

TEST_CASE("members_are_put_first_or_dropped_and_the_rest_keeps_its_bytes") {
  CHECK(with_members(R"({ "ts" : 1 , "payload":{"ts":2,"x":"a,}\"]"},"n":1e400 })", R"("ts":5)", {"ts"}) ==
        R"({"ts":5,"payload":{"ts":2,"x":"a,}\"]"},"n":1e400})");
  CHECK(with_members("{}", "", {}) == "{}");
  CHECK(with_members(R"({"a":[1,{"b":2}]})", R"("c":3)", {"b"}) == R"({"c":3,"a":[1,{"b":2}]})");
}

TEST_CASE("an_exported_message_carries_the_archived_stamp_and_its_session") {
  const auto lines = exported({entry_of(entry_kind::run_opened, 0, "", R"({"type":"hello"})", 0),
                               entry_of(entry_kind::session_joined, 0, "m\"1", R"({"type":"hello"})", 0),
                               entry_of(entry_kind::message, 1, "m\"1", R"({"type":"time","seq":1,"ts":7})", 99)});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == R"({"type":"hello"})");
  CHECK(lines[1] == R"({"session":"m\"1","ts":99,"type":"time","seq":1})");
}

TEST_CASE("a_sessions_name_keeps_its_hidden_characters_and_has_line_ends_as_numbers") {
  const std::string name = "a\n\x1F\\\u200B";
  const auto lines = exported({entry_of(entry_kind::run_opened, 0, "", "{}", 0),
                               entry_of(entry_kind::message, 1, name, R"({"type":"time","seq":1})", 5)});
  CHECK(lines.back() == "{\"session\":\"a\\u000a\\u001f\\\\\u200B\",\"ts\":5,\"type\":\"time\",\"seq\":1}");
}

TEST_CASE("a_later_sessions_hello_leaves_out_the_settings_of_the_run") {
  const auto lines = exported(
      {entry_of(entry_kind::run_opened, 0, "", "{}", 0), entry_of(entry_kind::session_joined, 0, "a", "{}", 0),
       entry_of(entry_kind::session_joined, 0, "b", R"({"type":"hello","mode":"enforce","agents":["x"]})", 0)});
  CHECK(lines.back() == R"({"session":"b","type":"hello","agents":["x"]})");
}

TEST_CASE("an_opening_whose_own_session_was_not_stored_behind_it_is_its_hello_and_others_say_theirs") {
  const auto lines = exported({entry_of(entry_kind::run_opened, 0, "a", R"({"type":"hello","session":"a"})", 0),
                               entry_of(entry_kind::session_joined, 0, "b", R"({"type":"hello"})", 0),
                               entry_of(entry_kind::session_joined, 0, "a", R"({"type":"hello"})", 0),
                               entry_of(entry_kind::message, 1, "b", R"({"seq":1})", 7)});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == R"({"type":"hello","session":"a"})");
  CHECK(lines[1] == R"({"session":"b","type":"hello"})");
  CHECK(lines[2] == R"({"session":"a","type":"hello"})");
}

TEST_CASE("windows_that_fired_after_the_last_message_are_reached_by_a_last_time_line") {
  std::vector<stored_entry> entries = {
      entry_of(entry_kind::run_opened, 0, "", "{}", 0), entry_of(entry_kind::session_joined, 0, "main", "{}", 0),
      entry_of(entry_kind::message, 4, "main", R"({"seq":4})", 10), entry_of(entry_kind::firing, 0, "", "", 5010)};
  CHECK(exported(entries).back() == R"({"type":"time","session":"main","seq":5,"ts":5010})");
  entries.push_back(entry_of(entry_kind::message, 5, "main", R"({"seq":5})", 6000));
  CHECK(exported(entries).back() == R"({"session":"main","ts":6000,"seq":5})");
}

TEST_CASE("a_member_is_found_by_its_name_at_the_top_of_an_object_alone") {
  constexpr std::string_view object =
      R"({"payload":{"policy":"observe","x":"\"policy\":"}, "policy" : "gap","n":[1,2]})";
  CHECK(member_of(object, "policy") == R"("gap")");
  CHECK(member_of(object, "n") == "[1,2]");
  CHECK(member_of(object, "x").empty());
  CHECK(member_of(R"({"t\u0073":5})", "ts") == "5");
  for (const std::string_view broken : {"", "{", "}", "no JSON", R"({"type)", R"({"type":)", "[]]]"}) {
    CHECK(member_of(broken, "policy").empty());
  }
}

TEST_CASE("a_line_that_stands_for_a_frame_is_known_by_its_type_wherever_that_is_written") {
  stored_entry refused = entry_of(entry_kind::refused, 1, "a", R"({"seq":1,"type":"refused","message":"no"})", 9);
  refused.code = "bad_json";
  CHECK(exported({refused}).at(0) ==
        R"({"session":"a","ts":9,"code":"bad_json","seq":1,"type":"refused","message":"no"})");
}
