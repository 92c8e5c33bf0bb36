#include "ingest/otlp/turns.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ingest/otlp/causes.h"
#include "ingest/otlp/span_tree.h"

namespace digd::otlp {

namespace {

// Makes turns of spans, parents first.
class turn_finder {
 public:
  explicit turn_finder(const span_tree& tree)
      : tree_(tree), roles_(tree.size(), role::none), holder_(tree.size(), none), merged_(tree.size(), 0) {}

  void find(std::vector<turn>& into) {
    for (const std::size_t i : tree_.parents_first()) look_at(i, into);
    nest_in_tools(into);
    sort(into);
  }
  std::vector<role>& roles() { return roles_; }
  std::vector<std::size_t>& holders() { return holder_; }

 private:
  void look_at(std::size_t i, std::vector<turn>& turns) {
    const span& s = tree_.at(i);
    const dialect* in = dialect_of(s);
    const role current_role = in == nullptr ? role::none : role_of(*in, s);
    roles_[i] = current_role;
    const std::size_t up = tree_.parent(i);
    const std::size_t within = up == none ? none : holder_[up];
    holder_[i] = within;
    merged_[i] = up != none && merged_[up];
    if (current_role == role::node || current_role == role::agent) {
      if (is_part(current_role, within, merged_[i], turns)) {
        merged_[i] = merged_[i] || current_role == role::agent;
      } else {
        holder_[i] = begin(s, *in, within, turns);
        merged_[i] = current_role == role::agent;
      }
    }
    if (in != nullptr && holder_[i] != none) take_part(turns[holder_[i]], s, *in, current_role);
  }

  static bool is_part(role given_role, std::size_t within, bool merged, const std::vector<turn>& turns) {
    if (within == none) return false;
    return given_role == role::node || !merged || turns[within].depth >= max_call_depth;
  }

  static std::size_t begin(const span& s, const dialect& in, std::size_t caller, std::vector<turn>& turns) {
    turn made;
    made.of = &s;
    made.in = &in;
    made.caller = caller;
    made.depth = caller == none ? 0 : turns[caller].depth + 1;
    made.start_ns = s.start_ns;
    made.end_ns = std::max(s.end_ns, s.start_ns + 1);
    made.failed = has_failed(&in, s);
    made.cancelled = was_cancelled(s);
    if (auto named = first_of(s, in.agent); named && !named->empty()) {
      made.agent = std::move(*named);
    } else {
      made.agent = !in.agent_in_name.empty() && s.name.starts_with(in.agent_in_name)
                       ? s.name.substr(in.agent_in_name.size())
                       : s.name;
    }
    turns.push_back(std::move(made));
    return turns.size() - 1;
  }

  // The texts of the turn's own span come first, then those of an agent's span in it, then those of the last model
  // call.
  static void take_part(turn& of, const span& s, const dialect& in, role given_role) {
    if (given_role == role::model) of.models.push_back(&s);
    if (given_role == role::tool) of.tools.push_back(&s);
    if (given_role != role::model && given_role != role::agent && given_role != role::node) return;
    const bool outweighs = given_role != role::model;
    const auto takes = [&](const span* now, bool latest) {
      if (now == nullptr || now == &s) return true;
      if (now == of.of) return false;
      return outweighs || (latest && role_of(in, *now) == role::model && s.end_ns > now->end_ns);
    };
    if (takes(of.input, false) && first_of(s, in.input)) of.input = &s;
    if (takes(of.output, true) && first_of(s, in.output)) of.output = &s;
  }

  struct tool_call {
    const span* of;
    std::size_t turn;  // that it is in
  };

  // Gives agents that a tool called their caller, in dialects that show this by times alone: the turn of the tool's
  // span that encloses the agent's and began last.
  void nest_in_tools(std::vector<turn>& turns) {
    std::vector<tool_call> tools;  // by start, as the tree has them
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      if (roles_[i] != role::tool || holder_[i] == none || !turns[holder_[i]].in->calls_within_tools) continue;
      tools.push_back({&tree_.at(i), holder_[i]});
    }
    if (tools.empty()) return;
    std::vector<std::size_t> by_start(turns.size());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](std::size_t a, std::size_t b) { return turns[a].start_ns < turns[b].start_ns; });
    for (const std::size_t i : by_start) {
      if (turns[i].caller == none && turns[i].in->calls_within_tools) nest_in_tool(i, tools, turns);
    }
  }

  static void nest_in_tool(std::size_t i, const std::vector<tool_call>& tools, std::vector<turn>& turns) {
    const span& called = *turns[i].of;
    auto tool =
        std::upper_bound(tools.begin(), tools.end(), called.start_ns,
                         [](std::int64_t at, const tool_call& tool_call) { return at < tool_call.of->start_ns; });
    for (std::size_t steps = 0; tool != tools.begin() && steps < max_steps_back; ++steps) {
      --tool;
      const turn& holder = turns[tool->turn];
      const bool encloses =
          tool->of->trace == called.trace && tool->of->end_ns >= called.end_ns && holder.start_ns < called.start_ns;
      if (!encloses) continue;
      const std::size_t depth = depth_of(tool->turn, turns) + 1;
      if (depth > max_call_depth) return;
      turns[i].caller = tool->turn;
      turns[i].depth = depth;
      return;
    }
  }
  static std::size_t depth_of(std::size_t i, const std::vector<turn>& turns) {
    std::size_t depth = 0;
    for (; turns[i].caller != none && depth <= max_call_depth; i = turns[i].caller) ++depth;
    return depth;
  }

  void sort(std::vector<turn>& turns) {
    std::vector<std::size_t> order(turns.size()), now_at(turns.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto key = [&](const turn& t) { return std::tie(t.start_ns, t.depth, t.end_ns, t.of->trace, t.of->id); };
      return key(turns[a]) < key(turns[b]);
    });
    std::vector<turn> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      now_at[order[i]] = i;
      sorted.push_back(std::move(turns[order[i]]));
    }
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i].caller == none) continue;
      sorted[i].caller = now_at[sorted[i].caller];
      sorted[sorted[i].caller].calls.push_back(i);
    }
    for (std::size_t& held : holder_) held = held == none ? none : now_at[held];
    turns = std::move(sorted);
  }

  const span_tree& tree_;
  std::vector<role> roles_;
  std::vector<std::size_t> holder_;  // the turn that a span is part of
  std::vector<char> merged_;         // an agent's span is on the way up to that turn
};

}  // namespace

run_of_turns find_turns(std::span<const span> spans) {
  const span_tree tree(spans);
  run_of_turns out;
  turn_finder finder(tree);
  finder.find(out.turns);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const span& s = tree.at(i);
    out.whole = out.whole && !tree.lacks_parent(i);
    if (s.parent.empty()) {
      ++out.roots;
      out.root_failed = out.root_failed || has_failed(dialect_of(s), s);
      out.root_cancelled = out.root_cancelled || was_cancelled(s);
    }
    out.first_ns = i == 0 ? s.start_ns : std::min(out.first_ns, s.start_ns);
    out.last_ns = std::max(out.last_ns, s.end_ns);
  }
  find_causes({.tree = tree, .roles = finder.roles(), .holders = finder.holders()}, out);
  return out;
}

}  // namespace digd::otlp
