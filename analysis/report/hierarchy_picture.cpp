#include "analysis/report/hierarchy_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/picture/chart.h"
#include "report/words.h"

namespace digd::report {

namespace {

constexpr std::size_t max_drawn_subtasks = 16, max_steps = 5;

picture::svg_path path() { return picture::svg_path(picture::coordinates::tenths); }

class hierarchy_picture {
 public:
  hierarchy_picture(const chief::flat_log& log, const chief::attribution& of)
      : log_(log),
        of_(of),
        discrepant_(of.back.steps.begin(), of.back.steps.end()),
        agents_(of.back.agents.begin(), of.back.agents.end()) {
    if (!of.ranking.empty()) suspect_ = of.ranking[of.lead].step;
    choose();
  }

  figure draw() {
    figure out;
    out.title = "The hierarchy, and the way back";
    out.caption = fmt::format(
        "Left to right: subtasks, the agents in them, these agents' steps. ✗ marks what falls short or is discrepant; "
        "the broad band goes from "
        "the subtask to the most suspect step. {} of {} subtasks fall short of their virtual oracle.",
        fails_, of_.graph.subtasks.size());
    const double height = place();
    picture::chart to(width, height, out.title,
                      shown_.size() < of_.graph.subtasks.size()
                          ? fmt::format("{} of {} subtasks", shown_.size(), of_.graph.subtasks.size())
                          : "curves on the left: one subtask uses what another gave (dashed: order only)",
                      {.embedded = true, .description = out.caption});
    for (const auto& [k, top] : top_) way(to, k, top);
    edges(to);
    for (const auto& [k, top] : top_) subtask(to, k, top);
    out.svg = to.done();
    return out;
  }

 private:
  static constexpr double width = 960, head = 70, row = 38, gap = 14, task_x = 96, task_w = 230, agent_x = 380,
                          agent_w = 130, step_x = 560, step_w = 70, box = 26;

  // The suspect's subtask and failed ones first, then the others.
  void choose() {
    const auto& subtasks = of_.graph.subtasks;
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < subtasks.size(); ++k) fails_ += of_.back.verdicts[k].fails;
    const auto matters = [&](std::size_t k) {
      const bool suspect = suspect_ && of_.graph.subtask_of[*suspect_] == k;
      return suspect ? 0 : of_.back.verdicts[k].fails ? 1 : 2;
    };
    for (std::size_t k = 0; k < subtasks.size(); ++k) order.push_back(k);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return matters(a) < matters(b); });
    if (order.size() > max_drawn_subtasks) order.resize(max_drawn_subtasks);
    std::sort(order.begin(), order.end());
    shown_ = order;
  }

  double place() {
    double y = head;
    for (const std::size_t k : shown_) {
      top_[k] = y;
      y += row * static_cast<double>(std::max<std::size_t>(1, of_.graph.subtasks[k].agents.size())) + gap;
    }
    return y + 6;
  }

  std::vector<std::size_t> steps_of(const chief::otar& entry) const {
    std::vector<std::size_t> steps = entry.steps;
    std::stable_sort(steps.begin(), steps.end(), [&](auto a, auto b) { return weight(a) > weight(b); });
    if (steps.size() > max_steps) steps.resize(max_steps);
    std::sort(steps.begin(), steps.end());
    return steps;
  }
  int weight(std::size_t step) const { return suspect_ == step ? 2 : discrepant_.contains(step) ? 1 : 0; }

  // The band beneath the suspect, its agent and its subtask.
  void way(picture::chart& to, std::size_t k, double top) const {
    if (!suspect_) return;
    for (std::size_t a = 0; a < of_.graph.subtasks[k].agents.size(); ++a) {
      const std::vector<std::size_t> steps = steps_of(of_.graph.subtasks[k].agents[a]);
      const auto at = std::find(steps.begin(), steps.end(), *suspect_);
      if (at == steps.end()) continue;
      const double y = top + row * static_cast<double>(a) + box / 2,
                   x = step_x + step_w * static_cast<double>(at - steps.begin());
      to.shape(path()
                   .move(task_x - 6, top + box / 2)
                   .horizontal(task_x + task_w)
                   .line(agent_x, y)
                   .horizontal(x + step_w - 4),
               "lit");
    }
  }

  void edges(picture::chart& to) const {
    for (const chief::subtask_edge& e : of_.graph.subtask_edges) {
      const auto from = top_.find(e.from), into = top_.find(e.to);
      if (from == top_.end() || into == top_.end()) continue;
      const double y0 = from->second + box / 2 + 4, y1 = into->second + box / 2 - 4,
                   bend = std::min(84.0, 18 + std::abs(y1 - y0) / 4);
      const char* text = e.data ? "" : " idle";
      to.shape(path().move(task_x, y0).cubic(task_x - bend, y0, task_x - bend, y1, task_x - 7, y1),
               fmt::format("link{}", text),
               e.pattern.bias.empty() ? "" : short_name(e.pattern.bias + " → " + e.pattern.anomaly, 200));
      to.shape(path().move(task_x, y1).relative("l-9 -4.5v9z"), fmt::format("head{}", text));
    }
  }

  void subtask(picture::chart& to, std::size_t k, double top) const {
    const chief::subtask& task = of_.graph.subtasks[k];
    const bool fails = of_.back.verdicts[k].fails;
    to.rect(task_x, top, task_w, box, fails ? "node fails" : "node",
            fmt::format("subtask {}: {}{}", k, short_name(task.name, 120),
                        fails ? "; " + short_name(of_.back.verdicts[k].unmet.front(), 200) : ""),
            5);
    to.text(task_x + 8, top + 17, "start", "small strong", (fails ? "✗ " : "") + short_name(task.name, 30));
    for (std::size_t a = 0; a < task.agents.size(); ++a) {
      const chief::otar& entry = task.agents[a];
      const double y = top + row * static_cast<double>(a);
      const bool off = agents_.contains({k, entry.agent});
      to.line(task_x + task_w, top + box / 2, agent_x, y + box / 2, "link");
      to.rect(agent_x, y, agent_w, box, off ? "node fails" : "node", short_name(entry.agent, 80), 13);
      to.text(agent_x + agent_w / 2, y + 17, "middle", "small", (off ? "✗ " : "") + short_name(entry.agent, 15));
      const std::vector<std::size_t> steps = steps_of(entry);
      to.line(agent_x + agent_w, y + box / 2, step_x, y + box / 2, "link");
      for (std::size_t i = 0; i < steps.size(); ++i) step(to, steps[i], step_x + step_w * static_cast<double>(i), y);
      if (entry.steps.size() > steps.size())
        to.text(step_x + step_w * static_cast<double>(steps.size()), y + 17, "start", "tiny",
                fmt::format("+{}", entry.steps.size() - steps.size()));
    }
  }

  void step(picture::chart& to, std::size_t at, double x, double y) const {
    const bool off = discrepant_.contains(at);
    to.rect(x, y, step_w - 4, box,
            suspect_ == at ? "node fails"
            : off          ? "node warns"
                           : "node",
            fmt::format("step {}, {}: {}", at, step_name(log_, at), short_name(log_.steps[at].text, 160)), 2);
    to.text(x + (step_w - 4) / 2, y + 17, "middle", "tiny",
            (off ? "✗ " : "") + short_name(step_name(log_, at), off ? 7 : 9));
  }

  const chief::flat_log& log_;
  const chief::attribution& of_;
  const std::set<std::size_t> discrepant_;
  const std::set<std::pair<std::size_t, std::string>> agents_;
  std::optional<std::size_t> suspect_;
  std::vector<std::size_t> shown_;
  std::map<std::size_t, double> top_;
  std::size_t fails_ = 0;
};

}  // namespace

std::string step_name(const chief::flat_log& log, std::size_t step) {
  return log.steps[step].event.empty() ? "step " + std::to_string(step) : log.steps[step].event;
}

figure draw_hierarchy(const chief::flat_log& log, const chief::attribution& of) {
  return hierarchy_picture(log, of).draw();
}

}  // namespace digd::report
