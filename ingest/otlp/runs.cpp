#include "ingest/otlp/runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ingest/otlp/dialect.h"

namespace digd::otlp {

namespace {

// The smallest trace id of the group that a trace belongs to (union-find with path halving).
class ties {
 public:
  std::string least(std::string trace) {
    for (;;) {
      std::string& above = above_.try_emplace(trace, trace).first->second;
      if (above == trace) return trace;
      above = above_.at(above);
      trace = above;
    }
  }
  void tie(const std::string& a, const std::string& b) {
    const std::string x = least(a), y = least(b);
    if (x != y) above_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::map<std::string, std::string> above_;
};

}  // namespace

std::vector<std::string_view> traces_tied_by(const span& s) {
  std::vector<std::string_view> out;
  if (s.links.empty() || dialect_of(s) == nullptr) return out;
  for (const span_link& link : s.links) {
    if (link.trace != s.trace && std::find(out.begin(), out.end(), link.trace) == out.end()) out.push_back(link.trace);
  }
  return out;
}

std::vector<run_of_spans> split_runs(std::vector<span>&& spans) {
  ties ties;
  for (const span& s : spans) {
    for (const std::string_view other : traces_tied_by(s)) ties.tie(s.trace, std::string(other));
  }
  std::map<std::string, std::vector<span>> by_run;
  for (span& s : spans) {
    const std::string id = ties.least(s.trace);
    by_run[id].push_back(std::move(s));
  }
  std::vector<run_of_spans> out;
  out.reserve(by_run.size());
  for (auto& [group, its] : by_run) {
    const auto least = std::ranges::min_element(its, {}, &span::trace);
    out.push_back({run_id_of(least->trace), std::move(its)});
  }
  std::ranges::sort(out, {}, &run_of_spans::id);
  return out;
}

namespace {
constexpr std::string_view run_prefix = "otlp-";
}

std::string run_id_of(std::string_view least_trace) { return std::string(run_prefix) + std::string(least_trace); }

std::string trace_of_run(std::string_view run_id) {
  return run_id.starts_with(run_prefix) ? std::string(run_id.substr(run_prefix.size())) : std::string();
}

}  // namespace digd::otlp
