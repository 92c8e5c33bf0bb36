#include "rules/guards/spending.h"

#include <limits>

namespace digd {

namespace {

void add_to(std::uint64_t& sum, std::uint64_t amount) {
  constexpr std::uint64_t max_sum = std::numeric_limits<std::uint64_t>::max();
  sum = sum > max_sum - amount ? max_sum : sum + amount;
}

void add_to(usage_amounts& sum, const usage_amounts& used) {
  add_to(sum.input_tokens, used.input_tokens);
  add_to(sum.output_tokens, used.output_tokens);
  add_to(sum.cost, used.cost);
  add_to(sum.model_calls, used.model_calls);
  add_to(sum.tool_calls, used.tool_calls);
}

}  // namespace

spending::subject& spending::account(graph::agent_index agent) {
  if (agent == graph::nobody) return run_;
  if (agents_.size() <= agent) agents_.resize(std::size_t{agent} + 1);
  return agents_[agent];
}

const spending::subject& spending::account_of(graph::agent_index agent) const {
  static const subject nothing;
  if (agent == graph::nobody) return run_;
  return agent < agents_.size() ? agents_[agent] : nothing;
}

void spending::add_activation(graph::agent_index agent, milliseconds now) {
  subject& by_agent = account(agent);
  if (!by_agent.began) by_agent.start(now);
  add_to(by_agent.activations, 1);
  add_to(run_.activations, 1);
}

void spending::add(graph::agent_index agent, const usage_amounts& used) {
  add_to(account(agent).used, used);
  add_to(run_.used, used);
}

const usage_amounts& spending::used(graph::agent_index agent) const { return account_of(agent).used; }

spent_totals spending::totals(graph::agent_index agent, milliseconds now) const {
  const subject& s = account_of(agent);
  std::uint64_t tokens = s.used.input_tokens;
  add_to(tokens, s.used.output_tokens);
  const std::uint64_t elapsed = s.began && now > s.since ? static_cast<std::uint64_t>(now) - s.since : 0;
  return {tokens, s.used.cost, s.used.model_calls, s.used.tool_calls, s.activations, elapsed};
}

spent_totals spending::guarded(graph::agent_index agent, milliseconds now) const {
  spent_totals sums = totals(agent, now);
  const spent_totals& base = account_of(agent).base;
  for (std::size_t i = 0; i < total_count; ++i) sums[i] -= base[i];
  return sums;
}

void spending::restart(graph::agent_index agent, milliseconds now) {
  account(agent).base = totals(agent, now);
  account(agent).passed = 0;
}

}  // namespace digd
