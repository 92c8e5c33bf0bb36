#include "daemon/webhook/ended_runs.h"

#include <algorithm>

namespace digd::daemon {

namespace {

using number_set = boost::unordered_flat_set<std::uint64_t>;
using archive::callback_reader;

boost::system::result<number_set> open_runs(callback_reader& reads) {
  const auto open = reads.open_runs();
  if (!open) return open.error();
  return number_set(open->begin(), open->end());
}

// Adds the numbers between two runs, as far as they may still appear.
void add_missing(std::uint64_t after, std::uint64_t before, std::vector<std::uint64_t>& to) {
  const std::uint64_t first = before > ended_runs::max_disorder ? before - ended_runs::max_disorder : 0;
  for (std::uint64_t number = std::max(after + 1, first); number < before; ++number) to.push_back(number);
}

}  // namespace

boost::system::result<ended_runs::changes> ended_runs::begin(callback_reader& reads,
                                                             std::optional<std::int64_t> known_ms) {
  const auto highest = reads.highest_ever();
  if (!highest) return highest.error();
  changes out;
  out.upto = static_cast<std::uint64_t>(std::max<std::int64_t>(highest->run, 0));
  const auto open = reads.open_runs();
  if (!open) return open.error();
  for (const std::uint64_t number : *open) {
    if (number <= out.upto) out.runs.awaited.push_back(number);
  }
  const std::uint64_t recent = out.upto > max_disorder ? out.upto - max_disorder : 0;
  std::uint64_t last = known_ms ? 0 : recent;
  while (last < out.upto) {
    const auto runs = reads.runs_after(last);
    if (!runs) return runs.error();
    for (const archive::run_state& run : *runs) {
      add_missing(std::max(last, recent), std::min(run.number, out.upto + 1), out.runs.awaited);
      last = run.number;
      if (run.number > out.upto) break;
      // Open runs too: one that has appeared since `open_runs` is not among those.
      if (!run.ended_ms || (known_ms && *run.ended_ms > *known_ms)) out.runs.awaited.push_back(run.number);
    }
    if (runs->size() < callback_reader::max_rows) break;
  }
  add_missing(last, out.upto + 1, out.runs.awaited);
  return out;
}

boost::system::result<ended_runs::changes> ended_runs::restore(callback_reader& reads, std::uint64_t upto,
                                                               const std::vector<std::uint64_t>& awaited) {
  const auto open = open_runs(reads);
  if (!open) return open.error();
  changes out;
  out.upto = upto;
  for (const std::uint64_t number : awaited) {
    bool is_known = open->contains(number);
    if (!is_known) {
      const auto state = reads.state_of(number);
      if (!state) return state.error();
      is_known = state->has_value();
    }
    (is_known ? out.runs.awaited : out.runs.settled).push_back(number);
  }
  return out;
}

boost::system::result<ended_runs::changes> ended_runs::find(callback_reader& reads, std::size_t max_ends) const {
  changes out;
  out.upto = upto_;
  for (bool is_last = false; !is_last && !out.more;) {
    const auto runs = reads.runs_after(out.upto);
    if (!runs) return runs.error();
    is_last = runs->size() < callback_reader::max_rows;
    for (const archive::run_state& run : *runs) {
      out.more = run.ended_ms && out.ended.size() >= max_ends;
      if (out.more) break;
      add_missing(out.upto, run.number, out.runs.awaited);
      if (run.ended_ms) out.ended.push_back({*run.ended_ms, run.number});
      else out.runs.awaited.push_back(run.number);
      out.upto = run.number;
    }
  }
  const auto open = awaited_.empty() ? number_set{} : open_runs(reads);
  if (!open) return open.error();
  for (const std::uint64_t number : awaited_) {
    if (open->contains(number)) continue;
    if (out.ended.size() >= max_ends) {
      out.more = true;
      break;
    }
    const auto state = reads.state_of(number);
    if (!state) return state.error();
    const bool is_ended = state->has_value() && (*state)->ended_ms;
    if (is_ended) out.ended.push_back({*(*state)->ended_ms, number});
    if (is_ended || (!state->has_value() && number + max_disorder < out.upto)) out.runs.settled.push_back(number);
  }
  std::sort(out.ended.begin(), out.ended.end());
  return out;
}

void ended_runs::take(const changes& found) {
  upto_ = found.upto;
  awaited_.insert(found.runs.awaited.begin(), found.runs.awaited.end());
  for (const std::uint64_t number : found.runs.settled) awaited_.erase(number);
}

}  // namespace digd::daemon
