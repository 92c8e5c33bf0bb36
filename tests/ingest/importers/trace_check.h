// Reads an importer's lines back and looks for what the engine would refuse. It shares no code with the engine on
// purpose: an error here and one in the engine would have to agree to go unseen.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace importer_tests {
namespace json = boost::json;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream streams;
  streams << in.rdbuf();
  return streams.str();
}

// From the data beside the tests of the importers.
inline std::string fixture(const char* name) {
  return read_file(std::filesystem::path(DIGD_SOURCE_DIR) / "tests/ingest/importers/data" / name);
}

inline std::string text(const json::value& value) { return std::string(value.as_string().c_str()); }

inline std::vector<std::string> texts(const json::value& values) {
  std::vector<std::string> out;
  for (const auto& each : values.as_array()) out.push_back(text(each));
  return out;
}

inline std::vector<json::object> parsed(const std::vector<std::string>& lines) {
  std::vector<json::object> out;
  json::parse_options options;
  options.max_depth = 200;
  for (const auto& line : lines) out.push_back(json::parse(line, {}, options).as_object());
  return out;
}

class trace_checker {
 public:
  // What is wrong with the trace; empty: nothing.
  std::string check(const std::vector<std::string>& lines) {
    if (lines.empty()) return "no hello";
    for (const auto& line : lines) {
      if (line.size() > (1u << 20)) return "a message over 1 MiB";
      if (line.find('\n') != std::string::npos) return "a line break in a line";
    }
    const auto messages = parsed(lines);
    if (text(messages[0].at("type")) != "hello" || text(messages[0].at("clock")) != "trace") return "no trace hello";
    for (const auto& name : texts(messages[0].at("agents"))) use_name(name);
    for (std::size_t i = 1; i < messages.size() && wrong_.empty(); ++i) apply(messages[i], i);
    return wrong_;
  }

 private:
  void fail(const std::string& text) {
    if (wrong_.empty()) wrong_ = "message " + std::to_string(seq_) + ": " + text;
  }
  void use_name(const std::string& name) {
    if (name.empty() || name.size() > 256) fail("a name of " + std::to_string(name.size()) + " bytes");
  }
  void use_id(const std::string& id) {
    use_name(id);
    if (id.starts_with("sys:")) fail("reserved_id");
  }

  void apply(const json::object& message, std::size_t expected_seq) {
    seq_ = expected_seq;
    if (message.at("seq").to_number<std::size_t>() != expected_seq) fail("bad_seq");
    const auto ts = message.at("ts").to_number<std::int64_t>();
    if (ts < now_) fail("time goes backwards");
    now_ = ts;
    if (ended_) fail("run_closed");
    const auto type = text(message.at("type"));
    if (type == "event") return event(message.at("event").as_object());
    if (type == "activation_started") return start(message);
    if (type == "activation_ended") return end(message);
    if (type == "run_ended") ended_ = true;
    if (type != "run_ended" && type != "time") fail("unknown type " + type);
  }

  void record(const json::object& event) {
    const auto id = text(event.at("id"));
    use_id(id);
    if (!events_.insert(id).second) fail("duplicate_event " + id);
    for (const auto& name : texts(event.at("recipients"))) use_name(name);
  }

  void event(const json::object& event) {
    const auto* source = event.if_contains("source");
    if (source && !open_.contains(text(*source))) fail("activation_closed or unknown");
    if (!source && event.contains("submit")) fail("submit_without_source");
    record(event);
  }

  void start(const json::object& message) {
    const auto id = text(message.at("activation"));
    use_id(id);
    use_name(text(message.at("agent")));
    if (!started_.insert(id).second) fail("duplicate_activation " + id);
    const auto inputs = texts(message.at("inputs"));
    for (const auto& input : inputs) use_id(input);
    open_[id] = {inputs.begin(), inputs.end()};
  }

  void end(const json::object& message) {
    const auto id = text(message.at("activation"));
    const auto open = open_.find(id);
    if (open == open_.end()) return fail("activation_closed or unknown " + id);
    const bool failed = message.contains("failed");
    if (failed && (message.contains("outputs") || message.contains("reactions"))) fail("failed_with_outputs");
    if (const auto* reactions = message.if_contains("reactions")) {
      for (const auto& reaction : reactions->as_object()) {
        if (!open->second.contains(std::string(reaction.key()))) fail("not_an_input");
      }
    }
    if (const auto* outputs = message.if_contains("outputs")) {
      for (const auto& output : outputs->as_array()) record(output.as_object());
    }
    open_.erase(open);
  }

  std::string wrong_;
  std::size_t seq_ = 0;
  std::int64_t now_ = 0;
  bool ended_ = false;
  std::set<std::string> events_;
  std::set<std::string> started_;
  std::map<std::string, std::set<std::string>> open_;
};

// One trace, looked into by ids.
class trace_view {
 public:
  explicit trace_view(const std::vector<std::string>& lines) : messages_(parsed(lines)) {
    for (const auto& message : messages_) {
      const auto type = text(message.at("type"));
      if (type == "event") keep(message.at("event").as_object());
      if (type == "activation_started") starts_[text(message.at("activation"))] = message;
      if (type != "activation_ended") continue;
      ends_[text(message.at("activation"))] = message;
      if (!message.contains("outputs")) continue;
      for (const auto& output : message.at("outputs").as_array()) keep(output.as_object());
    }
  }

  const std::vector<json::object>& messages() const { return messages_; }
  const json::object& hello() const { return messages_.front(); }
  const json::object& last() const { return messages_.back(); }
  const json::object& event(const std::string& id) const { return events_.at(id); }
  bool has_event(const std::string& id) const { return events_.contains(id); }
  std::size_t event_count() const { return events_.size(); }
  const json::object& start(const std::string& id) const { return starts_.at(id); }
  const json::object& end(const std::string& id) const { return ends_.at(id); }
  std::vector<std::string> recipients(const std::string& id) const { return texts(event(id).at("recipients")); }
  std::vector<std::string> inputs(const std::string& id) const { return texts(start(id).at("inputs")); }
  std::string reaction(const std::string& activation, const std::string& event) const {
    const auto& found = end(activation).at("reactions").as_object().at(event);
    return found.is_string() ? text(found) : "reroute";
  }
  bool flag(const std::string& id, const char* name) const { return event(id).contains(name); }
  bool infers(const std::string& id, const std::string& text) const { return lists(event(id), text); }
  static bool lists(const json::object& marked, const std::string& text) {
    const auto* values = marked.if_contains("inferred");
    if (!values) return false;
    for (const auto& each : texts(*values)) {
      if (each == text) return true;
    }
    return false;
  }

 private:
  void keep(const json::object& event) { events_[text(event.at("id"))] = event; }

  std::vector<json::object> messages_;
  std::map<std::string, json::object> events_;
  std::map<std::string, json::object> starts_;
  std::map<std::string, json::object> ends_;
};

// All ways to cut a text short and some thousand ways to damage a byte of it, the same on every machine.
template <typename Try>
void try_damaged(const std::string& whole, std::size_t flips, Try&& attempt) {
  const std::size_t step = whole.size() / 400 + 1;
  for (std::size_t size = 0; size < whole.size(); size += step) attempt(whole.substr(0, size));
  std::uint64_t state = 88172645463325252ULL;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  constexpr std::string_view bytes = "\"{}[]:,0a-\\ ntx\x80";
  for (std::size_t i = 0; i < flips; ++i) {
    auto damaged = whole;
    damaged[next() % damaged.size()] = bytes[next() % bytes.size()];
    attempt(damaged);
  }
}

}  // namespace importer_tests
