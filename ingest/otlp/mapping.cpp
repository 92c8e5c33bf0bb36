#include "ingest/otlp/mapping.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ingest/otlp/timeline.h"
#include "ingest/otlp/turns.h"
#include "ingest/otlp/usage.h"
#include "ingest/trace/trace_writer.h"
#include "model/rule_id.h"

namespace digd::otlp {

namespace json = boost::json;
using importers::name_table;
using names = std::vector<std::string_view>;

namespace {

constexpr std::size_t max_text_bytes = 64 * 1024;  // of one event, as written

void mark(json::object& in, const names& inferred) {
  if (!inferred.empty()) in["inferred"] = importers::string_array(inferred);
}

class message_builder {
 public:
  message_builder(const run_of_turns& run, const timeline& plan)
      : run_(run), plan_(plan), agents_(name_table::kind::agent) {
    for (const act& each : plan.acts) {
      if (each.turn == none) continue;
      const act*& last = last_act_[each.turn];
      if (last == nullptr || last->start_ns <= each.start_ns) last = &each;
    }
  }

  mapped_run build() {
    for (const act_event& root : plan_.roots) add_event(root, nullptr);
    for (const act& act : plan_.acts) {
      add_start(act);
      json::array at_end;
      for (const act_event& made : act.outputs) {
        if (act.ends && made.at_ns == act.end_ns) {
          at_end.push_back(event_object(made, act.outputs.size()));
        } else {
          add_event(made, &act);
        }
      }
      if (act.ends) add_end(act, std::move(at_end));
    }
    put_in_order();
    out_.counts.reordered = plan_.moved;
    out_.counts.agents = acting_.size();
    out_.counts.renamed = agents_.renamed();
    return std::move(out_);
  }

 private:
  // At one time: events, then ends, then starts.
  enum class rank : std::uint8_t { root, event, end, start };
  struct moment {
    std::int64_t at_ns;
    rank order;
    std::size_t message;
  };

  void add(std::string_view type, std::int64_t at_ns, rank order, json::object members) {
    order_.push_back({at_ns, order, out_.messages.size()});
    out_.messages.push_back({type, at_ns / ns_a_ms, std::move(members)});
  }

  void put_in_order() {
    std::sort(order_.begin(), order_.end(), [](const moment& a, const moment& b) {
      return std::tie(a.at_ns, a.order, a.message) < std::tie(b.at_ns, b.order, b.message);
    });
    std::vector<run_message> sorted;
    sorted.reserve(order_.size());
    for (const moment& moment : order_) sorted.push_back(std::move(out_.messages[moment.message]));
    out_.messages = std::move(sorted);
  }

  std::string_view agent(const std::string& name) { return agents_.safe(name); }

  void add_event(const act_event& made, const act* within) {
    json::object members{{"as_is", true}};
    json::object event = event_object(made, 1);
    if (within != nullptr) event["source"] = within->id;
    members["event"] = std::move(event);
    add("event", made.at_ns, within == nullptr ? rank::root : rank::event, std::move(members));
    ++out_.counts.times.stated;
  }

  json::object event_object(const act_event& made, std::size_t beside) {
    names to, inferred;
    for (const std::string& text : made.recipients) to.push_back(agent(text));
    json::object out{{"id", made.id}, {"recipients", importers::string_array(to)}};
    auto& counted = out_.counts.recipients;
    (made.recipients_stated ? counted.stated : counted.inferred) += to.size();
    if (!made.recipients_stated && !made.fyi && !made.submit) inferred.push_back("recipients");
    if (made.submit) out["submit"] = true, inferred.push_back("submit"), ++out_.counts.submits.inferred;
    if (made.fyi) out["fyi"] = true, inferred.push_back("fyi");
    if (made.from_start) inferred.push_back("source"), ++out_.counts.sources.inferred;
    mark(out, inferred);
    ++out_.counts.events;
    if (made.from != none) ++out_.counts.sources.stated;
    if (json::value text = text_of(made, beside); !text.is_null()) out["payload"] = std::move(text);
    return out;
  }

  static std::optional<std::string> raw_text_of(const act_event& made) {
    if (made.by == nullptr) return std::nullopt;
    if (made.carries_error) return made.by->error.empty() ? std::nullopt : std::optional(made.by->error);
    const dialect* in = dialect_of(*made.by);
    return in == nullptr ? std::nullopt : first_of(*made.by, made.carries_input ? in->input : in->output);
  }

  json::value text_of(const act_event& made, std::size_t beside) {
    auto text = raw_text_of(made);
    if (!text) return nullptr;
    const std::size_t whole = text->size();
    const bool cut = importers::cut_to_fit(*text, std::min(max_text_bytes, importers::max_payload_bytes / beside));
    json::object out;
    if (cut) out["cut_from_bytes"] = whole, ++out_.counts.cut_payloads;
    out[made.carries_error ? "error" : "text"] = *text;
    return out;
  }

  void add_start(const act& act) {
    names inputs, inferred;
    bool all_stated = true;
    for (const act_input& input : act.inputs) {
      inputs.push_back(input.event);
      all_stated = all_stated && input.stated;
      ++(input.stated ? out_.counts.inputs.stated : out_.counts.inputs.inferred);
    }
    if (act.inferred) inferred.push_back("activation");
    if (act.turn == none) inferred.push_back("agent");
    if (!all_stated) inferred.push_back("inputs");
    if (act.start_moved) inferred.push_back("ts");
    const std::string_view name = act.turn == none ? agents_.safe(start_agent) : agent(run_.turns[act.turn].agent);
    acting_.insert(name);
    json::object members{{"activation", act.id},
                         {"agent", json::string_view(name.data(), name.size())},
                         {"inputs", importers::string_array(inputs)}};
    mark(members, inferred);
    add("activation_started", act.start_ns, rank::start, std::move(members));
    ++out_.counts.activations;
    ++(act.start_moved || act.inferred ? out_.counts.times.inferred : out_.counts.times.stated);
  }

  void add_end(const act& act, json::array outputs) {
    const turn* t = act.turn == none ? nullptr : &run_.turns[act.turn];
    names inferred;
    json::object members{{"activation", act.id}};
    if (act.end_moved) inferred.push_back("ts");
    if (act.failed) {
      members["failed"] = true;
      std::string error = t->of->error;
      importers::cut_to_fit(error, importers::max_name_bytes);
      if (!error.empty()) members["error"] = error;
    } else {
      json::object reactions;
      for (const act_input& input : act.inputs) reactions[input.event] = "consume";
      out_.counts.reactions.inferred += act.inputs.size();
      if (!act.inputs.empty()) inferred.push_back("reactions");
      if (!outputs.empty()) members["as_is"] = true;
      members["reactions"] = std::move(reactions);
      members["outputs"] = std::move(outputs);
    }
    if (t != nullptr && t->models.size() + t->tools.size() > 0) {
      members["spans"] = {{"model", t->models.size()}, {"tool", t->tools.size()}};
      if (json::object used = usage_until_end_of(act, *t); !used.empty()) members["usage"] = std::move(used);
    }
    mark(members, inferred);
    add("activation_ended", act.end_ns, rank::end, std::move(members));
    ++(t == nullptr || act.end_moved || act.end_ns != t->end_ns ? out_.counts.times.inferred
                                                                : out_.counts.times.stated);
  }

  // The usage of the turn since its previous activation. The last activation gets the remainder, so that each call
  // counts once.
  json::object usage_until_end_of(const act& act, const turn& t) {
    std::set<const span*>& counted = counted_[act.turn];
    const bool is_last = last_act_[act.turn] == &act;
    std::vector<const span*> models;
    std::size_t tools = 0;
    for (const span* s : t.models) {
      if ((is_last || s->end_ns <= act.end_ns) && counted.insert(s).second) models.push_back(s);
    }
    for (const span* s : t.tools) {
      tools += (is_last || s->end_ns <= act.end_ns) && counted.insert(s).second ? 1 : 0;
    }
    return usage_of(models, tools);
  }

  const run_of_turns& run_;
  const timeline& plan_;
  std::map<std::size_t, std::set<const span*>> counted_;  // by turn
  std::map<std::size_t, const act*> last_act_;            // by turn
  name_table agents_;
  boost::unordered_flat_set<std::string_view> acting_;
  std::vector<moment> order_;
  mapped_run out_;
};

void label(const run_of_turns& run, mapped_run& out) {
  const turn& first = run.turns.front();
  const auto put = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) out.labels[key] = importers::shortened(value, importers::max_name_bytes);
  };
  put("source", "otlp");
  put("dialect", std::string(first.in->name) + ' ' + std::string(first.in->version));
  put("service", first.of->from ? first.of->from->service : std::string());
  put("trace", first.of->trace);
  put("conversation", text_of(*first.of, first.in->conversation).value_or(""));
}

// If spans of a run are missing, it is unknown whether it failed: its root may belong to a system that exports
// elsewhere.
std::string_view outcome_of(const run_of_turns& run, const timeline& plan) {
  if (plan.answered) return "success";
  if (run.root_cancelled) return "aborted";
  return run.root_failed || run.whole ? "failure" : "aborted";
}

}  // namespace

mapped_run map_spans(std::span<const span> spans, span_set known) {
  const run_of_turns run = find_turns(spans);
  if (run.turns.empty()) return {.whole = run.whole};
  const timeline plan = lay_out(run, known == span_set::complete);
  mapped_run out = message_builder(run, plan).build();
  out.whole = run.whole;
  out.outcome = outcome_of(run, plan);
  label(run, out);
  return out;
}

json::object rules_for_spans() {
  constexpr std::int64_t no_window_ms = 365LL * 24 * 60 * 60 * 1000;
  const json::object at_the_end{{"window_ms", no_window_ms}};
  json::object rules;
  for (const rule_id rule : run_window_rules) rules.emplace(to_string(rule), at_the_end);
  for (const rule_id rule : event_window_rules) rules.emplace(to_string(rule), at_the_end);
  return rules;
}

}  // namespace digd::otlp
