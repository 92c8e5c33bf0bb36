#include "analysis/chief/llm/chief_stages.h"

namespace digd::chief::llm {

namespace json = boost::json;

namespace {

// Bound on the JSON text of a stage that later prompts repeat.
constexpr std::size_t max_stage_bytes = 30'000;

class stages {
 public:
  stages(endpoint& model, const flat_log& log, const judge_options& options)
      : model_(model), log_(log), options_(options) {}

  ruling run(attribution* graph) {
    found_ = attribute(log_);
    decompose();
    otar();
    edges();
    step_edges();
    oracles();
    backtracking();
    ruling r = decide();
    if (graph) *graph = std::move(found_);
    return r;
  }

 private:
  // Asks for the object of a stage. On failure adds a note and returns nothing.
  std::optional<json::object> ask(const char* stage, const std::string& text, const json::object& stand_in) {
    const auto messages = prompt(log_, options_, 0, log_.steps.size() - 1, known_ + text);
    auto reply = ask_for_object(model_, messages, options_, json::serialize(stand_in));
    if (reply) return std::move(*reply);
    notes_.push_back(std::string(stage) + ": " + reply.error().message() + "; the deterministic result stands in");
    return std::nullopt;
  }

  void keep(const char* stage, const json::object& result) {
    std::string text = json::serialize(result);
    if (text.size() > max_stage_bytes) return;
    known_ += std::string(stage) + ", as established so far:\n" + text + "\n";
  }

  json::object subtasks() const {
    json::array list;
    for (const subtask& sub : found_.graph.subtasks) {
      list.push_back(json::object{{"name", sub.name}, {"from", sub.steps.front()}, {"to", sub.steps.back()}});
    }
    return {{"subtasks", std::move(list)}};
  }

  // Uses the model's subtasks if they cover the log in order without gap or overlap; returns whether they do.
  bool take(const json::object& reply) {
    const json::value* list = reply.if_contains("subtasks");
    if (!list || !list->is_array() || list->get_array().empty()) return false;
    std::vector<subtask> cut;
    std::size_t next = 0;
    for (const json::value& value : list->get_array()) {
      if (!value.is_object()) return false;
      const auto from = step_in(value.get_object(), "from", log_), to = step_in(value.get_object(), "to", log_);
      if (!from || !to || *from != next || *to < *from) return false;
      subtask sub{text_in(value.get_object(), "name"), {}, {}};
      for (std::size_t i = *from; i <= *to; ++i) sub.steps.push_back(i);
      cut.push_back(std::move(sub));
      next = *to + 1;
    }
    if (next != log_.steps.size()) return false;
    regroup(found_.graph, log_, std::move(cut));
    found_.back = backtrack(log_, found_.graph, found_.findings);
    return true;
  }

  void decompose() {
    const auto reply =
        ask("decomposition",
            "Divide the run into subtasks: phases with a goal of their own. Draft them, check them against the "
            "steps, then make the ranges cover all steps in order, without gap or overlap.\n"
            R"(Form: {"subtasks": [{"name": "…", "from": step, "to": step}, …]})",
            subtasks());
    if (reply && !take(*reply))
      notes_.push_back("decomposition: the ranges do not cover the log; the deterministic subtasks stand in");
    keep("Subtasks", subtasks());
  }

  void otar() {
    const json::object empty{{"agents", json::array{}}};
    const auto reply = ask("OTAR",
                           "For each subtask and each agent acting in it, say in a few words what it observed, "
                           "thought, did, and what came "
                           "of it. Quote values exactly.\n"
                           R"(Form: {"agents": [{"subtask": index, "agent": "…", "observation": "…", )"
                           R"("thought": "…", "action": "…", "result": "…"}, …]})",
                           empty);
    if (reply) keep("Agents", *reply);
  }

  void edges() {
    const json::object empty{{"subtask_edges", json::array{}}, {"agent_edges", json::array{}}};
    const auto reply = ask(
        "edges",
        "Join consecutive subtasks, and agents within a subtask, by cause. With each edge give the pattern that "
        "would carry an error along it: the bias of its upstream end and the anomaly this shows downstream. Have "
        "in mind: errors of a step's own; a planner that repeats what failed against an executor that keeps "
        "failing under changed plans; the first corruption of a value; deviations corrected later.\n"
        R"(Form: {"subtask_edges": [{"from": index, "to": index, )"
        R"("type": "data" or "order", "bias": "…", "anomaly": "…"}], )"
        R"("agent_edges": [{"subtask": index, "from": "…", "to": "…", )"
        R"("type": "observation, continuation, decision, feedback, memory or loop", "bias": "…", "anomaly": "…"}]})",
        empty);
    if (reply) keep("Edges", *reply);
  }

  void step_edges() {
    json::array own;
    for (const step_edge& e : found_.graph.step_edges) {
      if (own.size() < 60 && !e.carried.empty())
        own.push_back(json::object{{"from", e.from}, {"to", e.to}, {"value", e.carried.front()}});
    }
    json::object stand_in{{"step_edges", std::move(own)}};
    const auto reply = ask(
        "step edges",
        "Name the values that one step produced and a later step used.\n"
        R"(Form: {"step_edges": [{"from": step, "to": step, "value": "…", "changed": true if it arrived altered}]})",
        stand_in);
    keep("Data flow", reply ? *reply : stand_in);
  }

  void oracles() {
    json::array own;
    for (const virtual_oracle& o : found_.back.oracles) own.push_back(json::object{{"goal", o.goal}});
    json::object stand_in{{"oracles", std::move(own)}};
    const auto reply =
        ask("oracles",
            "For each subtask in order write what it should have achieved: its goal; the preconditions, from "
            "earlier subtasks only; the key evidence to verify; and acceptance criteria that can be checked "
            "afterwards. Check that none contradicts the task or an earlier one.\n"
            R"(Form: {"oracles": [{"subtask": index, "goal": "…", "preconditions": ["…"], )"
            R"("key_evidence": ["…"], "acceptance": ["…"]}]})",
            stand_in);
    keep("Oracles", reply ? *reply : stand_in);
  }

  void backtracking() {
    json::array own;
    for (std::size_t i : found_.back.steps) own.push_back(i);
    json::object stand_in{{"steps", std::move(own)}};
    const auto reply =
        ask("backtracking",
            "Go through the subtasks from last to first and compare what each achieved with its oracle. In those "
            "that fall short, compare each agent with the preconditions and the key evidence; of those agents, each "
            "step with its details.\n"
            R"(Form: {"subtasks": [index, …], "agents": ["…"], "steps": [step, …]})",
            stand_in);
    keep("Candidates", reply ? *reply : stand_in);
  }

  ruling decide() {
    const std::size_t first = found_.ranking.empty() ? 0 : found_.ranking.front().step;
    const json::object dry{{"step", first}, {"stage", "local"}, {"reason", "dry run"}};
    const auto reply =
        ask("attribution",
            "Screen the candidates. Local: is the error the step's own, or explained by an upstream step? "
            "Planning-control: in a loop, blame the planner if it repeated what had failed, the executor if it kept "
            "failing under changed plans. Data-flow: follow wrong values back to the step that first corrupted them. "
            "Deviation-aware: drop what was put right later. Name the one step left, the stage that decided, and up "
            "to four others in order of suspicion.\n"
            R"(Form: {"agent": "…", "step": number, "others": [number, …], )"
            R"("stage": "local, planning-control, data-flow or deviation-aware", "reason": "two or three sentences"})",
            dry);
    ruling r;
    const auto step = reply ? step_in(*reply, "step", log_) : std::nullopt;
    if (step) {
      r.agent = agent_in(*reply, "agent", log_).value_or(log_.steps[*step].agent);
      r.steps = {*step};
      r.reason = text_in(*reply, "reason");
      notes_.push_back("decided by: " + text_in(*reply, "stage"));
      if (const json::value* others = reply->if_contains("others"); others && others->is_array()) {
        for (const json::value& other : others->get_array()) {
          if (const auto next = step_in({{"step", other}}, "step", log_); next && r.steps.size() < 10)
            r.steps.push_back(*next);
        }
      }
    } else {
      if (reply) notes_.push_back("attribution: no step of the log is named; the deterministic ranking stands in");
      r.is_deterministic = true;
      for (const suspect& s : found_.ranking) r.steps.push_back(s.step);
      if (!found_.ranking.empty()) r.agent = found_.ranking.front().agent;
    }
    r.notes = std::move(notes_);
    return r;
  }

  endpoint& model_;
  const flat_log& log_;
  const judge_options options_;
  attribution found_;
  std::string known_;
  std::vector<std::string> notes_;
};

}  // namespace

ruling chief_stages(endpoint& model, const flat_log& log, const judge_options& options, attribution* graph) {
  return stages(model, log, options).run(graph);
}

}  // namespace digd::chief::llm
