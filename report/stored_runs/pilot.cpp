#include "report/stored_runs/pilot.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "report/stored_runs/intervals.h"
#include "report/stored_runs/json_text.h"

namespace digd::stored {

namespace {

namespace json = boost::json;
using archive::piloted_healing;
using archive::piloted_judgement;
using archive::piloted_run;

constexpr std::size_t max_metrics = 16;  // names that are compared

// ---- JSON

void append_real(std::string& out, double value) {
  std::array<char, 32> text{};
  const auto [end, ec] = std::to_chars(text.data(), text.data() + text.size(), std::isfinite(value) ? value : 0.0);
  out.append(text.data(), end);
}

void append_interval(std::string& out, std::string_view name, const std::optional<interval>& range) {
  append_member(out, name);
  if (!range) {
    out += "null";
    return;
  }
  out += "{\"value\":";
  append_real(out, range->value);
  out += ",\"low\":";
  append_real(out, range->low);
  out += ",\"high\":";
  append_real(out, range->high);
  out += '}';
}

void append_count(std::string& out, std::string_view name, std::uint64_t value) {
  append_number(out, name, static_cast<std::int64_t>(value));
}

// `write` appends one element.
template <class List, class Write>
void append_array(std::string& out, std::string_view name, const List& list, Write write) {
  append_member(out, name);
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!std::exchange(first, false)) out += ',';
    write(item);
  }
  out += ']';
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

void append_endings(std::string& out, const endings& e) {
  append_member(out, "ended");
  out += '{';
  append_count(out, "success", e.success);
  append_count(out, "failure", e.failure);
  append_count(out, "unknown", e.unknown);
  append_count(out, "aborted", e.aborted);
  append_count(out, "open", e.open);
  out += '}';
  append_count(out, "ended_badly", e.badly());
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
  const json::value value = json::parse(text, ec);
  if (ec || !value.is_object()) return;
  for (const auto& [name, item] : value.get_object()) {
    if (!item.is_number()) continue;
    const std::string key(name);
    if (to.size() >= max_metrics && !to.contains(key) && key != "cost") continue;
    to[key].add(item.to_number<double>());
  }
}

void append_group(std::string& out, std::string_view name, const group_sum& sum) {
  append_member(out, name);
  out += '{';
  append_count(out, "runs", sum.runs);
  append_endings(out, sum.ended);
  append_interval(out, "success", wilson(sum.ended.succeeded()));
  append_interval(out, "calls", mean_interval(sum.calls));
  append_interval(out, "time_ms", mean_interval(sum.time_ms));
  append_member(out, "metrics");
  out += '{';
  for (const auto& [metric, values] : sum.metrics) {
    if (out.back() != '{') out += ',';
    append_quoted(out, metric);
    out += ":{\"runs\":" + std::to_string(values.size());
    append_interval(out, "mean", mean_interval(values));
    out += '}';
  }
  out += "}}";
}

// ---- all of it

class pilot {
 public:
  pilot(archive::browser& from, const pilot_request& asked) : from_(from), asked_(asked) {}

  boost::system::result<std::string> write() {
    if (auto ec = read_runs()) return ec;
    if (auto ec = read_healings()) return ec;
    if (auto ec = read_judgements()) return ec;
    std::string out = "{";
    append_number(out, "since_ms", asked_.since_ms);
    append_number(out, "until_ms", asked_.now_ms);
    append_runs(out);
    append_intervened(out);
    if (auto ec = append_places(out)) return ec;
    append_canary(out);
    append_precision(out);
    append_bool(out, "left_out", left_out_);
    return out + "}\n";
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

  void append_runs(std::string& out) const {
    append_member(out, "runs");
    out += '{';
    append_count(out, "total", runs_.size());
    append_member(out, "modes");
    out += '{';
    for (const auto& [mode, count] : modes_) append_count(out, mode.empty() ? "unknown" : mode, count);
    out += '}';
    append_endings(out, ended_);
    out += '}';
  }

  void append_intervened(std::string& out) const {
    auto either = would_;
    either.insert(did_.begin(), did_.end());
    endings ended;
    for (const std::size_t run : either) ended.add(runs_[run]);
    append_member(out, "intervened");
    out += '{';
    append_count(out, "runs", either.size());
    append_count(out, "would", would_.size());
    append_count(out, "did", did_.size());
    append_endings(out, ended);
    out += '}';
    append_array(out, "rules", rules_, [&](const auto& item) {
      out += '{';
      append_text(out, "rule", item.first);
      append_count(out, "runs", item.second.runs.size());
      append_count(out, "would", item.second.would);
      append_count(out, "did", item.second.did);
      out += '}';
    });
  }

  trouble append_places(std::string& out) {
    std::vector<const std::pair<const place_key, place_sum>*> sorted;
    for (const auto& item : places_) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return std::pair(a->second.runs, a->second.would + a->second.did) >
             std::pair(b->second.runs, b->second.would + b->second.did);
    });
    if (sorted.size() > pilot_request::max_places) {
      sorted.resize(pilot_request::max_places);
      left_out_ = true;
    }
    trouble failed;
    append_array(out, "places", sorted, [&](const auto* item) {
      if (!failed) failed = append_place(out, item->first, item->second);
    });
    return failed;
  }

  trouble append_place(std::string& out, const place_key& key, const place_sum& sum) {
    const auto& [rule, subject, place] = key;
    out += '{';
    append_text(out, "rule", rule);
    append_text_or_null(out, "agent", subject.value_or(""));
    append_text_or_null(out, "place", place.value_or(""));
    append_count(out, "runs", sum.runs);
    append_count(out, "would", sum.would);
    append_count(out, "did", sum.did);
    append_endings(out, sum.ended);
    append_member(out, "judged");
    out += "{\"right\":" + std::to_string(sum.right) + ",\"wrong\":" + std::to_string(sum.wrong) + '}';
    append_member(out, "examples");
    out += '[';
    for (const auto& [detection, run] : sum.examples) {
      const auto text = from_.text_of_detection(detection);
      if (!text) return text.error();
      if (!*text) continue;  // deleted meanwhile
      if (out.back() != '[') out += ',';
      append_example(out, runs_[run], **text);
    }
    out += ']';
    // What silences it: the setting of a hello's `rules`.
    append_member(out, "silence");
    out += '{';
    append_member(out, rule);
    out += '{';
    if (subject) {
      append_member(out, "except");
      out += '[';
      append_quoted(out, *subject);
      out += ']';
    } else {
      append_text(out, "mode", "observe");
    }
    out += "}}}";
    return {};
  }

  static void append_example(std::string& out, const piloted_run& run, const archive::detection_text& text) {
    out += '{';
    append_text(out, "run", run.run);
    append_text(out, "link", "/#/run/" + percent_encoded(run.run));
    append_text(out, "detection", to_string(detection_name{text.entry, text.place_in_entry}));
    append_text_or_null(out, "ended", run.ended);
    append_text(out, "reason", text.reason);
    out += '}';
  }

  static std::string percent_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF", plain = "-_.~";
    std::string out;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      const bool is_plain =
          (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || plain.find(c) != plain.npos;
      if (is_plain) out += c;
      else out.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return out;
  }

  void append_canary(std::string& out) {
    append_member(out, "canary");
    if (groups_.empty()) {
      out += "null";
      return;
    }
    const group_sum &enforced = groups_["enforce"], &shadowed = groups_["shadow"];
    out +=
        "{\"method\":\"95% intervals; shares: Wilson, their difference: Newcombe; means: Student's t, their "
        "difference: Welch\"";
    append_member(out, "groups");
    out += '{';
    append_group(out, "enforce", enforced);
    append_group(out, "shadow", shadowed);
    out += '}';
    append_member(out, "difference");  // enforce minus shadow
    out += '{';
    append_interval(out, "success", newcombe(enforced.ended.succeeded(), shadowed.ended.succeeded()));
    append_interval(out, "calls", welch(enforced.calls, shadowed.calls));
    append_interval(out, "time_ms", welch(enforced.time_ms, shadowed.time_ms));
    append_member(out, "metrics");
    out += '{';
    for (const auto& [name, values] : enforced.metrics) {
      const auto other = shadowed.metrics.find(name);
      if (other == shadowed.metrics.end()) continue;
      std::string member;
      append_interval(member, "", welch(values, other->second));
      if (out.back() != '{') out += ',';
      append_quoted(out, name);
      out += member.substr(member.find(':'));
    }
    out += "}}}";
  }

  void append_precision(std::string& out) const {
    append_array(out, "precision", precision_, [&](const auto& item) {
      const auto& [right, wrong] = item.second;
      out += '{';
      append_text(out, "rule", item.first.first);
      append_text(out, "week", item.first.second);
      append_count(out, "right", right);
      append_count(out, "wrong", wrong);
      append_interval(out, "precision", wilson({right, right + wrong}));
      out += '}';
    });
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
