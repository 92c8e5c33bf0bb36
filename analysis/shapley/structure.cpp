#include "analysis/shapley/structure.h"

#include <algorithm>

#include "analysis/shapley/counterpart.h"
#include "analysis/shapley/recorded_run.h"
#include "analysis/shapley/structure_replay.h"

namespace digd::shapley {

namespace {

enum behaviour : std::uint16_t { fails, submits, reroutes, discards, splits, answers, takes_up, idles };
constexpr const char* behaviour_names[] = {"fails",  "submits", "reroutes", "discards",
                                           "splits", "answers", "takes up", "idles"};

class structure_game final : public game {
 public:
  structure_game(recorded_run r, const structure_options& options)
      : recorded_(std::move(r)), facts_(recorded_), options_(options) {
    for (const char* name : behaviour_names) players_.behaviour_names.push_back(name);
    players_.agent_names = recorded_.agents;
    const std::vector<recorded_activation>& recorded_activations = recorded_.activations;
    players_.steps = std::max<std::size_t>(1, std::min(options.steps, recorded_activations.size()));
    const milliseconds first = recorded_activations.empty() ? 0 : recorded_activations.front().started;
    const double span = std::max<double>(1, static_cast<double>(recorded_.last_ts - first));
    for (std::size_t i = 0; i < recorded_activations.size(); ++i) {
      const recorded_activation& a = recorded_activations[i];
      const double at = static_cast<double>(a.started - first) / span * static_cast<double>(players_.steps);
      const std::size_t step = std::min(players_.steps - 1, static_cast<std::size_t>(std::max(0.0, at)));
      players_.names.push_back(a.id);
      players_.add(a.agent, static_cast<std::uint32_t>(step), behaviours_of(a), is_null(i));
    }
  }

  std::string_view kind() const override { return "structure"; }
  std::string title() const override {
    return "structure of run " + recorded_.run + ", " + std::to_string(recorded_.activations.size()) + " activations";
  }
  std::unique_ptr<evaluator> make_evaluator() const override;
  void add_content(digest& to) const override {
    to.add(std::string_view("structure 2"));  // the baseline's version
    to.add(recorded_.text_digest);
    for (const double w : {options_.failure_weight, options_.warning_weight, options_.unresolved_weight}) to.add(w);
    to.add(static_cast<std::uint64_t>(players_.steps));
  }

  bool slow() const override { return true; }

  const recorded_run& recorded() const { return recorded_; }
  const recorded_facts& facts() const { return facts_; }
  risk_weights weights() const {
    return {options_.failure_weight, options_.warning_weight, options_.unresolved_weight};
  }

 private:
  // Whether the replay is the same with the activation and with its counterpart.
  bool is_null(std::size_t activation) const {
    const recorded_activation& a = recorded_.activations[activation];
    const counterpart& c = facts_.counterparts[activation];
    return a.outputs == 0 && !a.reroutes && !c.changed && !c.stays();
  }

  static std::vector<std::uint16_t> behaviours_of(const recorded_activation& a) {
    if (a.failed) return {fails};
    std::vector<std::uint16_t> out;
    if (a.submits) out.push_back(submits);
    if (a.reroutes) out.push_back(reroutes);
    if (a.discards) out.push_back(discards);
    if (a.outputs > a.inputs) out.push_back(splits);
    if (a.outputs > 0 && a.outputs <= a.inputs) out.push_back(answers);
    if (a.outputs == 0 && a.consumes) out.push_back(takes_up);
    if (out.empty()) out.push_back(idles);
    return out;
  }

  recorded_run recorded_;
  recorded_facts facts_;
  structure_options options_;
};

class structure_evaluator final : public evaluator {
 public:
  explicit structure_evaluator(const structure_game& g) : g_(g), set_(g.size()) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    const risk_weights weights = g_.weights();
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t p = 0; p < set_.size(); ++p) set_[p] = kept[p] >> l & 1;
      out[l] = structure_risk(g_.recorded(), g_.facts(), weights, set_);
    }
    return true;
  }

 private:
  const structure_game& g_;
  std::vector<std::uint8_t> set_;
};

std::unique_ptr<evaluator> structure_game::make_evaluator() const {
  return std::make_unique<structure_evaluator>(*this);
}

}  // namespace

structure_result make_structure_game(std::string_view trace, const structure_options& options) {
  structure_result out;
  recorded_run recorded;
  out.problem = recorded.load(trace);
  if (!out.problem.empty()) return out;
  if (recorded.activations.empty()) {
    out.problem = "the run has no activations";
    return out;
  }
  out.detections = recorded.detections;
  out.game = std::make_unique<structure_game>(std::move(recorded), options);
  return out;
}

}  // namespace digd::shapley
