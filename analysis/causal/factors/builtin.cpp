#include "analysis/causal/factors/builtin.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "rules/rule.h"

namespace digd::causal {

double gini(std::vector<double> amounts) {
  std::sort(amounts.begin(), amounts.end());
  double weighted = 0, sum = 0;
  const auto n = static_cast<double>(amounts.size());
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    weighted += (2.0 * static_cast<double>(i + 1) - n - 1) * amounts[i];
    sum += amounts[i];
  }
  return sum > 0 ? weighted / (n * sum) : 0;
}

namespace {

double size_of(std::size_t n) { return static_cast<double>(n); }
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

double reaction_share(const run_facts& f, reaction counted) {
  double hits = 0, total = 0;
  for (const auto& a : f.activations) {
    for (reaction r : a.reactions) {
      total += r != reaction::none;
      hits += r == counted;
    }
  }
  return share(hits, total);
}

double fan_out(const run_facts& f) {
  double given = 0, events = 0;
  for (const auto& e : f.events) {
    if (e.work) given += size_of(e.recipients.size()), ++events;
  }
  return share(given, events);
}

double outputs(const run_facts& f) {
  double sum = 0;
  for (const auto& a : f.activations) sum += size_of(a.outputs);
  return share(sum, size_of(f.activations.size()));
}

double failed_share(const run_facts& f) {
  double failed = 0;
  for (const auto& a : f.activations) failed += a.failed;
  return share(failed, size_of(f.activations.size()));
}

double lineage_depth(const run_facts& f) {
  std::size_t deepest = 0;
  for (const auto& e : f.events) deepest = std::max(deepest, e.depth);
  return size_of(deepest);
}

double lineage_width(const run_facts& f) {
  std::vector<std::size_t> at_depth;
  for (const auto& e : f.events) {
    if (at_depth.size() <= e.depth) at_depth.resize(e.depth + 1, 0);
    ++at_depth[e.depth];
  }
  return at_depth.empty() ? 0 : size_of(*std::max_element(at_depth.begin(), at_depth.end()));
}

double overlap(const run_facts& f) {
  double several = 0, consumed = 0;
  for (const auto& e : f.events) {
    consumed += !e.consumers.empty();
    several += e.consumers.size() > 1;
  }
  return share(several, consumed);
}

std::vector<double> load(const run_facts& f) {
  std::vector<double> out(f.agents.size(), 0.0);
  for (const auto& a : f.activations) ++out[a.agent];
  return out;
}

double acting_agents(const run_facts& f) {
  const std::vector<double> l = load(f);
  return size_of(static_cast<std::size_t>(std::count_if(l.begin(), l.end(), [](double x) { return x > 0; })));
}

double time_to_first_consume(const run_facts& f) {
  double sum = 0, count = 0;
  for (const auto& e : f.events) {
    if (e.consumed_ms) sum += static_cast<double>(*e.consumed_ms - e.at_ms), ++count;
  }
  return share(sum, count);
}

double duration(const run_facts& f) { return static_cast<double>(f.last_ms - f.first_ms); }

double idle(const run_facts& f) {
  std::vector<std::pair<milliseconds, milliseconds>> busy;
  busy.reserve(f.activations.size());
  for (const auto& a : f.activations) busy.emplace_back(a.started_ms, a.ended_ms.value_or(f.last_ms));
  std::sort(busy.begin(), busy.end());
  milliseconds covered = 0, until = f.first_ms;
  for (const auto& [from, to] : busy) {
    if (to <= until) continue;
    covered += to - std::max(from, until);
    until = to;
  }
  return duration(f) - static_cast<double>(covered);
}

double fired_in_all(const run_facts& f) {
  double sum = 0;
  for (std::uint64_t n : f.fired) sum += static_cast<double>(n);
  return sum;
}

template <std::size_t rule>
double fired(const run_facts& f) {
  return static_cast<double>(f.fired[rule]);
}

// The order of columns influences which graphs are sampled, so these rules keep the order that tables had from the
// start. Other rules follow in the order of the catalog.
constexpr std::array column_order{
    rule_id::early_termination,   rule_id::missing_termination,       rule_id::orphaned_event,     rule_id::deadlock,
    rule_id::excessive_rerouting, rule_id::cross_lineage_aggregation, rule_id::repeated_subproblem};

// A factor fired_RULE for each rule of the catalog.
std::vector<builtin_factor> detection_factors() {
  const std::vector<builtin_factor> by_rule{
#define DIGD_RULE(name) \
  {"fired_" #name, "detections of this rule", rule_of(rule_id::name).doc.advice, true, fired<index_of(rule_id::name)>},
#include "model/rule_catalog.inc"
#undef DIGD_RULE
  };
  std::vector<builtin_factor> out;
  out.reserve(by_rule.size());
  for (const rule_id id : column_order) out.push_back(by_rule[index_of(id)]);
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    const auto id = static_cast<rule_id>(i);
    if (std::find(column_order.begin(), column_order.end(), id) == column_order.end()) out.push_back(by_rule[i]);
  }
  return out;
}

#define DIGD_COUNT(field) [](const run_facts& f) { return static_cast<double>(f.field); }

std::vector<builtin_factor> make_factors() {
  std::vector<builtin_factor> out{
      {"activations", "activations started", "merge steps that one agent could do at once", true,
       DIGD_COUNT(activations.size())},
      {"events", "events announced", "let agents send fewer messages, each once", true, DIGD_COUNT(events.size())},
      {"agents", "agents that acted", "use fewer, or other, agents for this task", false, acting_agents},
      {"fan_out", "recipients of a work event, mean", "send work to those who need it instead of to everybody", false,
       fan_out},
      {"outputs_per_activation", "outputs of an activation, mean", "ask agents to split work less", false, outputs},
      {"consume_ratio", "share of reactions that consume", "see why inputs are not used", false,
       [](const run_facts& f) { return reaction_share(f, reaction::consume); }},
      {"wait_ratio", "share of reactions that wait",
       "let agents work with what they have, or deliver missing inputs sooner", false,
       [](const run_facts& f) { return reaction_share(f, reaction::wait); }},
      {"discard_ratio", "share of reactions that discard", "say in the prompt what must not be dropped", false,
       [](const run_facts& f) { return reaction_share(f, reaction::discard); }},
      {"reroute_ratio", "share of reactions that reroute", "make clear who is responsible for what, or limit rerouting",
       false, [](const run_facts& f) { return reaction_share(f, reaction::reroute); }},
      {"failed_ratio", "share of activations that failed", "look into errors and timeouts of agents first", false,
       failed_share},
      {"lineage_depth", "longest chain of derivations", "shorten the chain of hand-overs", false, lineage_depth},
      {"lineage_width", "most events at one depth of derivation", "split the problem into fewer parts at once", false,
       lineage_width},
      {"overlap", "share of consumed events that more than one agent consumed",
       "keep agents from working on the same thing", false, overlap},
      {"load_gini", "how unevenly activations fall on agents (Gini)",
       "spread work more evenly, or drop agents that idle", false, [](const run_facts& f) { return gini(load(f)); }},
      {"time_to_first_consume_ms", "from an event to its first consumption, mean",
       "start agents sooner after their input arrives", false, time_to_first_consume},
      {"idle_ms", "time without an open activation", "look at what the system waits for between steps", true, idle},
      {"idle_ratio", "share of the time without an open activation", "look at what the system waits for between steps",
       false, [](const run_facts& f) { return share(idle(f), duration(f)); }},
      {"duration_ms", "from the first message to the last", "", true, duration},
      {"messages_per_agent", "messages by acting agent", "let agents send fewer messages, each once", true,
       [](const run_facts& f) { return share(static_cast<double>(f.messages), acting_agents(f)); }},
      {"injections", "verdicts that added a text", "", true, DIGD_COUNT(injections)},
      {"give_backs", "verdicts that sent an event elsewhere", "", true, DIGD_COUNT(reroute_verdicts)},
      {"interventions", "what digd did by itself", "", true, DIGD_COUNT(interventions)},
      {"healings_cleared", "healings after which the symptom cleared", "", true, DIGD_COUNT(cleared)},
      {"healings_recurred", "healings after which the symptom came back", "", true, DIGD_COUNT(recurred)},
      {"healings_unresolved", "healings after which the symptom stayed to the end", "", true, DIGD_COUNT(unresolved)},
      {"failures", "detections of severity failure", "read the detections: `digctl replay`", true,
       DIGD_COUNT(failures)},
      {"firings", "detections of all rules", "read the detections: `digctl replay`", true, fired_in_all},
      {"gaps", "times the client lost observations", "see why the client falls behind", true, DIGD_COUNT(gaps)},
      {"refused", "messages refused", "see the archive for why messages are refused", true, DIGD_COUNT(refused)}};
  for (const builtin_factor& factor : detection_factors()) out.push_back(factor);
  const std::vector<builtin_factor> of_guards{
      {"tokens", "input and output tokens that clients report", "set `max_tokens` of the guard budget", true,
       DIGD_COUNT(tokens)},
      {"cost", "what clients report, or [prices] say, that calls cost", "set `max_cost` of the guard budget", true,
       [](const run_facts& f) { return static_cast<double>(f.cost) / 1e6; }},
      {"model_calls", "calls of language models", "set `max_model_calls` of the guard budget", true,
       DIGD_COUNT(model_calls)},
      {"tool_calls", "calls of tools", "set `max_tool_calls` of the guard budget", true, DIGD_COUNT(tool_calls)},
      {"holds", "events that waited for a person", "see which guard holds events", true, DIGD_COUNT(holds)},
      {"decisions", "decisions of people about held events", "", true, DIGD_COUNT(decisions)},
#define DIGD_RULE(name)                                                                    \
  {"fired_" #name, "firings of the guard " #name, rule_of(rule_id::name).doc.advice, true, \
   fired<index_of(rule_id::name)>},
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE
  };
#undef DIGD_COUNT
  out.insert(out.end(), of_guards.begin(), of_guards.end());
  return out;
}

}  // namespace

const std::vector<builtin_factor>& builtin_factors() {
  static const std::vector<builtin_factor> builtin_factors = make_factors();
  return builtin_factors;
}

const builtin_factor* find_builtin(std::string_view name) {
  for (const builtin_factor& f : builtin_factors()) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

namespace {

std::string_view without_rate(std::string_view name) {
  const std::string_view by = "_per_activation";
  return name.ends_with(by) && find_builtin(name) == nullptr ? name.substr(0, name.size() - by.size()) : name;
}

bool is_of_detections(std::string_view name) {
  return name == "failures" || name == "firings" || name.starts_with("fired_");
}

bool is_of_healing(std::string_view name) {
  return name == "injections" || name == "give_backs" || name == "interventions" || name.starts_with("healings_");
}

}  // namespace

std::string_view advice_for(std::string_view name) {
  const builtin_factor* f = find_builtin(without_rate(name));
  return f ? f->advice : std::string_view{};
}

bool is_bound_by_definition(std::string_view outcome, std::string_view factor) {
  outcome = without_rate(outcome);
  factor = without_rate(factor);
  const bool both_rules =
      outcome.starts_with("fired_") && factor.starts_with("fired_");  // one rule may lead to another
  if (is_of_detections(outcome)) return (is_of_detections(factor) && !both_rules) || is_of_healing(factor);
  if (is_of_healing(outcome)) return is_of_detections(factor) || is_of_healing(factor);
  if (outcome == "duration_ms") return factor == "idle_ms";
  if (outcome == "idle_ms" || outcome == "idle_ratio") return factor == "idle_ms" || factor == "idle_ratio";
  if (outcome == "messages_per_agent") return factor == "activations" || factor == "events" || factor == "agents";
  return false;
}

}  // namespace digd::causal
