#include "analysis/chief/trace_log.h"

#include <boost/json.hpp>
#include <map>
#include <optional>

namespace digd::chief {

namespace {

namespace json = boost::json;

const json::value* member(const json::object& o, std::string_view key) { return o.if_contains(key); }

std::string text_member(const json::object& o, std::string_view key) {
  const json::value* v = member(o, key);
  return v && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::vector<std::string> texts(const json::object& o, std::string_view key) {
  std::vector<std::string> out;
  const json::value* v = member(o, key);
  if (!v || !v->is_array()) return out;
  for (const json::value& one : v->get_array()) {
    if (one.is_string()) out.emplace_back(one.get_string());
  }
  return out;
}

std::string text_of(const json::object& event) {
  const json::value* payload = member(event, "payload");
  if (!payload || payload->is_null()) return {};
  if (payload->is_string()) return std::string(payload->get_string());
  if (payload->is_object()) {
    for (const char* key : {"text", "content"}) {
      if (std::string text = text_member(payload->get_object(), key); !text.empty()) return text;
    }
  }
  return json::serialize(*payload);
}

class trace_reader {
 public:
  explicit trace_reader(flat_log& log) : log_(log) {}

  std::string line(const json::object& message) {
    const std::string type = text_member(message, "type");
    if (type == "hello") {
      log_.id = text_member(message, "run");
    } else if (type == "event") {
      const json::value* event = member(message, "event");
      if (!event || !event->is_object()) return "event: expected an object";
      root(event->get_object());
    } else if (type == "activation_started") {
      activation& a = activations_[text_member(message, "activation")];
      a.agent = text_member(message, "agent");
      a.inputs = texts(message, "inputs");
    } else if (type == "activation_ended") {
      ended(message);
    }
    return log_.steps.size() > max_steps ? "too many steps" : "";
  }

 private:
  struct activation {
    std::string agent;
    std::vector<std::string> inputs;
  };

  void root(const json::object& event) {
    const std::string text = text_of(event), kind = text_member(event, "kind");
    if (log_.question.empty()) log_.question = text;
    const std::string id = text_member(event, "id");
    if (id == "question") return;  // the importer's own: the log had it outside of its steps
    flat_step step;
    step.agent = "user";
    step.text = text;
    step.to = texts(event, "recipients");
    step.branch = 0;
    add(id, std::move(step));
  }

  void ended(const json::object& message) {
    const activation& a = activations_[text_member(message, "activation")];
    const json::value* reactions = member(message, "reactions");
    std::vector<std::size_t> used;
    for (const std::string& input : a.inputs) {
      const json::value* r = reactions && reactions->is_object() ? reactions->get_object().if_contains(input) : nullptr;
      if (r && r->is_string() && (r->get_string() == "discard" || r->get_string() == "wait")) continue;
      if (const auto at = step_of_.find(input); at != step_of_.end()) used.push_back(at->second);
    }
    const json::value* outputs = member(message, "outputs");
    if (!outputs || !outputs->is_array()) return;
    std::size_t branch = 0;
    for (std::size_t input : used) branch = std::max(branch, log_.steps[input].branch);
    const bool generates = outputs->get_array().size() > std::max<std::size_t>(used.size(), 1);
    for (const json::value& one : outputs->get_array()) {
      if (one.is_object()) output(one.get_object(), a, used, generates ? ++branches_ : branch);
    }
    log_.has_dig = log_.has_dig || generates;
  }

  void output(const json::object& event, const activation& a, const std::vector<std::size_t>& used, std::size_t branch) {
    flat_step step;
    step.agent = a.agent;
    step.text = text_of(event);
    const std::string kind = text_member(event, "kind");
    step.thought = kind == "thought";
    if (kind == "termination") step.form = step_form::ending;
    // Where everybody follows everybody, the importer inferred who was addressed; only what was stated counts.
    bool inferred = false;
    for (const std::string& what : texts(event, "inferred")) inferred = inferred || what == "recipients";
    if (!inferred) step.to = texts(event, "recipients");
    step.inputs = used;
    step.branch = branch;
    add(text_member(event, "id"), std::move(step));
  }

  void add(const std::string& id, flat_step step) {
    step_of_[id] = log_.steps.size();
    log_.steps.push_back(std::move(step));
  }

  flat_log& log_;
  std::map<std::string, activation> activations_;
  std::map<std::string, std::size_t> step_of_;
  std::size_t branches_ = 0;
};

}  // namespace

bool read_trace(std::string_view lines, flat_log& into, std::string& why) {
  if (lines.size() > (256u << 20)) {
    why = "larger than 256 MiB";
    return false;
  }
  trace_reader reader(into);
  std::size_t number = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    boost::system::error_code failed;
    const json::value message = json::parse({line.data(), line.size()}, failed);
    if (failed || !message.is_object()) {
      why = "line " + std::to_string(number) + ": expected a JSON object";
      return false;
    }
    if (const std::string problem = reader.line(message.get_object()); !problem.empty()) {
      why = "line " + std::to_string(number) + ": " + problem;
      return false;
    }
  }
  if (into.steps.empty()) {
    why = "no event in it";
    return false;
  }
  recognise_forms(into);
  return true;
}

}  // namespace digd::chief
