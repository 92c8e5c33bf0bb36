#include "analysis/whowhen/planted_structure.h"

#include <string_view>
#include <vector>

#include "analysis/whowhen/dice.h"
#include "base/json_writer.h"

namespace digd::whowhen {

namespace {

struct sent {
  std::string id;
  std::vector<std::string> to;
  std::string_view flag;  // a member that is true: fyi or submit; empty: none
};

struct input_reaction {
  std::string_view word;
  std::string new_recipient;  // of a reroute; else empty
};

const input_reaction waits{"wait", {}}, discards{"discard", {}};

json_writer& write_names(json_writer& to, const std::vector<std::string>& names) {
  to.open_array();
  for (const std::string& name : names) to.text(name);
  return to.close_array();
}

void write_event(json_writer& to, const sent& e) {
  write_names(to.open_object().key("id").text(e.id).key("recipients"), e.to);
  if (!e.flag.empty()) to.key(e.flag).boolean(true);
  to.close_object();
}

void write_reaction(json_writer& to, const input_reaction& reaction) {
  if (reaction.new_recipient.empty()) {
    to.text(reaction.word);
  } else {
    write_names(to.open_object().key(reaction.word), {reaction.new_recipient}).close_object();
  }
}

class structure_writer {
 public:
  structure_writer(std::optional<rule_id> rule, std::uint64_t seed) : rule_(rule), random_(seed) {
    workers_ = 2 + random_.below(3);
    culprit_ = random_.below(workers_);
    variant_ = random_.below(2);
    joins_in_turn_ = random_.chance(50);
    has_writer_ = random_.chance(50);
    asking_worker_ = random_.below(workers_ + 1);  // the worker that asks the helper; beyond the last: none
  }

  planted_trace write() {
    std::vector<std::string> agents{"planner", "writer", "helper", "log", "editor"};
    for (std::size_t i = 0; i < workers_; ++i) agents.push_back(worker(i));
    agents.push_back("spare");
    line([&](json_writer& to) {
      to.key("type").text("hello").key("protocol").integer(1).key("run").text("planted").key("agents");
      write_names(to, agents).key("clock").text("trace").key("mode").text("observe");
    });
    root("task", "planner");
    std::vector<sent> parts;
    for (std::size_t i = 0; i < workers_; ++i) parts.push_back({part(i), {worker(i)}, ""});
    if (is(rule_id::repeated_subproblem) && variant_ == 1) parts[culprit_].to.push_back("spare");
    act("planner", {"task"}, {}, parts);
    if (is(rule_id::cross_lineage_aggregation)) second_task();
    for (std::size_t i = 0; i < workers_; ++i) work(i);
    finish();
    out_.activations = activations_;
    return std::move(out_);
  }

 private:
  bool is(rule_id r) const { return rule_ == r; }
  bool is(rule_id r, std::size_t worker) const { return rule_ == r && worker == culprit_; }
  static std::string worker(std::size_t i) { return "worker" + std::to_string(i + 1); }
  static std::string part(std::size_t i) { return "part" + std::to_string(i + 1); }
  static std::string result(std::size_t i) { return "result" + std::to_string(i + 1); }

  // `members` writes those of the line.
  template <class Members>
  void line(const Members& members) {
    json_writer to(out_.trace);
    to.open_object();
    members(to);
    to.close_object();
    out_.trace += '\n';
  }

  template <class Members>
  void message(std::string_view type, const Members& members) {
    line([&](json_writer& to) {
      to.key("type").text(type).key("seq").integer(++seq_).key("ts").integer(now_);
      members(to);
    });
    now_ += 50 + static_cast<long>(random_.below(200));
  }

  void root(const std::string& id, const std::string& recipient) {
    message("event", [&](json_writer& to) { write_event(to.key("event"), {id, {recipient}, ""}); });
  }

  // The inputs behind those of `reactions` are consumed. Returns the activation.
  std::string act(const std::string& agent, const std::vector<std::string>& inputs,
                  const std::vector<input_reaction>& reactions, std::vector<sent> outputs, bool failed = false) {
    std::string id = "a" + std::to_string(++activations_);
    message("activation_started", [&](json_writer& to) {
      write_names(to.key("activation").text(id).key("agent").text(agent).key("inputs"), inputs);
    });
    now_ += 200 + static_cast<long>(random_.below(800));
    if (!failed && random_.chance(15)) outputs.push_back({"note" + id, {"log"}, "fyi"});
    message("activation_ended", [&](json_writer& to) {
      to.key("activation").text(id);
      if (failed) {
        to.key("failed").boolean(true);
        return;
      }
      to.key("reactions").open_object();
      for (std::size_t k = 0; k < reactions.size(); ++k) write_reaction(to.key(inputs[k]), reactions[k]);
      to.close_object().key("outputs").open_array();
      for (const sent& e : outputs) write_event(to, e);
      to.close_array();
    });
    return id;
  }

  void plant(const std::string& activation, const std::string& agent) {
    out_.activation = activation;
    out_.agent = agent;
  }

  void second_task() {
    root("task2", "editor");
    act("editor", {"task2"}, {}, {{"side1", {"helper"}, ""}, {"side2", {"spare"}, ""}});
    // The planted fault: the helper's answer goes to a worker that still holds a part of the first task.
    const std::string at = act("helper", {"side1"}, {}, {{"answer1", {worker(culprit_)}, ""}});
    plant(at, "helper");
    act("spare", {"side2"}, {}, {{"answer2", {"editor"}, ""}});
    act("editor", {"answer2"}, {}, {});
  }

  void work(std::size_t i) {
    std::vector<std::string> inputs{part(i)};
    if (is(rule_id::cross_lineage_aggregation, i)) inputs.emplace_back("answer1");
    if (is(rule_id::excessive_rerouting, i)) return pass_task_on(i);
    if (is(rule_id::orphaned_event, i) && variant_ == 0) {
      plant(act(worker(i), inputs, {discards}, {}), worker(i));
      now_ += 6000;
      return;
    }
    if (is(rule_id::deadlock, i)) return stop(i, inputs);
    if (random_.chance(20)) act(worker(i), inputs, {}, {}, true);  // a failed attempt that is repeated
    if (i == asking_worker_ && !is(rule_id::cross_lineage_aggregation)) {
      act(worker(i), inputs, {waits}, {{"question", {"helper"}, ""}});
      act("helper", {"question"}, {}, {{"advice", {worker(i)}, ""}});
      inputs.emplace_back("advice");
    }
    std::string to = "planner";
    if (is(rule_id::orphaned_event, i)) to = "nobody";
    const std::string at = act(worker(i), inputs, {}, {{result(i), {to}, ""}});
    if (is(rule_id::orphaned_event, i)) return plant(at, worker(i));
    results_.push_back(result(i));
    if (is(rule_id::repeated_subproblem, i)) {
      const std::string who = variant_ == 1 ? "spare" : worker(i);
      plant(act(who, {part(i)}, {}, {{"again", {"planner"}, ""}}), who);
      results_.emplace_back("again");
    }
    if (is(rule_id::early_termination, i) && i + 1 < workers_) early();
    if (joins_in_turn_ && !out_of_order_ && i + 1 < workers_) {
      act("planner", {result(i)}, {waits}, {});
    }
  }

  // A part is handed on from agent to agent; the third hand-over is one too many.
  void pass_task_on(std::size_t i) {
    const std::vector<std::string> ring{worker(i), "spare", "editor", "helper"};
    std::string at;
    for (std::size_t k = 0; k + 1 < ring.size(); ++k) {
      at = act(ring[k], {part(i)}, {{"reroute", ring[k + 1]}}, {});
    }
    plant(at, ring[ring.size() - 2]);
    act(ring.back(), {part(i)}, {}, {{result(i), {"planner"}, ""}});
    results_.push_back(result(i));
  }

  // Two ways to bring a run to rest: to wait for nothing, or to fail and not try again.
  void stop(std::size_t i, const std::vector<std::string>& inputs) {
    plant(act(worker(i), inputs, {waits}, {}, variant_ == 1), worker(i));
    stopped_ = true;
  }

  void early() {
    plant(act("planner", {result(culprit_)}, {}, {{"answer", {}, "submit"}}), "planner");
    out_of_order_ = true;
  }

  void finish() {
    if (is(rule_id::early_termination) && out_.activation.empty()) {
      // The culprit is the last worker: the planner leaves out another result.
      const std::string at = act("planner", {result(culprit_)}, {}, {{"answer", {}, "submit"}});
      plant(at, "planner");
      out_of_order_ = true;
    }
    if (out_of_order_) return rest();
    if (stopped_) {
      if (!results_.empty() && random_.chance(60)) {
        act("planner", results_, std::vector<input_reaction>(results_.size(), waits), {});
      }
      return rest();
    }
    const bool forgets = is(rule_id::missing_termination);
    const sent answer{"answer", {}, "submit"};
    if (has_writer_) {
      act("planner", results_, {}, {{"brief", {"writer"}, ""}});
      const bool writer_forgets = forgets && variant_ == 0;
      const std::string written = act(
          "writer", {"brief"}, {}, writer_forgets ? std::vector<sent>{} : std::vector<sent>{{"text", {"planner"}, ""}});
      if (writer_forgets) {
        plant(written, "writer");
        return rest();
      }
      results_ = {"text"};
    }
    const std::string last = act("planner", results_, {}, forgets ? std::vector<sent>{} : std::vector<sent>{answer});
    if (forgets) plant(last, "planner");
    rest();
  }

  void rest() {
    now_ += 20'000;
    message("time", [](json_writer& to) { write_names(to.key("inferred"), {"ts"}); });
  }

  std::optional<rule_id> rule_;
  dice random_;
  std::size_t workers_, culprit_, variant_, asking_worker_;
  bool joins_in_turn_ = false, has_writer_ = false, out_of_order_ = false, stopped_ = false;
  std::vector<std::string> results_;
  std::size_t seq_ = 0, activations_ = 0;
  long now_ = 0;
  planted_trace out_;
};

}  // namespace

planted_trace plant_structure(std::optional<rule_id> rule, std::uint64_t seed) {
  return structure_writer(rule, seed).write();
}

}  // namespace digd::whowhen
