// Random traces must reach everything that the differential tests compare, and shrinking must leave a short trace.
#include "oracle.h"
#include "shrink.h"
#include "trace_generator.h"

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <set>

namespace json = boost::json;
using strings = std::vector<std::string>;

namespace {

std::string text(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

// The kind of an answer, without the ids and times of the trace.
std::string kind_of(const std::string& answer) {
  const json::object line = json::parse(answer).as_object();
  if (line.contains("d"))
    return text(line.at("d")) + (line.at("at").is_null() ? " by time" : "") + " " + text(line.at("healing")) + " " +
           text(line.at("cause"));
  if (line.contains("v")) return "verdict " + text(line.at("action")) + " " + text(line.at("inject"));
  if (line.contains("i")) return "intervention " + text(line.at("action")) + " " + text(line.at("inject"));
  if (line.contains("e")) return text(line.at("code")) + " " + text(line.at("field"));
  return line.at("s").as_object().at("terminal").as_bool() ? "terminal" : "live";
}

// Counts of the kinds of answers, and of properties that the answers do not show, by name.
struct census {
  std::map<std::string, std::size_t> answers_;
  std::map<std::string, std::size_t> seen_;
  std::size_t lines_ = 0;
};

const json::value* member(const json::value* from, const char* name) {
  return from != nullptr && from->is_object() ? from->as_object().if_contains(name) : nullptr;
}

void count_event(const json::value* event, census& c) {
  c.seen_["fyi"] += member(event, "fyi") != nullptr;
  c.seen_["submit"] += member(event, "submit") != nullptr;
  const json::value* recipients = member(event, "recipients");
  if (recipients == nullptr || !recipients->is_array()) return;
  std::set<std::string> once;
  for (const json::value& agent : recipients->as_array())
    if (!once.insert(text(agent)).second) ++c.seen_["a recipient named twice"];
}

void count_reroutes(const json::value& line, const oracle::history& h, census& c) {
  const json::value* reactions = member(&line, "reactions");
  const auto v = std::find_if(h.activations_.begin(), h.activations_.end(), [&](const auto& activation) {
    return line.as_object().contains("activation") && activation.id_ == text(line.at("activation"));
  });
  if (reactions == nullptr || !reactions->is_object() || v == h.activations_.end()) return;
  for (const auto& reaction : reactions->as_object()) {
    const json::value* targets = member(&reaction.value(), "reroute");
    if (targets == nullptr || !targets->is_array()) continue;
    c.seen_["reroute to nobody"] += targets->as_array().empty();
    for (const json::value& agent : targets->as_array()) {
      c.seen_["reroute to itself"] += text(agent) == v->agent_;
      c.seen_["reroute to somebody unknown"] += h.roster_.count(text(agent)) == 0;
    }
  }
}

void count_hello(const json::value& line, const oracle::history& h, census& c) {
  c.seen_["hello of a further session"] += !h.sessions_.empty();
  const json::value* session = member(&line, "session");
  c.seen_["reconnect"] += h.sessions_.count(session == nullptr ? "main" : text(*session)) != 0;
  if (const json::value* mode = member(&line, "mode")) ++c.seen_["run mode " + text(*mode)];
  const json::value* rules = member(&line, "rules");
  if (rules == nullptr) return;
  for (const auto& rule : rules->as_object())
    for (const auto& setting : rule.value().as_object())
      if (setting.key() == "mode" || setting.value().is_array() || setting.value().is_bool() || setting.value() == 0)
        ++c.seen_["some rule's " + std::string(setting.key()) + (setting.value() == 0 ? " of 0" : "")];
}

void count_line(const std::string& line, const oracle::history& before, census& c) {
  json::error_code failed;
  const json::value parsed = json::parse(line, failed);
  if (failed) return;
  const json::value* type = member(&parsed, "type");
  ++c.seen_[type == nullptr ? "no type" : text(*type)];
  if (type != nullptr && text(*type) == "hello") count_hello(parsed, before, c);
  const json::value* outcome = member(&parsed, "outcome");
  if (type != nullptr && text(*type) == "run_ended")
    ++c.seen_["outcome " + (outcome == nullptr ? "missing" : text(*outcome))];
  count_event(member(&parsed, "event"), c);
  if (const json::value* outputs = member(&parsed, "outputs"); outputs != nullptr && outputs->is_array())
    for (const json::value& event : outputs->as_array()) count_event(&event, c);
  count_reroutes(parsed, before, c);
  const json::value* of = member(&parsed, "of");
  c.seen_["a window's give-back delivered as is"] +=
      of != nullptr && text(*of).rfind("give:", 0) == 0 && text(parsed.at("applied")) == "as_is";
  const json::value* session = member(&parsed, "session");
  const auto known = before.sessions_.find(session == nullptr ? "main" : text(*session));
  const json::value* seq = member(&parsed, "seq");
  c.seen_["resent"] += known != before.sessions_.end() && seq != nullptr && seq->is_int64() &&
                       seq->as_int64() < known->second.expected_seq_;
  c.seen_["after the run's end"] += before.ended_;
}

std::ptrdiff_t unfilled(const oracle::history& h) {
  return std::count_if(h.events_.begin(), h.events_.end(), [](const auto& e) { return e.placeholder_; });
}

void count_history(const oracle::history& h, census& c) {
  ++c.seen_[h.open_roster_ ? "open roster" : "closed roster"];
  for (const oracle::event_record& e : h.events_) {
    c.seen_["forgotten"] += e.forgotten_;
    c.seen_["placeholder"] += e.placeholder_;
    c.seen_["too many generators"] += e.generators_.size() > static_cast<std::size_t>(h.settings_.generators_);
    for (const oracle::delivery& d : e.deliveries_) {
      const bool withdrawn = d.give_back_ && d.state_ == oracle::delivery_state::withdrawn;
      c.seen_["a submit event's give-back withdrawn"] += e.submit_returned_ && withdrawn;
      c.seen_["an orphan's give-back withdrawn"] += !e.submit_returned_ && withdrawn;
    }
  }
  for (const oracle::activation_record& v : h.activations_) {
    c.seen_["failed activation"] += v.failed_;
    c.seen_["open at the end and stalled"] += v.open_ && v.stalled_;
    for (std::size_t i = 0; i < v.inputs_.size(); ++i) {
      const bool system = h.events_[v.inputs_[i]].system_;
      const bool rerouted = i < v.reactions_.size() && v.reactions_[i] == oracle::reaction_kind::reroute;
      c.seen_["system event as input"] += system;
      c.seen_["system event rerouted"] += system && rerouted;
    }
  }
}

const oracle::rule_settings* settings_of(const oracle::history& h, const json::value& rule) {
  for (std::size_t i = 0; i < oracle::rule_count + oracle::guard_count; ++i)
    if (text(rule) == oracle::name_of(static_cast<oracle::rule>(i))) return &h.settings_.rules_[i];
  return nullptr;
}

void count_detection(const std::string& answer, const oracle::history& h, census& c) {
  const json::object line = json::parse(answer).as_object();
  if (!line.contains("d")) return;
  const oracle::rule_settings& rule = *settings_of(h, line.at("d"));
  const json::array& evidence = line.at("evidence").as_array();
  if (evidence.size() < line.at("total").to_number<std::size_t>())
    ++c.seen_[evidence.size() == 64 ? "evidence cut at its ids" : "evidence cut at its bytes"];
  const bool enforced = h.settings_.mode_ == oracle::mode::enforce && rule.mode_ == oracle::mode::enforce;
  c.seen_["an excepted agent: " + text(line.at("d"))] += enforced && text(line.at("cause")) == "mode";
  // No run makes 1000 attempts, so here the cause means that max_returns_per_agent is used up.
  c.seen_["enough returns: " + text(line.at("d"))] +=
      text(line.at("cause")) == "attempts" && rule.max_attempts_ == 1000;
}

census census_of(std::uint64_t seeds, std::size_t messages) {
  census c;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    oracle::evaluator judge;
    for (const std::string& line : oracle::random_trace(seed, messages)) {
      count_line(line, judge.seen(), c);
      const std::ptrdiff_t before = unfilled(judge.seen());
      for (const std::string& answer : judge.step(line)) {
        ++c.answers_[kind_of(answer)];
        count_detection(answer, judge.seen(), c);
      }
      c.seen_["late event"] += unfilled(judge.seen()) < before;
      ++c.lines_;
    }
    count_history(judge.seen(), c);
  }
  return c;
}

const std::map<std::string, strings>& causes_by_rule() {
  // A deadlock always has a target: pending events are pending at agents in the roster.
  static const std::map<std::string, strings> causes{
      {"early_termination reroute", {"as_is", "unsupported", "target", "attempts", "budget"}},
      {"orphaned_event reroute", {"as_is", "unsupported", "target", "attempts", "budget"}},
      {"orphaned_event by time reroute", {"unsupported", "target", "attempts", "budget", "ended"}},
      {"excessive_rerouting inject", {"as_is", "unsupported", "budget"}},
      {"cross_lineage_aggregation inject", {"as_is", "unsupported", "budget"}},
      {"repeated_subproblem inject", {"as_is", "unsupported", "budget"}},
      {"deadlock by time create", {"unsupported", "attempts", "budget", "ended"}},
      {"missing_termination by time create", {"unsupported", "target", "attempts", "budget", "ended"}}};
  return causes;
}

}  // namespace

TEST_CASE("random_traces_reach_every_rule_mode_cause_error_and_unusual_state", "[long]") {
  const census c = census_of(800, 300);
  const auto check_count = [&](const std::string& kind, std::size_t min_count) {
    const auto found = c.answers_.find(kind);
    INFO(kind);
    CHECK((found == c.answers_.end() ? 0 : found->second) >= min_count);
  };
  for (const auto& [rule_and_healing, causes] : causes_by_rule()) {
    const std::string rule = rule_and_healing.substr(0, rule_and_healing.rfind(' '));
    check_count(rule_and_healing + " null", 20);  // healed
    check_count(rule_and_healing + " mode", 5);   // shadow
    check_count(rule + " null mode", 5);          // observe, or shadow stopped by another cause
    for (const std::string& cause : causes) check_count(rule + " null " + cause, 2);
  }
  for (const char* kind :
       {"verdict deliver false", "verdict inject true", "verdict reroute true", "verdict reroute false",
        "intervention create true", "intervention reroute true", "intervention reroute false", "terminal", "live"})
    check_count(kind, 5);
  for (const char* code : {"bad_json", "bad_seq", "unknown_event", "unknown_activation", "activation_closed",
                           "duplicate_event", "duplicate_activation", "reserved_id", "settled_event", "not_an_input",
                           "failed_with_outputs", "submit_without_source", "run_closed"})
    check_count(std::string(code) + " null", 20);
  for (const char* field : {"seq", "type", "ts", "agent", "activation", "inputs", "event", "id", "source", "recipients",
                            "kind", "submit", "fyi", "as_is", "failed", "reactions", "outputs", "applied", "outcome"})
    check_count(std::string("bad_message ") + field, 5);
  CHECK(c.answers_.at("live") * 2 > c.lines_);  // most lines are judged
  for (const char* text : {"fyi",
                           "submit",
                           "a recipient named twice",
                           "reroute to nobody",
                           "reroute to itself",
                           "reroute to somebody unknown",
                           "hello of a further session",
                           "reconnect",
                           "run mode off",
                           "run mode observe",
                           "run mode shadow",
                           "some rule's mode",
                           "some rule's kinds",
                           "some rule's skip_repeated",
                           "some rule's window_ms of 0",
                           "some rule's max_attempts of 0",
                           "some rule's max_reroutes of 0",
                           "agent_joined",
                           "agent_left",
                           "gap",
                           "time",
                           "delivery",
                           "run_ended",
                           "a window's give-back delivered as is",
                           "resent",
                           "after the run's end",
                           "late event",
                           "open roster",
                           "closed roster",
                           "forgotten",
                           "placeholder",
                           "too many generators",
                           "a submit event's give-back withdrawn",
                           "an orphan's give-back withdrawn",
                           "failed activation",
                           "outcome missing",
                           "outcome null",
                           "outcome success",
                           "outcome failure",
                           "outcome aborted",
                           "outcome fine",
                           "evidence cut at its ids",
                           "evidence cut at its bytes",
                           "an excepted agent: early_termination",
                           "an excepted agent: orphaned_event",
                           "an excepted agent: excessive_rerouting",
                           "an excepted agent: cross_lineage_aggregation",
                           "an excepted agent: repeated_subproblem",
                           "an excepted agent: missing_termination",
                           "enough returns: early_termination",
                           "enough returns: orphaned_event",
                           "enough returns: missing_termination",
                           "open at the end and stalled",
                           "system event as input",
                           "system event rerouted"}) {
    INFO(text);
    const auto found = c.seen_.find(text);
    CHECK((found == c.seen_.end() ? 0 : found->second) >= 8);
  }
}

TEST_CASE("the_same_seed_gives_the_same_trace_and_the_same_answers") {
  for (std::uint64_t seed : {0u, 1u, 2u, 77u}) {
    const strings trace = oracle::random_trace(seed, 200);
    REQUIRE(trace == oracle::random_trace(seed, 200));
    REQUIRE(trace != oracle::random_trace(seed + 1, 200));
    REQUIRE(oracle::evaluate(trace) == oracle::evaluate(trace));
  }
}

TEST_CASE("shrinking_leaves_only_the_few_lines_that_a_failure_needs") {
  const oracle::trace_predicate fails = [](const strings& trace) {
    for (const std::string& answer : oracle::evaluate(trace))
      if (answer.rfind("{\"d\":\"excessive_rerouting\"", 0) == 0) return true;
    return false;
  };
  std::size_t shrunk = 0;
  for (std::uint64_t seed = 0; seed < 60 && shrunk < 3; ++seed) {
    const strings trace = oracle::random_trace(seed, 150);
    if (!fails(trace)) continue;
    ++shrunk;
    const strings small = oracle::shrink(trace, fails);
    REQUIRE(fails(small));
    // The hello, the line that creates the event, and three starts and ends. A system event needs a few lines more.
    CHECK(small.size() <= 12);
  }
  CHECK(shrunk == 3);
}
