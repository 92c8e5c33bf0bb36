// Splits work into fixed chunks that any number of threads compute and one merges in order.
//
// Chunks and merge order depend on the task alone, so floating-point results are the same for any number of threads. A
// stop keeps a prefix, chunks 0 … k, as if no more had been requested.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "analysis/shapley/game.h"
#include "analysis/shapley/parts.h"

namespace digd::shapley {

struct run_control {
  unsigned threads = 1;
  const std::atomic<bool>* stop = nullptr;                            // set from outside, say by Ctrl-C
  std::function<void(std::size_t done, std::size_t total)> progress;  // called while merging, one thread at a time
  // Not null: compute only its share of the chunks and give it the parts; nothing is merged.
  part_output* output = nullptr;
  const part_input* input = nullptr;  // not null: read the parts from it and compute none

  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

// Computes chunks 0 … count-1. `shape(chunk, part)` gives a part its sizes; `make(ask, chunk, part)` fills it and
// returns false if `ask` failed or a stop interrupted the chunk. `merge(part)` receives the parts in order, one call at
// a time. At most 4 parts a thread wait for an earlier one. `part.each_number(f)` calls `f` with the numbers that
// `make` fills. Returns the number of merged chunks; sets `problem` if an evaluator failed, or a part cannot be read or
// kept.
template <class Part>
std::size_t in_order(const game& game, std::size_t count, const run_control& run_control,
                     const std::function<void(std::size_t, Part&)>& shape,
                     const std::function<bool(evaluator&, std::size_t, Part&)>& make,
                     const std::function<void(Part&)>& merge, std::string& problem) {
  std::mutex guard;
  std::condition_variable room;
  std::map<std::size_t, std::unique_ptr<Part>> waiting;
  std::size_t next = 0, merged = 0, end = count;
  bool halt = false;
  if (run_control.output != nullptr) {
    run_control.output->begin(count);
    next = merged = run_control.output->first();
    end = run_control.output->end();
  }
  if (run_control.input != nullptr && !(problem = run_control.input->check(count)).empty()) return 0;
  const std::size_t max_waiting = 4 * std::max(1u, run_control.threads);

  const auto work = [&] {
    const std::unique_ptr<evaluator> ask = game.make_evaluator();
    for (;;) {
      std::size_t mine;
      {
        std::unique_lock lock(guard);
        room.wait(lock, [&] { return halt || next < merged + max_waiting; });
        if (halt || run_control.stopped() || next == end) return;
        mine = next++;
      }
      auto part = std::make_unique<Part>();
      shape(mine, *part);
      std::string part_problem;
      if (run_control.input != nullptr) {
        part_reader from(run_control.input->part(mine));
        part->each_number(from);
        if (!from.is_complete()) part_problem = "the part of chunk " + std::to_string(mine) + " has another size";
      } else if (!make(*ask, mine, *part)) {
        part_problem = ask->problem().empty() ? "it stopped without a reason" : ask->problem();
      }
      const std::lock_guard lock(guard);
      if (!part_problem.empty()) {
        halt = true;
        if (problem.empty() && !run_control.stopped()) problem = part_problem;
        room.notify_all();
        return;
      }
      waiting.emplace(mine, std::move(part));
      for (auto first = waiting.begin(); first != waiting.end() && first->first == merged; first = waiting.begin()) {
        if (run_control.output == nullptr) {
          merge(*first->second);
        } else {
          part_writer to;
          first->second->each_number(to);
          if (!run_control.output->add(merged, to.take())) {
            halt = true;
            problem = "its parts are too large to be kept; take another estimator, or fewer samples";
          }
        }
        waiting.erase(first);
        ++merged;
      }
      if (run_control.progress) run_control.progress(merged, end);
      room.notify_all();
    }
  };

  std::vector<std::thread> others;
  for (unsigned i = 1; i < run_control.threads && i < end; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  return merged;
}

}  // namespace digd::shapley
