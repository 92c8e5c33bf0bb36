#include "report/usage.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/json_writer.h"
#include "ingest/protocol/encode.h"
#include "model/usage_json.h"
#include "rules/rule.h"

namespace digd::report {

namespace {

void add_to(bin_values& bins, std::size_t bin, std::uint64_t amount) {
  if (amount == 0) return;
  if (bins.size() <= bin) bins.resize(bin + 1);
  bins[bin] += amount;
}

void raise(bin_values& bins, std::size_t bin, std::uint64_t value) {
  if (value == 0) return;
  if (bins.size() <= bin) bins.resize(bin + 1);
  bins[bin] = std::max(bins[bin], value);
}

template <class Merge>
void merge_neighbours(bin_values& bins, int times, Merge merge) {
  for (; times > 0; --times) {
    const std::size_t merged = (bins.size() + 1) / 2;
    for (std::size_t i = 0; i < merged; ++i) {
      bins[i] = 2 * i + 1 < bins.size() ? merge(bins[2 * i], bins[2 * i + 1]) : bins[2 * i];
    }
    bins.resize(merged);
  }
}

std::uint64_t tokens_of(const usage_amounts& used) { return used.input_tokens + used.output_tokens; }

}  // namespace

// ---- observing

void usage_observer::hear(const ingest::record& of, const message* accepted, const run& run, const time_bins& time) {
  for (const verdict& v : of.answer.verdicts) facts_.holds += v.action == action::hold;
  for (const intervention& v : of.answer.interventions) {
    if (!number_in(v.id, "hold:")) continue;
    ++(v.action == action::release ? facts_.holds_released : facts_.holds_returned);
  }
  facts_.decisions += of.kind == ingest::record_kind::decision;
  if (accepted == nullptr) return;
  const std::size_t bin = time.of(of.ts);
  const graph::graph& g = run.graph();
  const std::uint64_t live = g.reachable().size();
  facts_.max_live = std::max(facts_.max_live, live);
  raise(facts_.live, bin, live);
  if (accepted->type == message_type::activation_started) add_activation(accepted->activation, g, bin);
  for (const event_draft& draft : accepted->events) announce(draft.id, g, bin);
  if (!accepted->usage) return;
  const std::string_view named = accepted->type == message_type::event
                                     ? accepted->events.front().source.value_or(std::string_view())
                                     : accepted->activation;
  const graph::activation_index v = g.find_activation(named);
  add_usage(v == graph::nobody ? graph::nobody : g.activation(v).agent, *accepted->usage, bin);
}

void usage_observer::add_usage(graph::agent_index agent, const usage_amounts& used, std::size_t bin) {
  facts_.is_reported = true;
  add_to(facts_.tokens, bin, tokens_of(used));
  add_to(facts_.cost, bin, used.cost);
  add_to(facts_.model_calls, bin, used.model_calls);
  add_to(facts_.tool_calls, bin, used.tool_calls);
  if (agent == graph::nobody) return;
  add_to(of_agent(agent).tokens, bin, tokens_of(used));
  add_to(of_agent(agent).cost, bin, used.cost);
}

// The engine counts activations only while a guard is on.
void usage_observer::add_activation(std::string_view activation, const graph::graph& g, std::size_t bin) {
  ++facts_.started;
  add_to(facts_.activations, bin, 1);
  const graph::activation_index v = g.find_activation(activation);
  if (v != graph::nobody) ++of_agent(g.activation(v).agent).activations;
}

agent_usage& usage_observer::of_agent(graph::agent_index agent) {
  if (agents_.size() <= agent) agents_.resize(std::size_t{agent} + 1);
  return agents_[agent];
}

void usage_observer::announce(std::string_view event, const graph::graph& g, std::size_t bin) {
  const graph::event_index e = g.find_event(event);
  if (e == graph::nobody || !g.event(e).is_work()) return;
  const std::uint64_t depth = g.event(e).depth;
  facts_.max_depth = std::max(facts_.max_depth, depth);
  raise(facts_.depth, bin, depth);
  add_to(facts_.depths, std::min<std::size_t>(depth, usage_facts::max_depths - 1), 1);
  if (g.event(e).source != graph::nobody) count_outputs(g.activation(g.event(e).source), g, depth);
}

// Keeps the activations with the most outputs. Counts only grow, so an activation of the final list enters it at its
// last output at the latest.
void usage_observer::count_outputs(const graph::activation_node& of, const graph::graph& g, std::uint64_t depth) {
  std::vector<fanned_out>& list = facts_.widest;
  const auto known = std::find_if(list.begin(), list.end(), [&](const fanned_out& f) { return f.activation == of.id; });
  if (known != list.end()) {
    known->outputs = of.work_outputs;
    return;
  }
  const auto fewer = [](const fanned_out& a, const fanned_out& b) { return a.outputs < b.outputs; };
  fanned_out added{.activation = of.id, .agent = g.agent(of.agent).name, .outputs = of.work_outputs, .depth = depth};
  if (list.size() < usage_facts::max_fanned_out) {
    list.push_back(std::move(added));
  } else if (const auto least = std::min_element(list.begin(), list.end(), fewer); least->outputs < added.outputs) {
    *least = std::move(added);
  }
}

void usage_observer::halve(int times) {
  const auto sum = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  const auto greatest = [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); };
  for (bin_values* bins : {&facts_.tokens, &facts_.cost, &facts_.model_calls, &facts_.tool_calls, &facts_.activations})
    merge_neighbours(*bins, times, sum);
  for (bin_values* bins : {&facts_.depth, &facts_.live}) merge_neighbours(*bins, times, greatest);
  for (agent_usage& a : agents_) {
    merge_neighbours(a.tokens, times, sum);
    merge_neighbours(a.cost, times, sum);
  }
}

usage_facts usage_observer::finish(const run* run) {
  std::sort(facts_.widest.begin(), facts_.widest.end(), [](const fanned_out& a, const fanned_out& b) {
    return a.outputs != b.outputs ? a.outputs > b.outputs : a.activation < b.activation;
  });
  if (run == nullptr) return std::move(facts_);
  const spending& spent = run->spent();
  facts_.used = spent.used(graph::nobody);
  facts_.totals = spent.totals(graph::nobody, run->clock());
  facts_.guarded = spent.guarded(graph::nobody, run->clock());
  facts_.has_budget = guard_reading(guard_count_kind::spending, run->settings().guards) != nullptr;
  facts_.holds_open = run->open_holds().by_number().size();
  facts_.guards.clear();
  ingest::encode_guards(facts_.guards, run->settings());
  const graph::graph& g = run->graph();
  agents_.resize(std::max<std::size_t>(agents_.size(), g.agent_count()));
  for (graph::agent_index a = 0; a < g.agent_count(); ++a) {
    agent_usage& agent = agents_[a];
    agent.name = g.agent(a).name;
    agent.used = spent.used(a);
    agent.guarded = spent.guarded(a, run->clock());
  }
  std::erase_if(agents_, [](const agent_usage& a) { return a.activations == 0 && a.used == usage_amounts{}; });
  std::sort(agents_.begin(), agents_.end(), [](const agent_usage& a, const agent_usage& b) {
    return std::make_tuple(b.used.cost, tokens_of(b.used), std::string_view(a.name)) <
           std::make_tuple(a.used.cost, tokens_of(a.used), std::string_view(b.name));
  });
  if (agents_.size() > usage_facts::max_agents) {
    facts_.agents_left_out = agents_.size() - usage_facts::max_agents;
    agents_.resize(usage_facts::max_agents);
  }
  facts_.agents = std::move(agents_);
  return std::move(facts_);
}

// ---- JSON

namespace {

void write_bins(json_writer& to, std::string_view name, const bin_values& bins) {
  to.key(name).open_array();
  for (const std::uint64_t value : bins) to.integer(value);
  to.close_array();
}

void write_costs(json_writer& to, const bin_values& bins) {
  to.key("cost").open_array();
  for (const std::uint64_t value : bins) to.raw(decimal_of_millionths(value));
  to.close_array();
}

void write_guarded(json_writer& to, const spent_totals& totals) {
  constexpr std::string_view max_prefix = "max_";
  to.key("guarded").open_object();
  for (std::size_t i = 0; i < total_count; ++i) {
    const auto kind = static_cast<total_kind>(i);
    to.key(limit_name(kind).substr(max_prefix.size()));
    kind == total_kind::cost ? to.raw(decimal_of_millionths(totals[i])) : to.integer(totals[i]);
  }
  to.close_object();
}

void write_agents(json_writer& to, const usage_facts& facts) {
  to.key("agents").open_array();
  std::size_t listed = 0;
  for (const agent_usage& agent : facts.agents) {
    to.open_object().key("agent").text(agent.name);
    write_usage_members(to, agent.used);
    to.key("activations").integer(agent.activations);
    if (facts.has_budget) write_guarded(to, agent.guarded);
    if (listed++ < usage_facts::max_followed) {
      to.key("series").open_object();
      write_bins(to, "tokens", agent.tokens);
      write_costs(to, agent.cost);
      to.close_object();
    }
    to.close_object();
  }
  to.close_array().key("agents_left_out").integer(facts.agents_left_out);
}

void write_fan_out(json_writer& to, const usage_facts& facts) {
  to.key("fan_out").open_object();
  to.key("max_depth").integer(facts.max_depth).key("max_live").integer(facts.max_live);
  write_bins(to, "depths", facts.depths);
  to.key("activations").open_array();
  for (const fanned_out& f : facts.widest) {
    to.open_object().key("activation").text(f.activation).key("agent").text(f.agent);
    to.key("outputs").integer(f.outputs).key("depth").integer(f.depth).close_object();
  }
  to.close_array().close_object();
}

}  // namespace

std::string usage_json(std::string_view run, clock_kind clock, const time_bins& time, const usage_facts& facts) {
  std::string out;
  json_writer to(out);
  to.open_object().key("run").text(run).key("clock").text(to_string(clock)).key("guards").raw(facts.guards);
  to.key("totals").open_object();
  write_usage_members(to, facts.used);
  to.key("activations").integer(facts.started);
  to.key("ms").integer(facts.totals[static_cast<std::size_t>(total_kind::ms)]).close_object();
  if (facts.has_budget) write_guarded(to, facts.guarded);
  write_agents(to, facts);
  to.key("bins").open_object().key("start").integer(time.start).key("width_ms").integer(time.width);
  to.key("count").integer(time.max_bins).close_object();
  to.key("series").open_object();
  write_bins(to, "tokens", facts.tokens);
  write_costs(to, facts.cost);
  write_bins(to, "model_calls", facts.model_calls);
  write_bins(to, "tool_calls", facts.tool_calls);
  write_bins(to, "activations", facts.activations);
  write_bins(to, "depth", facts.depth);
  write_bins(to, "live", facts.live);
  to.close_object();
  write_fan_out(to, facts);
  to.key("holds").open_object().key("opened").integer(facts.holds).key("open").integer(facts.holds_open);
  to.key("released").integer(facts.holds_released).key("returned").integer(facts.holds_returned);
  to.key("decisions").integer(facts.decisions).close_object().close_object();
  return out;
}

}  // namespace digd::report
