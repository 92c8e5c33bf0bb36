#include "analysis/shapley/structure.h"

#include <algorithm>

#include "analysis/shapley/recorded_run.h"
#include "engine/run.h"

namespace digd::shapley {

namespace {

enum behaviour : std::uint16_t { fails, submits, reroutes, discards, splits, answers, takes_up, idles };
constexpr const char* behaviour_names[] = {"fails",  "submits", "reroutes", "discards",
                                           "splits", "answers", "takes up", "idles"};

class structure_game final : public game {
 public:
  structure_game(recorded_run r, const structure_options& options) : recorded_(std::move(r)), options_(options) {
    for (const char* name : behaviour_names) players_.behaviour_names.push_back(name);
    players_.agent_names = recorded_.agents;
    const std::vector<recorded_activation>& recorded_activations = recorded_.activations;
    players_.steps = std::max<std::size_t>(1, std::min(options.steps, recorded_activations.size()));
    const milliseconds first = recorded_activations.empty() ? 0 : recorded_activations.front().started;
    const double span = std::max<double>(1, static_cast<double>(recorded_.last_ts - first));
    for (const recorded_activation& a : recorded_activations) {
      const double at = static_cast<double>(a.started - first) / span * static_cast<double>(players_.steps);
      const std::size_t step = std::min(players_.steps - 1, static_cast<std::size_t>(std::max(0.0, at)));
      players_.names.push_back(a.id);
      players_.add(a.agent, static_cast<std::uint32_t>(step), behaviours_of(a), a.does_nothing());
    }
  }

  std::string_view kind() const override { return "structure"; }
  std::string title() const override {
    return "structure of run " + recorded_.run + ", " + std::to_string(recorded_.activations.size()) + " activations";
  }
  std::unique_ptr<evaluator> make_evaluator() const override;
  void add_content(digest& to) const override {
    to.add(std::string_view("structure"));
    to.add(recorded_.text_digest);
    for (const double w : {options_.failure_weight, options_.warning_weight, options_.unresolved_weight}) to.add(w);
    to.add(static_cast<std::uint64_t>(players_.steps));
  }

  bool slow() const override { return true; }

  const recorded_run& recorded() const { return recorded_; }
  const structure_options& options() const { return options_; }

 private:
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
  structure_options options_;
};

// One replay with some activations doing nothing.
class partial_replay {
 public:
  partial_replay(const structure_game& g, std::span<const std::uint8_t> kept)
      : g_(g),
        rec_(g.recorded()),
        kept_(kept),
        run_(rec_.settings, rec_.hellos.front()),
        recorded_(rec_.events.size(), 0),
        happens_(rec_.activations.size(), 0),
        able_(rec_.sessions.size()) {}

  double risk() {
    for (const recorded_step& s : rec_.steps) take(s);
    run_.advance(rec_.last_ts, answer_);
    count();
    return risk_ + g_.options().unresolved_weight * static_cast<double>(run_.graph().reachable().size());
  }

 private:
  void count() {
    for (const detection& d : answer_.detections) {
      risk_ += d.severity == severity::failure ? g_.options().failure_weight : g_.options().warning_weight;
    }
  }

  bool apply(const message& m, const recorded_step& s) {
    run_.apply(m, {rec_.sessions[s.session], able_[s.session]}, s.ts, answer_);
    count();  // windows that fired by then count even if the message is refused
    return !answer_.refused;
  }

  void take(const recorded_step& s) {
    switch (s.kind) {
      case recorded_step::step_kind::hello: return greet(s);
      case recorded_step::step_kind::passing_time: run_.advance(s.ts, answer_); return count();
      case recorded_step::step_kind::operator_mode: run_.switch_mode(s.strongest, s.ts, answer_); return count();
      case recorded_step::step_kind::message: break;
    }
    switch (s.message.type) {
      case message_type::activation_started: return start(s);
      case message_type::activation_ended: return end(s);
      case message_type::event:
        if (s.activation != recorded_run::none && !(happens_[s.activation] && kept_[s.activation])) return;
        if (apply(s.message, s)) recorded_[s.outputs.front()] = 1;
        return;
      default: apply(s.message, s);
    }
  }

  void greet(const recorded_step& s) {
    const hello& h = rec_.hellos[s.hello];
    run_.join(h);
    able_[s.session] = h.able;
    capabilities any{false, false, false};
    for (const capabilities& a : able_) {
      any.inject |= a.inject;
      any.reroute |= a.reroute;
      any.create |= a.create;
    }
    run_.set_able(any);
  }

  bool exists(const recorded_input& i) const {
    return i.unannounced || recorded_[i.event] || (i.system && run_.graph().find_event(i.id) != graph::nobody);
  }

  void start(const recorded_step& s) {
    scratch_ = s.message;
    scratch_.inputs.clear();
    for (const recorded_input& i : s.inputs) {
      if (exists(i)) scratch_.inputs.push_back(i.id);
    }
    if (scratch_.inputs.empty() && !s.inputs.empty()) return;
    happens_[s.activation] = apply(scratch_, s);
  }

  void end(const recorded_step& s) {
    if (!happens_[s.activation]) return;
    scratch_ = s.message;
    std::erase_if(scratch_.reactions, [&](const reaction_draft& r) {
      const auto at =
          std::find_if(s.inputs.begin(), s.inputs.end(), [&](const recorded_input& i) { return i.id == r.input; });
      return at == s.inputs.end() || !exists(*at);
    });
    if (kept_[s.activation] && apply(scratch_, s)) {
      for (const std::uint32_t e : s.outputs) recorded_[e] = 1;
      return;
    }
    scratch_.reactions.clear();
    scratch_.events.clear();
    scratch_.failed = false;
    for (const recorded_input& i : s.inputs) {
      if (!exists(i)) continue;
      reaction_draft& r = scratch_.reactions.emplace_back();
      r.input = i.id;
      r.reaction = reaction::wait;
    }
    apply(scratch_, s);
  }

  const structure_game& g_;
  const recorded_run& rec_;
  std::span<const std::uint8_t> kept_;
  run run_;
  std::vector<std::uint8_t> recorded_;  // by event: whether it was announced in this replay
  std::vector<std::uint8_t> happens_;   // by activation
  std::vector<capabilities> able_;      // by session
  message scratch_;
  answer answer_;
  double risk_ = 0;
};

class structure_evaluator final : public evaluator {
 public:
  explicit structure_evaluator(const structure_game& g) : g_(g), set_(g.size()) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t p = 0; p < set_.size(); ++p) set_[p] = kept[p] >> l & 1;
      out[l] = partial_replay(g_, set_).risk();
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
