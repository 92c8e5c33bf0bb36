// Detections, verdicts and interventions in bounded space: what is stored, and that verdicts come back byte for byte.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "archive/detection_text.h"
#include "archive/verdict_text.h"
#include "base/quote.h"
#include "ingest/protocol/encode.h"

namespace digd::archive::testing {

namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

digd::detection found_with(const std::vector<std::string>& evidence, std::size_t total) {
  digd::detection d;
  d.rule = rule_id::cross_lineage_aggregation;
  d.session = "main";
  d.at = 7;
  d.event = "e";
  d.agent = "a";
  d.evidence = evidence;
  d.evidence_total = total;
  d.reason = R"(so: ,"witness":{ ,"detections":[1 "evidence":[ ])";
  d.witness.events = {{"e", "a"}};
  return d;
}

std::string json_of(const digd::detection& d, bool with_witness = true) {
  std::string out;
  ingest::encode_detection(out, d, with_witness);
  return out;
}

// An answer with `count` detections, each of them in one verdict but the first.
answer answer_with(const digd::detection& d, std::uint32_t count) {
  answer a;
  a.detections.assign(count, d);
  for (std::uint32_t i = 1; i < count; ++i) {
    a.detections[i].event = "e" + std::to_string(i);
    a.verdicts.push_back(
        {.event = "e" + std::to_string(i), .action = action::inject, .inject = "\x01 \x7f \u202e", .detections = {i}});
  }
  a.verdicts.push_back({.event = "plain"});
  return a;
}

std::vector<detection_row> rows_of(const answer& a) {
  std::vector<detection_row> rows;
  for (const digd::detection& d : a.detections) rows.push_back({.rule = "r", .severity = "s", .json = json_of(d)});
  return rows;
}

}  // namespace

TEST_CASE("evidence_that_is_long_as_json_is_split_and_joined_byte_for_byte", "[archive]") {
  const std::string unit = GENERATE("x", "\x01", "\\", "\"", "\x7f", "\u202e", "é", "\n", "\u200b", "\U000E0041");
  const std::size_t cut = GENERATE(0u, 1u);  // whether the evidence names fewer than it counts
  std::vector<std::string> evidence;
  for (int i = 0; i < 16; ++i) evidence.push_back(std::to_string(i) + repeated(unit, 250 / unit.size()));
  const std::string whole = json_of(found_with(evidence, evidence.size() + cut));
  const stored_detection stored = split_detection(whole);
  CHECK(join_detection(stored.json, stored.more_evidence) == whole);
  CHECK(stored.json.size() < max_evidence_json + 500);
  CHECK(stored.json.size() + stored.more_evidence.size() < 5'600);
  if (!stored.more_evidence.empty()) {
    CHECK(stored.json.find("\"evidence_total\":" + std::to_string(16 + cut)) != std::string::npos);
  }
  CHECK(split_detection(json_of(found_with({"e1"}, 1))).more_evidence.empty());
}

TEST_CASE("an_id_with_a_nul_is_split_and_joined", "[archive]") {
  const std::vector<std::string> evidence(40, std::string(200, '\0'));
  const std::string whole = json_of(found_with(evidence, 40));
  const stored_detection stored = split_detection(whole);
  CHECK_FALSE(stored.more_evidence.empty());
  CHECK(join_detection(stored.json, stored.more_evidence) == whole);
}

TEST_CASE("damaged_evidence_is_read_as_far_as_it_is_whole", "[archive]") {
  const std::string json = json_of(found_with({"e1"}, 2));
  for (const char* damaged : {"5:ab", "x", "99999999999999999999:a", "3abc", ":", "-1:a"}) {
    CHECK(join_detection(json, damaged) == json);
  }
  CHECK(join_detection("{}", "1:a") == "{}");
  CHECK(join_detection("", "1:a").empty());
}

TEST_CASE("verdicts_refer_to_detections_and_are_read_byte_for_byte", "[archive]") {
  const bool with_witness = GENERATE(false, true);
  const answer a = answer_with(found_with({"x1", "x2"}, 2), 4);
  const std::vector<detection_row> rows = rows_of(a);
  std::string frame, ids, stored;
  ingest::encode_verdicts(frame, ids, 5, a, with_witness);
  compact_verdicts(frame, rows, 100, stored);
  CHECK(stored.find(with_witness ? R"(,"detections_with_witness":[101]})" : R"(,"detections":[101]})") !=
        std::string::npos);
  CHECK(stored.find("\"rule\"") == std::string::npos);
  CHECK(stored.find("\\u202e") == std::string::npos);
  CHECK(expand_verdicts(stored, 5, [&](std::int64_t id) { return std::optional(rows.at(id - 100).json); }) == frame);
  CHECK_FALSE(expand_verdicts(stored, 5, [](std::int64_t) { return std::optional<std::string>(); }));
}

TEST_CASE("verdicts_of_other_detections_stay_as_they_are", "[archive]") {
  const answer a = answer_with(found_with({"x1"}, 1), 3);
  answer other = a;
  other.detections[2].reason = "another";
  std::string frame, ids, stored;
  ingest::encode_verdicts(frame, ids, 5, a, false);
  compact_verdicts(frame, rows_of(other), 1, stored);
  const auto read = expand_verdicts(stored, 5, [&](std::int64_t id) { return rows_of(other).at(id - 1).json; });
  CHECK(read == frame);
}

TEST_CASE("escaped_names_of_plain_deliveries_are_stored_as_themselves", "[archive]") {
  const std::string name = GENERATE("\x7f", "\u0085", "\u200e", "\u2066", "\x01", "\\u007f", "\\\x7f", "é\u202e\"");
  answer a;
  a.verdicts.push_back({.event = repeated(name, 40)});
  std::string frame, ids, stored;
  ingest::encode_verdicts(frame, ids, 5, a, false);
  compact_deliveries(ids, stored);
  CHECK(stored.starts_with("[\""));
  CHECK(expand_verdicts(stored, 5, {}) == frame);
  const std::string as_received = digd::quoted(a.verdicts[0].event);
  CHECK(stored.size() <= as_received.size() + 2);
  if (name == "\x7f") CHECK(stored.size() == 40 + 4);
}

TEST_CASE("a_long_intervention_keeps_its_beginning", "[archive]") {
  answer a;
  a.detections.push_back(found_with(std::vector<std::string>(16, std::string(250, '\x01')), 16));
  a.detections.back().rule = rule_id::deadlock;
  intervention i{.id = "sys:1", .inject = "text", .detections = {0}};
  for (int n = 0; n < 2'000; ++n) i.recipients.push_back(std::to_string(n) + std::string(200, '\x7f'));
  std::string whole;
  ingest::encode_intervention(whole, i, a, true);
  const std::string cut = cut_intervention(whole);
  CHECK(cut.size() < 2 * max_kept_names_json);
  CHECK(cut.find(R"("recipients_total":2000,"inject":"text","detections":[{"rule":"deadlock","severity":)") !=
        std::string::npos);
  CHECK(cut.ends_with(R"(,"too_large":true}]})"));
  i.recipients.resize(1);
  a.detections.back().evidence.resize(1);
  whole.clear();
  ingest::encode_intervention(whole, i, a, true);
  CHECK(cut_intervention(whole) == whole);
}

}  // namespace digd::archive::testing
