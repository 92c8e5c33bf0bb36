#include "report/picture/selection.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "report/picture/text.h"

namespace digd::picture {

namespace {

class selector {
 public:
  selector(const model& from, const filter& filter) : model_(from), filter_(filter), keep_(from.rows.size(), true) {}

  selection run() {
    if (!by_agents() || !by_event()) return std::move(out_);
    by_rule();
    if (filter_.from || filter_.to) by_time();
    if (!filter_.fyi) without_fyi();
    out_.all_nodes = count_nodes();
    whole_activations();
    cut();
    finish();
    return std::move(out_);
  }

 private:
  using marks = std::vector<bool>;

  bool nothing(std::string note) {
    out_.notes.push_back(std::move(note));
    out_.has_row.assign(model_.rows.size(), false);
    out_.has_lane.assign(model_.lanes.size(), false);
    return false;
  }

  void keep_if(const std::function<bool(const row&)>& wanted) {
    for (std::size_t i = 0; i < keep_.size(); ++i) keep_[i] = keep_[i] && wanted(model_.rows[i]);
  }

  index lane_of(const row& r) const {
    if (r.activation != none) return model_.activations[r.activation].lane;
    return r.lane;
  }

  bool by_agents() {
    if (filter_.agents.empty()) return true;
    marks wanted(model_.lanes.size(), false);
    for (const std::string& name : filter_.agents) {
      const index lane = model_.find_lane(name);
      if (lane == none) return nothing("no agent \"" + safe(name) + "\" in this run");
      wanted[lane] = true;
    }
    keep_if([&](const row& r) {
      const index lane = lane_of(r);
      return (lane != none && wanted[lane]) ||
             std::any_of(r.to.begin(), r.to.end(), [&](const transfer& g) { return wanted[g.lane]; }) ||
             r.kind == row_kind::firing || (r.kind == row_kind::note && lane == none);
    });
    wanted_lanes_ = wanted;
    return true;
  }

  // Two steps out from the events: their activations, and the events of these.
  void near(const marks& events) {
    marks activations(model_.activations.size(), false), shown = events;
    for (std::size_t v = 0; v < model_.activations.size(); ++v) {
      const activation& a = model_.activations[v];
      const auto named = [&](index e) { return static_cast<bool>(events[e]); };
      activations[v] = std::any_of(a.outputs.begin(), a.outputs.end(), named) ||
                       std::any_of(a.inputs.begin(), a.inputs.end(), [&](const input& i) { return named(i.event); });
      if (!activations[v]) continue;
      for (const index e : a.outputs) shown[e] = true;
      for (const input& i : a.inputs) shown[i.event] = true;
    }
    keep_if([&](const row& r) {
      if (r.kind == row_kind::start || r.kind == row_kind::end) return static_cast<bool>(activations[r.activation]);
      return r.event != none && shown[r.event];
    });
  }

  bool by_event() {
    if (filter_.around.empty()) return true;
    marks named(model_.events.size(), false);
    for (std::size_t e = 0; e < named.size(); ++e) named[e] = model_.events[e].id == filter_.around;
    if (std::find(named.begin(), named.end(), true) == named.end()) {
      return nothing("no event \"" + safe(filter_.around) + "\" in this run");
    }
    near(named);
    return true;
  }

  void by_rule() {
    if (!filter_.rule) return;
    marks named(model_.events.size(), false), firing(model_.rows.size(), false);
    const auto its = [&](index f) { return model_.findings[f].rule == *filter_.rule; };
    for (std::size_t e = 0; e < named.size(); ++e) {
      const event& event = model_.events[e];
      named[e] = std::any_of(event.findings.begin(), event.findings.end(), its) ||
                 std::any_of(event.evidence.begin(), event.evidence.end(), its);
    }
    const marks before = keep_;
    near(named);
    for (std::size_t i = 0; i < keep_.size(); ++i) {
      const row& r = model_.rows[i];
      keep_[i] = keep_[i] || (before[i] && std::any_of(r.findings.begin(), r.findings.end(), its));
    }
  }

  void by_time() {
    keep_if(
        [&](const row& r) { return (!filter_.from || r.ts >= *filter_.from) && (!filter_.to || r.ts <= *filter_.to); });
  }

  void without_fyi() {
    keep_if([&](const row& r) { return r.kind != row_kind::event || !model_.events[r.event].fyi; });
  }

  // If a part of an activation is shown, all of it is shown, from start to end.
  void whole_activations() {
    marks seen(model_.activations.size(), false);
    for (std::size_t i = 0; i < keep_.size(); ++i) {
      const row& r = model_.rows[i];
      if (keep_[i] && r.activation != none && !seen[r.activation]) {
        const bool hidden = !wanted_lanes_.empty() && !wanted_lanes_[model_.activations[r.activation].lane];
        seen[r.activation] = !hidden;
      }
    }
    for (std::size_t i = 0; i < keep_.size(); ++i) {
      const row& r = model_.rows[i];
      if (r.kind == row_kind::start || r.kind == row_kind::end) keep_[i] = seen[r.activation];
    }
  }

  static bool is_node(const row& r) {
    return r.kind == row_kind::start || r.kind == row_kind::event || r.kind == row_kind::remedy ||
           r.kind == row_kind::reroute;
  }

  std::size_t count_nodes() const {
    std::size_t nodes = 0;
    for (std::size_t i = 0; i < keep_.size(); ++i) nodes += keep_[i] && is_node(model_.rows[i]);
    return nodes;
  }

  // Over the limit: rows around the first findings, most of them before these.
  void cut() {
    if (count_nodes() <= filter_.limit) return;
    std::size_t first = 0;
    bool found = false;
    for (std::size_t i = 0; i < keep_.size() && !found; ++i) {
      if (keep_[i] && !model_.rows[i].findings.empty()) {
        first = i;
        found = true;
      }
    }
    std::size_t nodes = 0;
    std::size_t begin = found ? first + 1 : 0;
    for (; begin > 0 && nodes < filter_.limit * 2 / 3; --begin)
      nodes += keep_[begin - 1] && is_node(model_.rows[begin - 1]);
    std::size_t end = found ? first + 1 : 0;
    for (; end < keep_.size() && nodes < filter_.limit; ++end) nodes += keep_[end] && is_node(model_.rows[end]);
    // Uses room that is left at the end of the run for earlier rows.
    for (; begin > 0 && nodes < filter_.limit; --begin) nodes += keep_[begin - 1] && is_node(model_.rows[begin - 1]);
    for (std::size_t i = 0; i < keep_.size(); ++i) keep_[i] = keep_[i] && i >= begin && i < end;
    cut_ = true;
    around_finding_ = found;
  }

  void finish() {
    out_.has_lane.assign(model_.lanes.size(), false);
    out_.has_row = keep_;
    const auto use = [&](index lane) {
      if (lane == none || out_.has_lane[lane]) return;
      if (!wanted_lanes_.empty() && !wanted_lanes_[lane]) return;
      out_.has_lane[lane] = true;
    };
    std::vector<bool> found(model_.findings.size(), false);
    for (std::size_t i = 0; i < keep_.size(); ++i) {
      if (!keep_[i]) continue;
      const row& r = model_.rows[i];
      out_.rows.push_back(static_cast<index>(i));
      out_.nodes += is_node(r);
      use(lane_of(r));
      for (const transfer& g : r.to) use(g.lane);
      for (const index f : r.findings) found[f] = !filter_.rule || model_.findings[f].rule == *filter_.rule;
    }
    for (std::size_t l = 0; l < model_.lanes.size(); ++l) {
      if (out_.has_lane[l]) out_.lanes.push_back(static_cast<index>(l));
    }
    for (std::size_t f = 0; f < found.size(); ++f) {
      if (found[f]) out_.findings.push_back(static_cast<index>(f));
    }
    notes();
  }

  void notes() {
    if (out_.rows.empty()) out_.notes.push_back("nothing to show here");
    if (cut_) {
      out_.notes.push_back("shows " + std::to_string(out_.nodes) + " of " + std::to_string(out_.all_nodes) +
                           " activations and events, " +
                           (around_finding_ ? "about the first detection" : "the first ones") +
                           "; --after/--before, --agent, --around and --rule narrow it down, --limit shows more");
    }
    if (model_.cut)
      out_.notes.push_back(
          "the trace is longer than a picture can be; its end was not read (--before ends it earlier)");
  }

  const model& model_;
  const filter& filter_;
  marks keep_;
  marks wanted_lanes_;  // empty: all
  bool cut_ = false, around_finding_ = false;
  selection out_;
};

}  // namespace

selection select(const model& from, const filter& filter) { return selector(from, filter).run(); }

std::vector<index> selection::detections_of(const row& r) const {
  std::vector<index> some;
  for (const index f : r.findings) {
    if (std::binary_search(findings.begin(), findings.end(), f)) some.push_back(f);
  }
  return some;
}

std::vector<index> busiest_lanes(const model& from, const selection& part, std::size_t most) {
  std::vector<std::size_t> weight(from.lanes.size(), 0);
  for (const index at : part.rows) {
    const row& r = from.rows[at];
    if (r.activation != none) weight[from.activations[r.activation].lane] += 2;
    for (const transfer& g : r.to) ++weight[g.lane];
  }
  std::vector<index> lanes;
  for (const index l : part.lanes) {
    if (from.lanes[l].acted || from.lanes[l].member) lanes.push_back(l);
  }
  if (lanes.size() <= most) return lanes;
  std::stable_sort(lanes.begin(), lanes.end(), [&](index a, index b) { return weight[a] > weight[b]; });
  lanes.resize(most);
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

milliseconds notable_pause(const model& from, const selection& part) {
  constexpr milliseconds least = 1000, times_the_usual = 10;
  std::vector<milliseconds> gaps;
  for (std::size_t i = 1; i < part.rows.size(); ++i) {
    const milliseconds gap = from.rows[part.rows[i]].ts - from.rows[part.rows[i - 1]].ts;
    if (gap > 0) gaps.push_back(gap);
  }
  if (gaps.size() < 3) return least;
  const auto usual = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 4);
  std::nth_element(gaps.begin(), usual, gaps.end());
  return *usual > std::numeric_limits<milliseconds>::max() / times_the_usual
             ? *usual
             : std::max(least, *usual * times_the_usual);
}

index closing_row(const model& from, const selection& part, const activation& a) {
  if (a.open) return none;
  const row& last = from.rows[a.last_row];
  for (index i = a.last_row; i > a.first_row; --i) {
    const row& before = from.rows[i - 1];
    if (before.seq != last.seq || before.activation != last.activation) break;
    if (part.has_row[i - 1] && before.kind != row_kind::start) return i - 1;
  }
  const auto at = std::lower_bound(part.rows.begin(), part.rows.end(), a.last_row);
  const bool alone =
      at != part.rows.begin() && at != part.rows.end() && *at == a.last_row && *std::prev(at) == a.first_row;
  return alone ? a.first_row : a.last_row;
}

}  // namespace digd::picture
