#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

#include "cli/size_text.h"

namespace digd::cli {

namespace {

std::string amount(const progress::phase& now, std::uint64_t done) {
  const bool is_bytes = now.unit == "bytes";
  const std::string percent =
      now.total > 0
          ? std::to_string(static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(now.total)))
          : std::string();
  if (now.total > 0 && now.unit.empty()) return percent + " %";
  if (now.total > 0 && is_bytes) return percent + " % of " + size_text(now.total);
  if (now.total > 0) return std::to_string(done) + " of " + std::to_string(now.total) + ' ' + now.unit;
  if (done == 0 || now.unit.empty()) return {};
  return is_bytes ? size_text(done) : std::to_string(done) + ' ' + now.unit;
}

}  // namespace

std::string progress_line(const progress::phase& now, std::uint64_t done, double seconds) {
  if (now.total > 0) done = std::min(done, now.total);
  std::string line = now.name + ": ";
  if (const std::string text = amount(now, done); !text.empty()) line += text + ", ";
  char time[48];
  if (now.total > 0 && done > 0) {
    const double left = seconds * static_cast<double>(now.total - done) / static_cast<double>(done);
    std::snprintf(time, sizeof time, "%.0f s left", left);
  } else {
    std::snprintf(time, sizeof time, "%.0f s", seconds);
  }
  return line + time;
}

progress::progress(bool is_quiet)
    : error_(std::cerr.rdbuf()), to_(!is_quiet && ::isatty(STDERR_FILENO) == 1 ? &error_ : nullptr), when_() {
  start();
}

progress::progress(std::ostream& to, const timing& when) : error_(nullptr), to_(&to), when_(when) { start(); }

progress::~progress() {
  if (to_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopped_.notify_all();
  drawer_.join();
  clear();
}

void progress::start() {
  if (to_ == nullptr) return;
  begun_ = clock::now();
  drawer_ = std::thread([this] { draw_until_stopped(); });
}

void progress::begin(phase next) {
  const std::lock_guard lock(mutex_);
  done_ = 0;
  total_ = next.total;
  phase_ = std::move(next);
  begun_ = clock::now();
}

void progress::set(std::uint64_t done, std::uint64_t total) {
  done_ = done;
  total_ = total;
}

std::unique_lock<std::mutex> progress::pause() {
  std::unique_lock lock(mutex_);
  clear();
  return lock;
}

std::unique_lock<std::mutex> progress::pause_for_output() {
  return to_ != nullptr && ::isatty(STDOUT_FILENO) == 1 ? pause() : std::unique_lock<std::mutex>();
}

void progress::draw_until_stopped() {
  std::unique_lock lock(mutex_);
  for (auto wait = when_.after; !stopped_.wait_for(lock, wait, [this] { return stops_; }); wait = when_.every) {
    if (phase_.name.empty()) continue;
    phase_.total = total_;
    const std::uint64_t done = phase_.measure ? phase_.measure() : done_.load();
    const double seconds = std::chrono::duration<double>(clock::now() - begun_).count();
    *to_ << "\r\x1b[K" << progress_line(phase_, done, seconds) << std::flush;
    is_drawn_ = true;
  }
}

void progress::clear() {
  if (is_drawn_) *to_ << "\r\x1b[K" << std::flush;
  is_drawn_ = false;
}

}  // namespace digd::cli
