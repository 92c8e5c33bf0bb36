#include "report/stored_runs/guard_limits.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <functional>
#include <variant>

#include "base/deep_json.h"
#include "rules/rule.h"

namespace digd::stored {

namespace json = boost::json;

namespace {

double number_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_number() ? std::max(0.0, found->to_number<double>()) : 0;
}

std::string text_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string().c_str(), found->get_string().size())
                                                : std::string();
}

bool flag_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

const json::array* list_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found == nullptr ? nullptr : found->if_array();
}

std::vector<std::string> texts_in(const json::object& from, std::string_view name) {
  std::vector<std::string> out;
  const json::array* list = list_in(from, name);
  if (list == nullptr) return out;
  for (const json::value& value : *list) {
    if (value.is_string()) out.emplace_back(value.get_string().c_str(), value.get_string().size());
  }
  return out;
}

// A hash of the set of recipients and of the fingerprint or payload. 0: there is neither, so the guard does not judge
// the event.
std::size_t repetition_hash(const json::object& event) {
  std::string text = text_in(event, "fingerprint");
  const json::value* payload = event.if_contains("payload");
  if (text.empty() && (payload == nullptr || payload->is_null())) return 0;
  text = text.empty() ? "p" + json::serialize(*payload) : "f" + text;
  std::vector<std::string> to = texts_in(event, "recipients");
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
  for (const std::string& name : to) text += '\0' + name;
  return std::max<std::size_t>(1, std::hash<std::string>{}(text));
}

double rounded_up(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit - 1e-9) * unit;
}

double value_of(const run_extent& run, std::string_view limit) {
  const auto found = run.find(limit);
  return found == run.end() ? 0 : found->second;
}

// `reached`: ascending.
double suggested_value(const guard_option& limit, const std::vector<double>& reached, double percentile,
                       double margin) {
  const auto rank = static_cast<std::size_t>(std::ceil(percentile / 100 * static_cast<double>(reached.size())));
  double value = margin * reached[std::clamp<std::size_t>(rank, 1, reached.size()) - 1];
  if (value <= 0) value = margin * reached.back();  // most runs reported nothing: takes the greatest value instead
  value = rounded_up(value);
  if (!std::holds_alternative<cost_limit>(limit.kind)) value = std::ceil(value);
  return limit.name == limit_name(total_kind::ms) ? std::max(value, shortest_max_ms) : value;
}

}  // namespace

void extent_reader::raise(std::string_view limit, double value) {
  double& reached = extent_[limit];
  reached = std::max(reached, value);
}

// One message of the trace.
struct extent_reader::recorder {
  extent_reader& to;
  const json::object& message;

  void add(total_kind total, double value) { to.extent_[limit_name(total)] += value; }

  void usage() {
    const json::value* found = message.if_contains("usage");
    const json::object* used = found == nullptr ? nullptr : found->if_object();
    if (used == nullptr) return;
    add(total_kind::tokens, number_in(*used, "input_tokens") + number_in(*used, "output_tokens"));
    add(total_kind::cost, number_in(*used, "cost"));
    add(total_kind::model_calls, number_in(*used, "model_calls"));
    add(total_kind::tool_calls, number_in(*used, "tool_calls"));
  }

  void started() {
    add(total_kind::activations, 1);
    if (to.activations_.size() >= max_names) return;
    to.activations_[text_in(message, "activation")] = {text_in(message, "agent"), texts_in(message, "inputs")};
  }

  void output(const json::object& event, activation& source) {
    source.has_output = true;
    std::uint32_t depth = 0;
    for (const std::string& input : source.inputs) {
      const auto known = to.depth_.find(input);
      depth = std::max(depth, 1 + (known == to.depth_.end() ? 0 : known->second));
    }
    if (to.depth_.size() < max_names) to.depth_[text_in(event, "id")] = depth;
    const std::size_t hash = repetition_hash(event);
    std::deque<std::size_t>& recent = to.recent_outputs_[source.agent];
    recent.push_back(hash);
    if (recent.size() > repetition_window) recent.pop_front();
    if (flag_in(event, "submit")) return;
    if (hash != 0) {
      to.raise("max_repeats", static_cast<double>(std::count(recent.begin(), recent.end(), hash)));
    }
    if (flag_in(event, "fyi")) return;
    to.raise("max_depth", depth);
    to.raise("max_outputs", static_cast<double>(++source.outputs));
  }

  void event() {
    const json::value* found = message.if_contains("event");
    const json::object* event = found == nullptr ? nullptr : found->if_object();
    if (event == nullptr) return;
    const auto source = to.activations_.find(text_in(*event, "source"));
    if (source != to.activations_.end()) return output(*event, source->second);
    if (to.depth_.size() < max_names) to.depth_[text_in(*event, "id")] = 0;
  }

  // The first output fixes what all are derived from: all inputs of an open activation, else those it consumed.
  void keep_consumed(activation& ended) {
    const json::value* found = message.if_contains("reactions");
    const json::object* reactions = found == nullptr ? nullptr : found->if_object();
    if (reactions == nullptr || ended.has_output) return;
    std::erase_if(ended.inputs, [reactions](const std::string& input) {
      const json::value* reaction = reactions->if_contains(input);
      return reaction != nullptr && !(reaction->is_string() && reaction->get_string() == "consume");
    });
  }

  void ended() {
    const auto found = to.activations_.find(text_in(message, "activation"));
    const json::array* outputs = list_in(message, "outputs");
    if (found == to.activations_.end() || outputs == nullptr) return;
    keep_consumed(found->second);
    for (const json::value& value : *outputs) {
      if (value.is_object()) output(value.get_object(), found->second);
    }
  }

  void time() {
    const json::value* ts = message.if_contains("ts");
    if (ts == nullptr || !ts->is_int64()) return;
    if (!std::exchange(to.has_first_ts_, true)) to.first_ts_ = ts->get_int64();
    to.raise(limit_name(total_kind::ms), static_cast<double>(ts->get_int64() - to.first_ts_));
  }
};

void extent_reader::take(std::string_view line) {
  boost::system::error_code ec;
  const json::value parsed = parse_json(line, ec);
  const json::object* message = ec ? nullptr : parsed.if_object();
  if (message == nullptr) return;
  recorder record{*this, *message};
  const std::string type = text_in(*message, "type");
  if (type == "hello" || type == "refused") return;
  record.time();
  record.usage();
  if (type == "activation_started") record.started();
  if (type == "event") record.event();
  if (type == "activation_ended") record.ended();
}

std::vector<limit_suggestion> suggest_limits(const std::vector<run_extent>& runs, double percentile, double margin) {
  std::vector<limit_suggestion> out;
  if (runs.empty()) return out;
  std::vector<double> reached(runs.size());
  for (const rule* guard : guards()) {
    for (const guard_option& limit : guard->options()) {
      std::transform(runs.begin(), runs.end(), reached.begin(),
                     [&limit](const run_extent& run) { return value_of(run, limit.name); });
      std::sort(reached.begin(), reached.end());
      if (reached.back() <= 0) continue;
      const double value = suggested_value(limit, reached, percentile, margin);
      out.push_back({.guard = guard->id,
                     .limit = &limit,
                     .value = value,
                     .greatest = reached.back(),
                     .stopped = static_cast<std::size_t>(
                         std::count_if(reached.begin(), reached.end(), [value](double n) { return n > value; }))});
    }
  }
  return out;
}

}  // namespace digd::stored
