// The text of /metrics, request targets, and the frames of the feed.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include "daemon/http/request_target.h"
#include "daemon/http/responses.h"
#include "daemon/metrics/metrics.h"
#include "daemon/metrics/prometheus.h"
#include "ingest/protocol/payloads.h"
#include "report/stored_runs/feed_frames.h"

namespace digd::daemon {
namespace {
namespace json = boost::json;

// ---- metrics

TEST_CASE("labels_and_help_are_escaped") {
  prometheus_text out;
  out.family("x_total", "counter", "one\ntwo \\");
  out.sample(std::uint64_t{3}, {{"a", "q\"\\\n"}, {"b", ""}});
  CHECK(out.take() == "# HELP x_total one\\ntwo \\\\\n# TYPE x_total counter\nx_total{a=\"q\\\"\\\\\\n\",b=\"\"} 3\n");
}

TEST_CASE("threads_are_summed_and_buckets_are_cumulative") {
  thread_counts first, second;
  first.messages[message_type::event].add(2);
  second.messages[message_type::event].add(3);
  first.verdict_latency.record(std::chrono::microseconds(10));
  second.verdict_latency.record(std::chrono::microseconds(11));
  second.verdict_latency.record(std::chrono::seconds(11));
  const thread_counts* counts[] = {&first, &second};
  const std::string text = metrics_text(counts, {.version = "1"});
  CHECK(text.find("digd_messages_total{type=\"event\"} 5\n") != text.npos);
  CHECK(text.find("digd_verdict_latency_seconds_bucket{le=\"0.00001\"} 1\n") != text.npos);
  CHECK(text.find("digd_verdict_latency_seconds_bucket{le=\"0.00002\"} 2\n") != text.npos);
  CHECK(text.find("digd_verdict_latency_seconds_bucket{le=\"10\"} 2\n") != text.npos);
  CHECK(text.find("digd_verdict_latency_seconds_bucket{le=\"+Inf\"} 3\n") != text.npos);
  CHECK(text.find("digd_verdict_latency_seconds_count 3\n") != text.npos);
  CHECK(text.find("digd_archive_commits_total") == text.npos);  // no archive
}

TEST_CASE("an_answer_is_counted_by_its_members") {
  thread_counts counts;
  answer a;
  a.detections.push_back({.rule = rule_id::orphaned_event, .healed = true});
  a.detections.push_back({.rule = rule_id::orphaned_event, .cause = cause::mode});
  a.verdicts.push_back({.event = "e", .action = action::reroute});
  a.verdicts.push_back({.event = "f", .action = action::hold});
  a.interventions.push_back({.action = action::cancel});
  counts.take(a);
  CHECK(counts.detections[index_of(rule_id::orphaned_event)][1].value() == 1);
  CHECK(counts.detections[index_of(rule_id::orphaned_event)][0].value() == 1);
  CHECK(counts.causes[cause::mode].value() == 1);
  CHECK(counts.verdicts[action::reroute].value() == 1);
  CHECK(counts.verdicts[action::hold].value() == 1);
  CHECK(counts.interventions[action::cancel].value() == 1);
}

// ---- targets

TEST_CASE("a_path_is_split_before_it_is_decoded") {
  const auto target = split_target("/v1/runs/a%2Fb+c%20d/graph?format=dot&x=1+2&x=3");
  REQUIRE(target);
  CHECK(target->path == std::vector<std::string>{"v1", "runs", "a/b+c d", "graph"});
  CHECK(*target->parameter("format") == "dot");
  CHECK(*target->parameter("x") == "1 2");
  CHECK(target->parameter("y") == nullptr);
  CHECK(split_target("/v1/runs/%2e%2e")->path.back() == "..");
}

TEST_CASE("a_broken_target_is_refused") {
  for (const char* wrong : {"", "v1", "*", "http://x/", "/%", "/%2", "/%zz", "/a?b=%g0"}) CHECK(!split_target(wrong));
  std::string deep;
  for (std::size_t i = 0; i <= max_parts; ++i) deep += "/a";
  CHECK(!split_target(deep));
}

TEST_CASE("a_whole_number_has_only_digits") {
  CHECK(whole_number("18446744073709551615") == 18446744073709551615ULL);
  for (const char* wrong : {"", "-1", "+1", "1 ", "0x1", "18446744073709551616"}) CHECK(!whole_number(wrong));
}

TEST_CASE("the_answer_for_an_unknown_run_is_valid_json") {
  const http_response no = no_such_run("\"}<x>\n");
  const json::value error = json::parse(std::string(no.body())).at("error");
  CHECK(no.result_int() == 404);
  CHECK(error.at("code") == "no_such_run");
}

// ---- the feed

TEST_CASE("payloads_are_removed_however_their_name_is_escaped") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"payload":1})", R"({})"},
      {R"({"a":1,"payload":{"payload":[1,2,"}"]}})", R"({"a":1})"},
      {R"({"payload":"x","a":1})", R"({"a":1})"},
      {R"({ "payload" : [ "]" ] , "a" : 1 })", R"({ "a" : 1 })"},
      {R"({"a":[{"payload":1,"b":2},{"b":3,"payload":"\"}"}]})", R"({"a":[{"b":2},{"b":3}]})"},
      {R"({"p\u0061ylo\u0061d":1,"b":2})", R"({"b":2})"},
      {R"({"a":"payload","payloads":1,"Payload":2})", R"({"a":"payload","payloads":1,"Payload":2})"},
      {R"({"a":["payload",{"b":["payload"]}]})", R"({"a":["payload",{"b":["payload"]}]})"},
      {R"({"payload":1,"payload":2})", R"({})"},
      {R"({"a":{"payload":null},"b":-1.5e3})", R"({"a":{},"b":-1.5e3})"},
  };
  for (const auto& [before, after] : cases) {
    const std::string got = ingest::without_payloads(before);
    CHECK(json::serialize(json::parse(got)) == json::serialize(json::parse(after)));
  }
}

TEST_CASE("the_frames_of_an_entry_are_in_order_and_the_last_is_marked") {
  archive::watched_entry e{.id = 7, .run = "r\"", .session = "main", .type = "event"};
  e.frame = R"({"type":"event","seq":3,"event":{"id":"x","payload":1}})";
  e.verdicts = R"({"type":"verdicts","seq":3,"verdicts":[{"event":"x","action":"deliver"}]})";
  e.seq = 3;
  e.detections = {R"({"rule":"deadlock"})"};
  e.outcomes = {{.rule = "deadlock", .outcome = "cleared", .ts = 5, .detected_ts = 4}};
  std::vector<json::value> frames;
  for (const std::string& text : stored::feed_frames(e, false)) frames.push_back(json::parse(text));
  REQUIRE(frames.size() == 4);
  CHECK(frames[0].at("type") == "message");
  CHECK(frames[0].at("run") == "r\"");
  CHECK(frames[0].at("message").at("event") == json::value({{"id", "x"}}));
  CHECK(frames[1].at("type") == "detection");
  CHECK(frames[2].at("verdicts").at(0) == json::value({{"event", "x"}, {"action", "deliver"}}));
  CHECK(frames[2].at("of") == 3);
  CHECK(frames[3].at("outcome").at("outcome") == "cleared");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(frames[i].at("seq") == 7);
    CHECK((frames[i].as_object().contains("last") == (i == 3)));
  }
}

TEST_CASE("stored_plain_deliveries_appear_as_sent_with_escaped_and_hidden_characters") {
  archive::watched_entry e{
      .id = 1, .run = "r", .session = "main", .type = "event", .frame = R"({"type":"event","seq":1})"};
  e.seq = 1;
  e.verdicts = "[\"x\",\"y\\\"]\",\"\u200E\"]";
  archive::expand_verdicts(e);
  const auto frames = stored::feed_frames(e, true);
  REQUIRE(frames.size() == 2);
  CHECK(frames[1] == R"({"type":"verdicts","seq":1,"run":"r","session":"main","ts":0,"of":1,"verdicts":[)"
                     R"({"event":"x","action":"deliver"},{"event":"y\"]","action":"deliver"},)"
                     R"({"event":"\u200e","action":"deliver"}],"last":true})");
}

TEST_CASE("verdicts_with_injections_appear_as_sent") {
  archive::watched_entry e{
      .id = 1, .run = "r", .session = "main", .type = "event", .frame = R"({"type":"event","seq":1})"};
  e.seq = 1;
  e.verdicts = R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e","action":"inject","inject":"\"}]"}]})";
  const auto frames = stored::feed_frames(e, true);
  REQUIRE(frames.size() == 2);
  CHECK(json::parse(frames[1]).at("verdicts").at(0).at("inject") == "\"}]");
}

TEST_CASE("a_refused_message_gives_no_frames") {
  archive::watched_entry e{.id = 1, .run = "r", .session = "main", .type = "refused", .frame = "{"};
  e.kind = archive::entry_kind::refused;
  CHECK(stored::feed_frames(e, true).empty());
}

}  // namespace
}  // namespace digd::daemon
