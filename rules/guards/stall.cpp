// The guard `stall`. An open activation has been silent for too long. It fires by time (engine/silences.h).
#include <array>

#include "base/quote.h"
#include "rules/guards/guard_texts.h"
#include "rules/rule.h"
#include "rules/text.h"

namespace digd {

namespace {

class stall final : public rule {
 public:
  static constexpr rule_doc about{
      .code = "ST",
      .summary = "An open activation has sent no output and reported no usage for after_ms.",
      .problem = "A hanging model call or tool blocks everything that waits for the agent.",
      .example = "The browser tool of an agent never returns; the run waits with it.",
      .false_positives = "Long tool calls: raise after_ms, or report usage while they run.",
      .cleared = "The activation has ended.",
      .advice = "give model calls and tools a time limit",
      .source = "digd (docs/guards.md)",
  };

  static constexpr std::array<guard_option, 1> own_options{{
      {"after_ms", time_limit{&guard_settings::after_ms, &guards_request::after_ms},
       "How long an open activation may send no output and report no usage. Milliseconds."},
  }};

  constexpr stall()
      : rule(rule_id::stall, digd::severity::warning, action::none,
             {.recurs = recurrence::same_agent, .counts = guard_count_kind::silence, .judges_activations = true},
             about) {}

  rule_settings defaults() const override { return {}; }

  std::span<const guard_option> options() const override { return own_options; }

  bool is_on(const guard_settings& s) const override { return s.after_ms.has_value(); }

  finding find_silence(const graph::graph& g, graph::activation_index activation,
                       std::uint64_t silent_ms) const override {
    const graph::activation_node& v = g.activation(activation);
    std::vector<graph::event_index> inputs;
    for (const graph::activation_input& input : v.inputs) {
      if (g.resolve(input.event) != nullptr) inputs.push_back(input.event.index);
    }
    return {.agent = v.agent,
            .events = event_list(g, std::move(inputs)),
            .limits = {"after_ms"},
            .sender = v.agent,
            .activation = activation,
            .measured = std::to_string(silent_ms)};
  }

  std::string reason(const graph::graph& g, const finding& f) const override {
    return "Activation " + name(g, f) + " of agent " + text::agent(g, f.agent) + " has been silent for " + f.measured +
           " ms.";
  }

  std::string_view text() const override {
    return "Activation {activation} has been silent for {ms} ms. It is cancelled: stop now.";
  }

  text_facts facts(const graph::graph& g, const finding& f) const override {
    return {{"activation", name(g, f)}, {"ms", f.measured}};
  }

  graph::witness_names witness(const graph::graph& g, const finding& f) const override { return guard_witness(g, f); }

  watch_state progress(const graph::graph& g, watched& w, const run_progress&) const override {
    const graph::activation_node& v = g.activation(w.activation);
    return v.open && v.ordinal == w.activation_ordinal ? watch_state::open : watch_state::cleared;
  }

 private:
  static std::string name(const graph::graph& g, const finding& f) {
    return quoted_briefly(g.activation(f.activation).id);
  }
};

}  // namespace

const rule& stall_rule() {
  static const stall instance;
  return instance;
}

}  // namespace digd
