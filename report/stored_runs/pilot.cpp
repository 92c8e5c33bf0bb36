#include "report/stored_runs/pilot.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/deep_json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/rule_id.h"
#include "report/stored_runs/intervals.h"

namespace digd::stored {

namespace {

namespace json = boost::json;
using archive::piloted_healing;
using archive::piloted_judgement;
using archive::piloted_run;

constexpr std::size_t max_metrics = 16;  // names of metrics that are compared

double finite(double value) { return std::isfinite(value) ? value : 0.0; }

// Null where there is no interval.
void write_interval(json_writer& to, const std::optional<interval>& range) {
  if (!range) {
    to.null();
    return;
  }
  to.open_object().key("value").number(finite(range->value)).key("low").number(finite(range->low));
  to.key("high").number(finite(range->high)).close_object();
}

// ---- how runs ended

struct endings {
  std::uint64_t success = 0, failure = 0, unknown = 0, aborted = 0, open = 0;

  void add(const piloted_run& run) {
    if (run.ended.empty()) ++open;
    else if (run.ended == "success") ++success;
    else if (run.ended == "failure") ++failure;
    else if (run.ended == "aborted") ++aborted;
    else ++unknown;
  }
  // A run that ended without an outcome came to rest without an answer.
  std::uint64_t badly() const { return failure + unknown; }
  share succeeded() const { return {success, success + badly()}; }
};

void write_endings(json_writer& to, const endings& e) {
  to.key("ended").open_object();
  to.key("success").integer(e.success).key("failure").integer(e.failure).key("unknown").integer(e.unknown);
  to.key("aborted").integer(e.aborted).key("open").integer(e.open).close_object();
  to.key("ended_badly").integer(e.badly());
}

// ---- places

using place_key =
    std::tuple<std::string, std::optional<std::string>, std::optional<std::string>>;  // rule, subject, place

struct place_sum {
  std::uint64_t runs = 0, would = 0, did = 0, right = 0, wrong = 0;
  endings ended;
  std::vector<std::pair<std::int64_t, std::size_t>>
      examples;  // detections.id, the run's place in the list; newest first
};

struct rule_sum {
  boost::unordered_flat_set<std::size_t> runs;
  std::uint64_t would = 0, did = 0;
};

// ---- the canary

struct group_sum {
  std::uint64_t runs = 0;
  endings ended;
  sample calls, time_ms;
  std::map<std::string, sample> metrics;
};

void add_metrics(const std::string& text, std::map<std::string, sample>& to) {
  if (text.empty()) return;
  json::error_code ec;
  const json::value value = parse_json(text, ec);
  if (ec || !value.is_object()) return;
  for (const auto& [name, item] : value.get_object()) {
    if (!item.is_number()) continue;
    const std::string key(name);
    if (to.size() >= max_metrics && !to.contains(key) && key != "cost") continue;
    to[key].add(item.to_number<double>());
  }
}

void write_group(json_writer& to, const group_sum& sum) {
  to.open_object().key("runs").integer(sum.runs);
  write_endings(to, sum.ended);
  write_interval(to.key("success"), wilson(sum.ended.succeeded()));
  write_interval(to.key("calls"), mean_interval(sum.calls));
  write_interval(to.key("time_ms"), mean_interval(sum.time_ms));
  to.key("metrics").open_object();
  for (const auto& [metric, values] : sum.metrics) {
    to.key(metric).open_object().key("runs").integer(values.size());
    write_interval(to.key("mean"), mean_interval(values));
    to.close_object();
  }
  to.close_object().close_object();
}

// ---- all of it

class pilot {
 public:
  pilot(archive::browser& from, const pilot_request& asked) : from_(from), asked_(asked) {}

  boost::system::result<std::string> write() {
    if (auto ec = read_runs()) return ec;
    if (auto ec = read_healings()) return ec;
    if (auto ec = read_judgements()) return ec;
    std::string out;
    json_writer to(out);
    to.open_object().key("since_ms").integer(asked_.since_ms).key("until_ms").integer(asked_.now_ms);
    write_runs(to);
    write_intervened(to);
    if (auto ec = write_places(to)) return ec;
    write_canary(to);
    write_precision(to);
    to.key("left_out").boolean(left_out_).close_object();
    return out + '\n';
  }

 private:
  using trouble = boost::system::error_code;

  trouble read_runs() {
    auto rows = from_.piloted_runs(asked_.since_ms, pilot_request::max_runs + 1);
    if (!rows) return rows.error();
    if (rows->size() > pilot_request::max_runs) {
      rows->pop_back();
      left_out_ = true;
    }
    for (piloted_run& item : *rows) {
      if (asked_.shows && !asked_.shows(item.run)) continue;
      index_[item.number] = runs_.size();
      ended_.add(item);
      ++modes_[item.mode];
      if (!item.canary.empty()) add_to_group(item);
      runs_.push_back(std::move(item));
    }
    return {};
  }

  void add_to_group(const piloted_run& run) {
    group_sum& to = groups_[run.canary];
    ++to.runs;
    to.ended.add(run);
    if (run.ended.empty() || run.ended == "aborted") return;
    to.calls.add(static_cast<double>(run.activations));
    if (run.ended_ms) to.time_ms.add(static_cast<double>(*run.ended_ms - run.opened_ms));
    add_metrics(run.metrics, to.metrics);
  }

  trouble read_healings() {
    auto rows = from_.piloted_healings(asked_.since_ms, pilot_request::max_rows + 1);
    if (!rows) return rows.error();
    left_out_ = left_out_ || rows->size() > pilot_request::max_rows;
    for (const piloted_healing& item : *rows) {
      const auto found = index_.find(item.run_number);
      if (found == index_.end()) continue;
      const std::size_t run = found->second;
      place_sum& place = places_[{item.rule, item.subject, item.place}];
      ++place.runs;
      place.would += item.would;
      place.did += item.did;
      place.ended.add(runs_[run]);
      if (place.examples.size() < pilot_request::max_examples) place.examples.emplace_back(item.latest, run);
      rule_sum& rule = rules_[item.rule];
      rule.runs.insert(run);
      rule.would += item.would;
      rule.did += item.did;
      if (item.would > 0) would_.insert(run);
      if (item.did > 0) did_.insert(run);
    }
    return {};
  }

  trouble read_judgements() {
    auto rows = from_.piloted_judgements(asked_.since_ms, pilot_request::max_rows + 1);
    if (!rows) return rows.error();
    left_out_ = left_out_ || rows->size() > pilot_request::max_rows;
    for (const piloted_judgement& item : *rows) {
      if (!index_.contains(item.run_number)) continue;
      auto& [right, wrong] = precision_[{item.rule, item.week}];
      right += item.right;
      wrong += item.wrong;
      const auto place = places_.find({item.rule, item.subject, item.place});
      if (place == places_.end()) continue;
      place->second.right += item.right;
      place->second.wrong += item.wrong;
    }
    return {};
  }

  void write_runs(json_writer& to) const {
    to.key("runs").open_object().key("total").integer(runs_.size()).key("modes").open_object();
    for (const auto& [mode, count] : modes_) to.key(mode.empty() ? "unknown" : mode).integer(count);
    to.close_object();
    write_endings(to, ended_);
    to.close_object();
  }

  void write_intervened(json_writer& to) const {
    auto either = would_;
    either.insert(did_.begin(), did_.end());
    endings ended;
    for (const std::size_t run : either) ended.add(runs_[run]);
    to.key("intervened").open_object().key("runs").integer(either.size());
    to.key("would").integer(would_.size()).key("did").integer(did_.size());
    write_endings(to, ended);
    to.close_object().key("rules").open_array();
    for (const auto& [rule, sum] : rules_) {
      to.open_object().key("rule").text(rule).key("runs").integer(sum.runs.size());
      to.key("would").integer(sum.would).key("did").integer(sum.did).close_object();
    }
    to.close_array();
  }

  trouble write_places(json_writer& to) {
    std::vector<const std::pair<const place_key, place_sum>*> sorted;
    sorted.reserve(places_.size());
    for (const auto& item : places_) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return std::pair(a->second.runs, a->second.would + a->second.did) >
             std::pair(b->second.runs, b->second.would + b->second.did);
    });
    if (sorted.size() > pilot_request::max_places) {
      sorted.resize(pilot_request::max_places);
      left_out_ = true;
    }
    to.key("places").open_array();
    for (const auto* item : sorted) {
      if (trouble failed = write_place(to, item->first, item->second)) return failed;
    }
    to.close_array();
    return {};
  }

  trouble write_place(json_writer& to, const place_key& key, const place_sum& sum) {
    const auto& [rule, subject, place] = key;
    to.open_object().key("rule").text(rule).key("agent").text_or_null(subject.value_or(""));
    to.key("place").text_or_null(place.value_or("")).key("runs").integer(sum.runs);
    to.key("would").integer(sum.would).key("did").integer(sum.did);
    write_endings(to, sum.ended);
    to.key("judged").open_object().key("right").integer(sum.right).key("wrong").integer(sum.wrong).close_object();
    to.key("examples").open_array();
    for (const auto& [detection, run] : sum.examples) {
      const auto text = from_.text_of_detection(detection);
      if (!text) return text.error();
      if (*text) write_example(to, runs_[run], **text);  // else deleted meanwhile
    }
    to.close_array();
    // The setting that silences the place, and the member of a hello that takes it.
    const auto id = rule_from(rule);
    to.key("silence_in").text(id && is_guard(*id) ? "guards" : "rules");
    to.key("silence").open_object().key(rule).open_object();
    if (subject) to.key("except").open_array().text(*subject).close_array();
    else to.key("mode").text("observe");
    to.close_object().close_object().close_object();
    return {};
  }

  static void write_example(json_writer& to, const piloted_run& run, const archive::detection_text& text) {
    to.open_object().key("run").text(run.run).key("link").text("/#/run/" + percent_encoded(run.run));
    to.key("detection").text(to_string(detection_name{text.entry, text.place_in_entry}));
    to.key("ended").text_or_null(run.ended).key("reason").text(text.reason).close_object();
  }

  void write_canary(json_writer& to) {
    to.key("canary");
    if (groups_.empty()) {
      to.null();
      return;
    }
    const group_sum &enforced = groups_["enforce"], &shadowed = groups_["shadow"];
    to.open_object().key("method").text(
        "95% intervals; shares: Wilson, their difference: Newcombe; means: Student's t, their difference: Welch");
    to.key("groups").open_object();
    write_group(to.key("enforce"), enforced);
    write_group(to.key("shadow"), shadowed);
    to.close_object();
    to.key("difference").open_object();  // enforce minus shadow
    write_interval(to.key("success"), newcombe(enforced.ended.succeeded(), shadowed.ended.succeeded()));
    write_interval(to.key("calls"), welch(enforced.calls, shadowed.calls));
    write_interval(to.key("time_ms"), welch(enforced.time_ms, shadowed.time_ms));
    to.key("metrics").open_object();
    for (const auto& [name, values] : enforced.metrics) {
      const auto other = shadowed.metrics.find(name);
      if (other != shadowed.metrics.end()) write_interval(to.key(name), welch(values, other->second));
    }
    to.close_object().close_object().close_object();
  }

  void write_precision(json_writer& to) const {
    to.key("precision").open_array();
    for (const auto& [rule_and_week, judged] : precision_) {
      const auto& [right, wrong] = judged;
      to.open_object().key("rule").text(rule_and_week.first).key("week").text(rule_and_week.second);
      to.key("right").integer(right).key("wrong").integer(wrong);
      write_interval(to.key("precision"), wilson({right, right + wrong}));
      to.close_object();
    }
    to.close_array();
  }

  archive::browser& from_;
  const pilot_request& asked_;
  bool left_out_ = false;
  std::vector<piloted_run> runs_;
  boost::unordered_flat_map<std::uint64_t, std::size_t> index_;  // of runs_, by number
  std::map<std::string, std::uint64_t> modes_;
  endings ended_;
  std::map<place_key, place_sum> places_;
  std::map<std::string, rule_sum> rules_;
  boost::unordered_flat_set<std::size_t> would_, did_;  // runs
  std::map<std::string, group_sum> groups_;
  std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>>
      precision_;  // by rule and week
};

}  // namespace

boost::system::result<std::string> pilot_json(archive::browser& from, const pilot_request& asked) {
  return pilot(from, asked).write();
}

std::optional<std::int64_t> duration_ms(std::string_view text) {
  constexpr std::int64_t century_ms = 100LL * 366 * 24 * 3600 * 1000;
  std::int64_t count = 0;
  const char* const last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, count);
  if (ec != std::errc{} || end + 1 != last || count < 1) return std::nullopt;
  std::int64_t unit = 0;
  switch (*end) {
    case 'm': unit = 60'000; break;
    case 'h': unit = 3'600'000; break;
    case 'd': unit = 24LL * 3'600'000; break;
    case 'w': unit = 7LL * 24 * 3'600'000; break;
    default: return std::nullopt;
  }
  if (count > century_ms / unit) return std::nullopt;
  return count * unit;
}

std::string to_string(const detection_name& name) {
  return std::to_string(name.entry) +
         (name.place_in_entry == 1 ? std::string() : '.' + std::to_string(name.place_in_entry));
}

std::optional<detection_name> detection_name_from(std::string_view text) {
  detection_name name;
  const char* const last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, name.entry);
  if (ec != std::errc{} || name.entry < 1) return std::nullopt;
  if (end == last) return name;
  if (*end != '.') return std::nullopt;
  const auto [end_of_place, no] = std::from_chars(end + 1, last, name.place_in_entry);
  if (no != std::errc{} || end_of_place != last || name.place_in_entry < 1) return std::nullopt;
  return name;
}

}  // namespace digd::stored
