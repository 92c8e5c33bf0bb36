#include "daemon/attribution/attribution_worker.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "archive/trace_source.h"
#include "base/quote.h"
#include "base/thread_name.h"

namespace digd::daemon {

using stage = attribution_state::stage;

std::string digctl_beside_digd() {
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string digd(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return digd.substr(0, digd.rfind('/') + 1) + "digctl";
}

attribution_state* attribution_worker::find(std::uint64_t run_number) {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const attribution_state& state) { return state.run_number == run_number; });
  return found == states_.end() ? nullptr : &*found;
}

bool attribution_worker::start(std::uint64_t run_number, std::uint64_t messages) {
  const std::lock_guard hold(mutex_);
  if (stopped_ || running_ != 0) {
    counts_.refused.fetch_add(1);
    return false;
  }
  if (thread_.joinable()) thread_.join();  // it is about to end
  std::erase_if(states_, [&](const attribution_state& state) { return state.run_number == run_number; });
  while (states_.size() >= max_answers) states_.pop_front();
  states_.push_back({.run_number = run_number,
                     .messages = messages,
                     .begun = std::chrono::steady_clock::now(),
                     .ended = {},
                     .answer = {},
                     .problem = {}});
  running_ = run_number;
  stopping_ = false;
  counts_.started.fetch_add(1);
  thread_ = std::thread([this, run_number] {
    name_this_thread("attribution");
    work(run_number);
  });
  return true;
}

std::optional<attribution_state> attribution_worker::state(std::uint64_t run_number) const {
  const std::lock_guard hold(mutex_);
  for (const attribution_state& state : states_) {
    if (state.run_number == run_number) return state;
  }
  return std::nullopt;
}

void attribution_worker::forget(std::uint64_t run_number) {
  const std::lock_guard hold(mutex_);
  std::erase_if(states_, [&](const attribution_state& state) { return state.run_number == run_number; });
  if (running_ == run_number) stopping_ = true;
}

void attribution_worker::stop() {
  {
    const std::lock_guard hold(mutex_);
    stopped_ = true;
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void attribution_worker::work(std::uint64_t run_number) {
  std::string answer;
  std::string problem = rank(run_number, answer);
  if (!problem.empty()) {
    counts_.failed.fetch_add(1);
    spdlog::warn("attribution_failed run_number={} reason={}", run_number, digd::quoted(problem));
  }
  const std::lock_guard hold(mutex_);
  running_ = 0;
  attribution_state* state = find(run_number);
  if (state == nullptr) return;  // the run was deleted
  state->now = problem.empty() ? stage::done : stage::failed;
  state->answer = std::move(answer);
  state->problem = std::move(problem);
  state->ended = std::chrono::steady_clock::now();
}

std::string attribution_worker::rank(std::uint64_t run_number, std::string& answer) {
  std::string unreadable;
  auto source = archive::trace_source::open(archive_path_, run_number, &unreadable);
  if (!source) return "the archive cannot be read: " + unreadable;
  limited_child child(stopping_);
  std::string problem = child.start(program_, {"attribute", "chief", "-", "--format", "json", "--brief"},
                                    {.max_memory_bytes = max_memory_bytes, .max_time = max_time});
  while (problem.empty()) {
    const auto piece = (*source)->next();
    if (!piece) return "the archive cannot be read: " + piece.error().message();
    if (piece->empty()) break;
    problem = child.write(*piece);
    const std::lock_guard hold(mutex_);
    if (attribution_state* state = find(run_number)) {
      state->read_messages += static_cast<std::uint64_t>(std::count(piece->begin(), piece->end(), '\n'));
    }
  }
  if (!problem.empty()) return problem;
  {
    const std::lock_guard hold(mutex_);
    if (attribution_state* state = find(run_number)) state->now = stage::ranking;
  }
  problem = child.finish();
  if (problem.empty()) answer = child.output();
  return problem;
}

}  // namespace digd::daemon
