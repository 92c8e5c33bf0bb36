#include "report/usage_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "report/words.h"

namespace digd::report {

namespace {

namespace json = boost::json;

constexpr std::size_t max_usage_rows = 20;

// The limit of a total in the run's guards, as they were sent to the client; empty: none.
std::string limit_in(const json::value& guards, std::string_view guard, std::string_view limit) {
  const json::object* configured = guards.if_object();
  const json::value* found = configured == nullptr ? nullptr : configured->if_contains(guard);
  const json::object* fields = found == nullptr ? nullptr : found->if_object();
  const json::value* value = fields == nullptr ? nullptr : fields->if_contains(limit);
  return value == nullptr || !value->is_number() ? std::string() : json::serialize(*value);
}

bool is_per_agent(const json::value& guards) {
  const json::object* configured = guards.if_object();
  const json::value* budget = configured == nullptr ? nullptr : configured->if_contains("budget");
  const json::object* fields = budget == nullptr ? nullptr : budget->if_object();
  const json::value* per = fields == nullptr ? nullptr : fields->if_contains("per");
  return per != nullptr && per->is_string() && per->get_string() == "agent";
}

std::string amount(total_kind kind, const spent_totals& totals) {
  const std::uint64_t value = totals[static_cast<std::size_t>(kind)];
  return kind == total_kind::cost ? decimal_of_millionths(value) : grouped(value);
}

table total_table(const usage_facts& used, const json::value& guards) {
  constexpr std::array<std::pair<total_kind, const char*>, 6> rows{{{total_kind::cost, "cost"},
                                                                    {total_kind::tokens, "tokens"},
                                                                    {total_kind::model_calls, "model calls"},
                                                                    {total_kind::tool_calls, "tool calls"},
                                                                    {total_kind::activations, "activations"},
                                                                    {total_kind::ms, "milliseconds"}}};
  table out{.caption = is_per_agent(guards) ? "What the run used; the limits are for each agent"
                                            : "What the run used, and its limits",
            .columns = {{"total"}, {"used", true}, {"limit", true}},
            .rows = {},
            .left_out = {}};
  for (const auto& [kind, name] : rows) {
    const std::string limit = limit_in(guards, "budget", limit_name(kind));
    out.rows.push_back({name, amount(kind, used.totals), limit.empty() ? "none" : limit});
  }
  return out;
}

table agent_usage_table(const usage_facts& used) {
  table out{.caption = "What each agent used, the most expensive first",
            .columns = {{"agent"},
                        {"cost", true},
                        {"input tokens", true},
                        {"output tokens", true},
                        {"model calls", true},
                        {"tool calls", true}},
            .rows = {},
            .left_out = {}};
  for (const agent_usage& agent : used.agents) {
    if (out.rows.size() == max_usage_rows) break;
    const usage_amounts& of = agent.used;
    out.rows.push_back({short_name(agent.name, 80), decimal_of_millionths(of.cost), grouped(of.input_tokens),
                        grouped(of.output_tokens), grouped(of.model_calls), grouped(of.tool_calls)});
  }
  const std::uint64_t total = used.agents.size() + used.agents_left_out;
  if (total > out.rows.size()) {
    out.left_out = fmt::format("The first {} of {} agents.", out.rows.size(), grouped(total));
  }
  return out;
}

table widest_table(const usage_facts& used) {
  table out{.caption = "Where the run fanned out most",
            .columns = {{"activation"}, {"agent"}, {"outputs", true}, {"their depth", true}},
            .rows = {},
            .left_out = {}};
  for (const fanned_out& wide : used.widest) {
    if (out.rows.size() == max_usage_rows) break;
    out.rows.push_back(
        {short_name(wide.activation, 60), short_name(wide.agent, 80), grouped(wide.outputs), grouped(wide.depth)});
  }
  return out;
}

std::string fan_out_words(const usage_facts& used, const json::value& guards) {
  const auto with_limit = [&](std::string_view limit) {
    const std::string value = limit_in(guards, "fan_out", limit);
    return value.empty() ? std::string() : " (limit " + value + ")";
  };
  return fmt::format("The deepest work event has the depth {}{}. At most {} work events were in flight at once{}.",
                     grouped(used.max_depth), with_limit("max_depth"), grouped(used.max_live), with_limit("max_live"));
}

std::string hold_words(const usage_facts& used) {
  const std::uint64_t known = used.holds_released + used.holds_returned + used.holds_open;
  return fmt::format(
      "{} for a person: {} released, {} returned, {} open, {} ended with the run. People decided about {}.",
      counted(used.holds, "event waited", "events waited"), grouped(used.holds_released), grouped(used.holds_returned),
      grouped(used.holds_open), grouped(used.holds - std::min(used.holds, known)), grouped(used.decisions));
}

}  // namespace

std::vector<block> usage_blocks(const usage_facts& used) {
  std::vector<block> out;
  if (!used.has_any()) return out;
  json::error_code ignored;
  const json::value guards = json::parse(used.guards, ignored);
  out.push_back(block::of(total_table(used, guards)));
  if (used.is_reported && !used.agents.empty()) out.push_back(block::of(agent_usage_table(used)));
  out.push_back(block::words(fan_out_words(used, guards)));
  if (!used.widest.empty()) out.push_back(block::of(widest_table(used)));
  if (used.holds > 0) out.push_back(block::words(hold_words(used)));
  return out;
}

}  // namespace digd::report
