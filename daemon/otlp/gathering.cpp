#include "daemon/otlp/gathering.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "ingest/otlp/runs.h"

namespace digd::daemon {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

template <class T>
void append(std::vector<T>& to, std::vector<T>&& more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

}  // namespace

gathered_run* gathering::oldest() {
  return runs_.empty() || runs_.begin()->second.ending ? nullptr : &runs_.begin()->second;
}

gathering::taken gathering::add(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes,
                                std::int64_t now_ms) {
  return take(std::move(spans), batch, bytes, now_ms, settings_.run_spans);
}

gathering::taken gathering::restore(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes,
                                    std::int64_t now_ms) {
  return take(std::move(spans), batch, bytes, now_ms, std::numeric_limits<std::size_t>::max());
}

gathering::taken gathering::take(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes,
                                 std::int64_t now_ms, std::size_t max_run_spans) {
  taken out;
  batches_[batch].bytes = bytes;
  bytes_ += bytes;
  for (otlp::span& span : spans) {
    if (past_.contains(span.trace)) {
      ++out.late;
      continue;
    }
    gathered_run* run = &run_of(span.trace, now_ms);
    for (const std::string_view other : otlp::traces_tied_by(span)) {
      const std::string linked(other);
      if (past_.contains(linked)) continue;
      if (!tie(*run, linked)) ++out.dropped_links;
      run = by_trace_[span.trace];
    }
    if (run->ending) {
      ++out.late;
    } else if (run->spans.size() >= max_run_spans) {
      ++out.over;
    } else if (!run->known.insert(span.trace + span.id).second) {
      ++out.duplicate;
    } else {
      if (!std::exchange(run->unsent, true) || run->spans.empty()) run->first_ms = now_ms;
      run->last_ms = now_ms;
      run->is_examined = run->complete = false;
      if (run->seq == 0) run->id = std::min(run->id, otlp::run_id_of(span.trace));
      out.dropped_links += otlp::drop_links(span, max_run_links - std::min(max_run_links, run->links));
      run->links += span.links.size();
      run->spans.push_back(std::move(span));
      use_batch(*run, batch);
      ++spans_;
      ++out.accepted;
      changed(*run);
    }
  }
  out.needed = batches_[batch].runs > 0;
  if (!out.needed) {
    bytes_ -= bytes;
    batches_.erase(batch);
  }
  return out;
}

void gathering::use_batch(gathered_run& run, std::int64_t batch) {
  if (!run.batches.empty() && run.batches.back() == batch) return;
  run.batches.push_back(batch);
  ++batches_[batch].runs;
}

gathered_run& gathering::run_of(const std::string& trace, std::int64_t now_ms) {
  if (const auto known = by_trace_.find(trace); known != by_trace_.end()) return *known->second;
  gathered_run& run = runs_[++last_number_];
  run.number = last_number_;
  run.id = otlp::run_id_of(trace);
  run.traces = {trace};
  run.first_ms = run.last_ms = now_ms;
  run.due_ms = due_at(run);
  by_due_.insert({run.due_ms, run.number});
  return *(by_trace_[trace] = &run);
}

gathered_run& gathering::adopt(const std::string& run, const std::string& trace, std::int64_t now_ms) {
  gathered_run& into = run_of(otlp::trace_of_run(run), now_ms);
  if (std::exchange(by_trace_[trace], &into) != &into) into.traces.push_back(trace);
  return into;
}

// Makes the trace a part of the run. If the trace belongs to another run, merges the two. False: the run would have too
// many traces.
bool gathering::tie(gathered_run& first, const std::string& other) {
  const auto known = by_trace_.find(other);
  if (known == by_trace_.end()) {
    if (first.ending) return true;
    if (first.traces.size() >= max_run_traces) return false;
    first.traces.push_back(other);
    by_trace_[other] = &first;
    return true;
  }
  gathered_run& second = *known->second;
  if (&first == &second) return true;
  const bool first_sent = first.seq > 0, second_sent = second.seq > 0;
  if (first.traces.size() + second.traces.size() > max_run_traces) return false;
  // A run that is ending takes no more spans, and would lose those of the other.
  if ((first_sent && second_sent) || first.ending || second.ending ||
      first.spans.size() + second.spans.size() > settings_.run_spans) {
    ++unmergeable_;
    return true;
  }
  // Merges the smaller run into the larger one, so that a run of many traces is not moved with each of them.
  const auto size_of = [](const gathered_run& run) { return run.spans.size() + run.traces.size(); };
  if (second_sent || (!first_sent && size_of(second) > size_of(first))) {
    merge(second, first);
  } else {
    merge(first, second);
  }
  return true;
}

// Requires that no message of `from` was sent.
void gathering::merge(gathered_run& into, gathered_run& from) {
  for (const std::string& trace : from.traces) by_trace_[trace] = &into;
  append(into.traces, std::move(from.traces));
  if (into.seq == 0) into.id = std::min(into.id, from.id);
  std::erase_if(from.batches, [&](std::int64_t batch) {
    if (!std::binary_search(into.batches.begin(), into.batches.end(), batch)) return false;
    --batches_[batch].runs;
    return true;
  });
  const auto middle = static_cast<std::ptrdiff_t>(into.batches.size());
  append(into.batches, std::move(from.batches));
  std::inplace_merge(into.batches.begin(), into.batches.begin() + middle, into.batches.end());
  into.links += from.links;
  into.first_ms = into.unsent ? std::min(into.first_ms, from.first_ms) : from.first_ms;
  into.last_ms = std::max(into.last_ms, from.last_ms);
  into.unsent = into.unsent || from.unsent;
  into.is_examined = into.complete = false;
  append(into.spans, std::move(from.spans));
  into.known.insert(from.known.begin(), from.known.end());
  changed(into);
  by_due_.erase({from.due_ms, from.number});
  runs_.erase(from.number);
}

std::int64_t gathering::due_at(const gathered_run& run) const {
  if (run.ending) return never;
  std::int64_t at = run.last_ms + settings_.late_ms;
  if (!run.unsent) return at;
  if (!run.is_examined) at = std::min(at, run.last_ms + settings_.settle_ms);
  return std::min(at, run.first_ms + settings_.wait_ms);
}

void gathering::changed(gathered_run& run) {
  by_due_.erase({run.due_ms, run.number});
  run.due_ms = due_at(run);
  by_due_.insert({run.due_ms, run.number});
}

gathered_run* gathering::due(std::int64_t now_ms) {
  if (by_due_.empty() || by_due_.begin()->first > now_ms) return nullptr;
  return &runs_.at(by_due_.begin()->second);
}

std::optional<std::int64_t> gathering::next_due() const {
  if (by_due_.empty() || by_due_.begin()->first == never) return std::nullopt;
  return by_due_.begin()->first;
}

gathered_run* gathering::find(const std::string& run) {
  const auto found = by_trace_.find(otlp::trace_of_run(run));
  return found == by_trace_.end() || found->second->id != run ? nullptr : found->second;
}

std::vector<std::int64_t> gathering::remove(gathered_run& run, bool remember) {
  std::vector<std::int64_t> unused;
  for (const std::int64_t batch : run.batches) {
    batch_use& use = batches_[batch];
    if (--use.runs > 0) continue;
    bytes_ -= use.bytes;
    batches_.erase(batch);
    unused.push_back(batch);
  }
  for (const std::string& trace : run.traces) {
    by_trace_.erase(trace);
    if (!remember || !past_.insert(trace).second) continue;
    past_order_.push_back(trace);
    if (past_order_.size() <= max_past) continue;
    past_.erase(past_order_.front());
    past_order_.pop_front();
  }
  spans_ -= run.spans.size();
  by_due_.erase({run.due_ms, run.number});
  runs_.erase(run.number);
  return unused;
}

}  // namespace digd::daemon
