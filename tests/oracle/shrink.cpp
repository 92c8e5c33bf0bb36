#include "shrink.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <set>

namespace oracle {

namespace json = boost::json;

namespace {

using lines = std::vector<std::string>;

std::optional<json::object> object_of(const std::string& line) {
  json::error_code failed;
  json::value parsed = json::parse(line, failed);
  if (failed || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.as_object());
}

std::string text_in(const json::object& from, const char* name, const char* fallback) {
  const json::value* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : fallback;
}

bool is_hello(const json::object& line) { return text_in(line, "type", "") == "hello"; }

// The session of a line, and how far its seq is ahead of the expected one: 0 is in order, none is unusable. Keeping
// this distance, a repeated or too high seq stays repeated or too high when earlier lines are removed.
struct place {
  std::string session_;
  std::optional<std::int64_t> ahead_;
  bool hello_ = false;
};

std::vector<place> places_of(const lines& trace) {
  std::map<std::string, std::int64_t> expected;
  std::vector<place> places;
  for (const std::string& line : trace) {
    const std::optional<json::object> object = object_of(line);
    place p{object ? text_in(*object, "session", "main") : "main", std::nullopt, object && is_hello(*object)};
    if (!p.hello_) {
      std::int64_t& next = expected.try_emplace(p.session_, 1).first->second;
      const json::value* seq = object ? object->if_contains("seq") : nullptr;
      if (seq != nullptr && seq->is_int64() && seq->as_int64() >= 1) p.ahead_ = seq->as_int64() - next;
      if (!p.ahead_ || *p.ahead_ == 0) ++next;
    }
    places.push_back(std::move(p));
  }
  return places;
}

lines without(const lines& trace, std::size_t from, std::size_t count, bool renumber) {
  const std::vector<place> places = places_of(trace);
  std::map<std::string, std::int64_t> expected;
  lines rest;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (i >= from && i < from + count) continue;
    rest.push_back(trace[i]);
    const place& p = places[i];
    if (p.hello_) continue;
    std::int64_t& next = expected.try_emplace(p.session_, 1).first->second;
    if (p.ahead_ && renumber) {
      json::object object = *object_of(trace[i]);
      const std::int64_t seq = next + *p.ahead_;
      if (seq < 1) rest.pop_back();  // the repeated message is no longer in the trace
      else {
        object["seq"] = seq;
        rest.back() = json::serialize(object);
      }
    }
    if (!p.ahead_ || *p.ahead_ == 0) ++next;
  }
  return rest;
}

// The protocol does not describe lines of a session without a hello.
bool is_sound(const lines& trace) {
  if (trace.empty()) return false;
  std::set<std::string> greeted;
  bool first = true;
  for (const std::string& line : trace) {
    const std::optional<json::object> object = object_of(line);
    const std::string session = object ? text_in(*object, "session", "main") : "main";
    if (object && is_hello(*object)) greeted.insert(session);
    else if (first || greeted.count(session) == 0) return false;
    first = false;
  }
  return true;
}

class shrinker {
 public:
  shrinker(lines trace, const trace_predicate& fails, std::size_t max_tries)
      : trace_(std::move(trace)), fails_(fails), tries_left_(max_tries) {}

  lines run() {
    if (!fails_(trace_)) return trace_;
    std::size_t size_before = 0;
    do {
      size_before = weight();
      drop_lines();
      for (std::size_t i = 0; i < trace_.size(); ++i) simplify_line(i);
    } while (weight() < size_before && tries_left_ > 0);
    return trace_;
  }

 private:
  std::size_t weight() const {
    std::size_t sum = 0;
    for (const std::string& line : trace_) sum += line.size() + 1;
    return sum;
  }

  bool keep_if_it_fails(lines candidate) {
    if (tries_left_ == 0 || !is_sound(candidate)) return false;
    --tries_left_;
    if (!fails_(candidate)) return false;
    trace_ = std::move(candidate);
    return true;
  }

  void drop_lines() {
    for (std::size_t count = std::max<std::size_t>(trace_.size() / 2, 1); count > 0; count /= 2) {
      // From the end, because later lines depend on earlier ones.
      for (std::size_t end = trace_.size(); end > 1;) {
        const std::size_t from = end > count + 1 ? end - count : 1;
        if (!keep_if_it_fails(without(trace_, from, end - from, true)))
          keep_if_it_fails(without(trace_, from, end - from, false));
        end = std::min(from, trace_.size());
      }
    }
  }

  bool try_line(std::size_t i, const json::object& line) {
    lines candidate = trace_;
    candidate[i] = json::serialize(line);
    return candidate[i].size() < trace_[i].size() && keep_if_it_fails(std::move(candidate));
  }

  void simplify_line(std::size_t i) {
    static const std::set<std::string> needed{"type", "seq", "protocol", "run", "session", "clock"};
    if (!object_of(trace_[i])) return;
    // Tries to remove each member and element, and enters those that must stay.
    simplify_within(i, {}, needed);
  }

  // Returns the value in `line` at a path of keys and positions. Copies `line` to `root`, which owns the value.
  static json::value& at(json::object& line, const std::vector<std::string>& path, json::value& root) {
    root = line;
    json::value* here = &root;
    for (const std::string& part : path)
      here = here->is_object() ? &here->as_object()[part] : &here->as_array()[std::stoul(part)];
    return *here;
  }

  void simplify_within(std::size_t i, const std::vector<std::string>& path, const std::set<std::string>& needed) {
    json::object line = *object_of(trace_[i]);
    json::value root;
    const json::value here = at(line, path, root);
    std::vector<std::string> parts;
    if (here.is_object())
      for (const auto& member : here.as_object()) parts.emplace_back(member.key());
    else if (here.is_array())
      for (std::size_t n = here.as_array().size(); n > 0; --n)
        parts.push_back(std::to_string(n - 1));  // from the last, so that earlier positions stay valid
    for (const std::string& part : parts) {
      if (path.empty() && needed.count(part) != 0) continue;
      json::object shorter = *object_of(trace_[i]);
      json::value copy;
      json::value& container = at(shorter, path, copy);
      if (container.is_object()) container.as_object().erase(part);
      else container.as_array().erase(container.as_array().begin() + static_cast<std::ptrdiff_t>(std::stoul(part)));
      if (try_line(i, copy.as_object())) continue;
      std::vector<std::string> deeper = path;
      deeper.push_back(part);
      if (here.is_object() ? here.as_object().at(part).is_structured()
                           : here.as_array()[std::stoul(part)].is_structured())
        simplify_within(i, deeper, needed);
    }
  }

  lines trace_;
  const trace_predicate& fails_;
  std::size_t tries_left_;
};

}  // namespace

std::vector<std::string> shrink(const std::vector<std::string>& trace, const trace_predicate& fails,
                                std::size_t max_tries) {
  return shrinker(trace, fails, max_tries).run();
}

}  // namespace oracle
