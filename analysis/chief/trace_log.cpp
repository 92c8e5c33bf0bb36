#include "analysis/chief/trace_log.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>

#include "base/deep_json.h"

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
  for (const json::value& value : v->get_array()) {
    if (value.is_string()) out.emplace_back(value.get_string());
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

// The last event of an imported log, written by the runner.
bool is_ending(const json::object& event) {
  const json::value* payload = member(event, "payload");
  return payload && payload->is_object() &&
         text_member(payload->get_object(), "role").ends_with("(termination condition)");
}

// Leaves out messages that digd would refuse (a second use of an id, an activation that was never started).
class trace_reader {
 public:
  explicit trace_reader(flat_log& log) : log_(log) {}

  // False if the message is left out.
  bool message(const json::object& m) {
    const std::string type = text_member(m, "type");
    if (type == "event") return event(m);
    if (type == "activation_started") return started(m);
    if (type == "activation_ended") return ended(m);
    if (type == "run_ended") log_.outcome = text_member(m, "outcome");
    if (type == "hello" && log_.id.empty()) log_.id = text_member(m, "run");
    return true;
  }

 private:
  struct activation {
    std::string agent;
    std::size_t number = 0;  // among those of the agent, from 1
    std::vector<std::string> inputs;
    std::optional<std::vector<std::size_t>> used;  // steps; fixed at the first output
    std::size_t outputs = 0;
    bool open = true;
  };

  bool event(const json::object& m) {
    const json::value* event = member(m, "event");
    if (!event || !event->is_object()) return false;
    const std::string source = text_member(event->get_object(), "source");
    if (source.empty()) return root(event->get_object());
    const auto a = activations_.find(source);
    if (a == activations_.end() || !a->second.open) return false;
    fix_inputs(a->second, nullptr);
    ++a->second.outputs;
    return output(event->get_object(), a->second);
  }

  bool root(const json::object& event) {
    std::string id = text_member(event, "id");
    if (id.empty() || step_of_.contains(id)) return false;
    flat_step step;
    step.agent = "user";
    step.text = text_of(event);
    step.to = texts(event, "recipients");
    if (log_.question.empty()) log_.question = step.text;
    if (id == "question") return true;  // the importer added it: the log had the question outside its steps
    add(std::move(id), std::move(step));
    return true;
  }

  bool started(const json::object& m) {
    const auto [a, fresh] = activations_.try_emplace(text_member(m, "activation"));
    if (!fresh) return false;
    a->second.agent = text_member(m, "agent");
    a->second.number = ++activations_of_[a->second.agent];
    a->second.inputs = texts(m, "inputs");
    return true;
  }

  bool ended(const json::object& m) {
    const auto at = activations_.find(text_member(m, "activation"));
    if (at == activations_.end() || !at->second.open) return false;
    activation& a = at->second;
    a.open = false;
    const json::value* reactions = member(m, "reactions");
    fix_inputs(a, reactions ? reactions->if_object() : nullptr);
    const json::value* failed = member(m, "failed");
    if (failed && failed->is_bool() && failed->get_bool()) return failure(m, a);
    const json::value* outputs = member(m, "outputs");
    if (!outputs || !outputs->is_array()) return true;
    a.outputs += outputs->get_array().size();
    for (const json::value& value : outputs->get_array()) {
      if (value.is_object()) output(value.get_object(), a);
    }
    return true;
  }

  // An open activation uses all its inputs; an ended one those that it consumed.
  void fix_inputs(activation& a, const json::object* reactions) {
    if (a.used) return;
    a.used.emplace();
    for (const std::string& input : a.inputs) {
      const json::value* reaction = reactions ? reactions->if_contains(input) : nullptr;
      if (reaction && !(reaction->is_string() && reaction->get_string() == "consume")) continue;
      if (const auto step = step_of_.find(input); step != step_of_.end()) a.used->push_back(step->second);
    }
  }

  bool output(const json::object& event, const activation& a) {
    std::string id = text_member(event, "id");
    if (id.empty() || step_of_.contains(id)) return false;
    flat_step step;
    step.agent = a.agent;
    step.text = text_of(event);
    const std::string kind = text_member(event, "kind");
    step.thought = kind == "thought";
    if (is_ending(event)) step.form = step_form::ending;
    // In a conversation of all with all the importer inferred the recipients; only stated ones count.
    bool inferred = false;
    for (const std::string& text : texts(event, "inferred")) inferred = inferred || text == "recipients";
    if (!inferred) step.to = texts(event, "recipients");
    place(step, a);
    add(std::move(id), std::move(step));
    return true;
  }

  // A failed activation is a step without an event: its output is missing.
  bool failure(const json::object& m, const activation& a) {
    const std::string error = text_member(m, "error");
    flat_step step;
    step.agent = a.agent;
    step.text = "failed: " + (error.empty() ? "the activation gave no reason" : error);
    place(step, a);
    add({}, std::move(step));
    return true;
  }

  void place(flat_step& step, const activation& a) {
    step.activation_number = a.number;
    step.inputs = *a.used;
    for (const std::size_t input : step.inputs) step.branch = std::max(step.branch, log_.steps[input].branch);
    if (a.outputs <= a.inputs.size()) return;  // problem-reducing
    step.branch = ++branches_;
    log_.has_dig = true;
  }

  void add(std::string id, flat_step step) {
    if (!id.empty()) step_of_[id] = log_.steps.size();
    step.event = std::move(id);
    log_.steps.push_back(std::move(step));
  }

  flat_log& log_;
  std::map<std::string, activation> activations_;
  std::map<std::string, std::size_t> activations_of_;  // by agent
  std::map<std::string, std::size_t> step_of_;         // event to step
  std::size_t branches_ = 0;
};

}  // namespace

bool read_trace(std::string_view lines, flat_log& into, std::string& problem) {
  if (lines.size() > max_trace_bytes) {
    problem = "larger than 256 MiB";
    return false;
  }
  trace_reader reader(into);
  bool begun = false;
  for (std::size_t at = 0, end = 0; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    boost::system::error_code failed;
    const json::value message = parse_json(line, failed);
    const json::object* o = failed ? nullptr : message.if_object();
    if (!begun && (!o || text_member(*o, "type") != "hello")) {
      problem = "neither a Who&When log (a JSON object with a history) nor a trace (whose first line is a hello)";
      return false;
    }
    begun = true;
    if (!o || !reader.message(*o)) ++into.left_out;
    if (into.steps.size() > max_steps) {
      problem = "more than " + std::to_string(max_steps) + " steps";
      return false;
    }
  }
  if (into.steps.empty()) {
    problem = "no event in it";
    return false;
  }
  recognise_forms(into);
  return true;
}

}  // namespace digd::chief
