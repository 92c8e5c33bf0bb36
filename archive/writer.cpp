#include "archive/writer.h"

#include <sqlite3.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "base/thread_priority.h"

namespace digd::archive {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds retry_while_stopping{50};
constexpr milliseconds scrub_again{20};
constexpr milliseconds tidy_again{500};

// Errors that the entry itself causes: trying again would fail for ever, and hold up every other run.
bool is_entrys_fault(const failure& why) {
  return why.primary() == SQLITE_CONSTRAINT || why.primary() == SQLITE_TOOBIG || why.primary() == SQLITE_MISMATCH;
}

// About what is stored already: it counts also for a run that is no longer archived.
bool is_about_stored(const entry& entry) {
  return entry.kind == entry_kind::run_deleted || entry.kind == entry_kind::judgement;
}

bool counts_as_durable(const entry& entry) {
  return entry.kind == entry_kind::message || entry.kind == entry_kind::refused;
}

}  // namespace

writer::writer(const options& options, counters& counted, hand_off& queue, store& into, durable_callback on_durable)
    : options_(options),
      counted_(counted),
      queue_(queue),
      store_(into),
      on_durable_(std::move(on_durable)),
      checkpoint_at_(options.checkpoint_pages) {
  batch_.reserve(options_.batch_entries);
  thread_ = std::thread([this] {
    name_this_thread("archive");
    stand_back();  // what it writes is already answered
    work();
  });
}

void writer::stop() {
  std::call_once(stopped_, [this] {
    queue_.close();
    {
      std::lock_guard guard(mutex_);
      stopping_ = true;
      give_up_at_ = clock::now() + milliseconds(options_.stop_ms);
    }
    wake_.notify_all();
    thread_.join();
  });
}

void writer::work() {
  microseconds idle{options_.poll_us};
  const microseconds longest{std::max(options_.poll_us, options_.poll_most_us)};
  for (;;) {
    // Looked at before the queue: what was accepted before it was closed is found.
    const bool last_round = queue_.is_closed() && queue_.held() == batch_.size();
    // A batch that failed is tried again as it is, with what has come meanwhile if it was small.
    take();
    if (!batch_.empty()) {
      idle = microseconds{options_.poll_us};
      const clock::time_point begun = clock::now();
      if (write()) {
        tidy();
        gather(begun + microseconds{options_.gather_us});
        continue;
      }
      if (queue_.is_closed()) {
        std::unique_lock guard(mutex_);
        if (stopping_ && clock::now() >= give_up_at_) break;
      }
      backoff();
      continue;
    }
    if (last_round) break;
    if (tidy()) continue;
    pause(idle);
    idle = std::min(idle * 2, longest);
  }
  if (auto left = queue_.held(); left > 0) {
    say(stop_trouble_, "stopped with " + std::to_string(left) + " entries not written");
  }
  if (failure why = store_.checkpoint(true)) counted_.failed_checkpoints.fetch_add(1);
}

// Syncs are what a disk has fewest of: under a light but steady load each serves some milliseconds of entries.
void writer::gather(clock::time_point until) {
  while (!queue_.is_closed() && queue_.held() < options_.gather_entries) {
    const auto left = std::chrono::duration_cast<microseconds>(until - clock::now());
    if (left <= microseconds{0} || pause(std::min(left, microseconds{options_.poll_most_us}))) return;
  }
}

bool writer::write() {
  auto done = store_.write(batch_);
  if (done.why && done.at < batch_.size() && is_entrys_fault(done.why)) {
    set_aside_from(done.at, done.why);
    return true;  // the rest at once
  }
  if (done.why) {
    ++failures_;
    counted_.failed_commits.fetch_add(1);
    say(write_trouble_, "cannot write: " + done.why.words + "; trying again");
    return false;
  }
  failures_ = 0;
  say(write_trouble_, {});
  report(batch_);
  queue_.settle(batch_);
  batch_.clear();
  keep_log_short();
  return true;
}

void writer::report(const batch& done) {
  // Views into the batch: it lives until this returns.
  boost::unordered_flat_map<std::pair<std::uint64_t, std::string_view>, std::uint64_t,
                            boost::hash<std::pair<std::uint64_t, std::string_view>>>
      highest;
  std::uint64_t bytes = 0;
  std::vector<durable> progress;
  for (const auto& entry : done) {
    bytes += entry->bytes();
    if (entry->opinion)
      progress.push_back(
          {.run_number = entry->run_number, .session = {}, .seq = 0, .judgement = entry->opinion->ticket});
    if (!counts_as_durable(*entry)) continue;
    auto& seq = highest[{entry->run_number, entry->session}];
    seq = std::max(seq, entry->seq);
  }
  counted_.entries.fetch_add(done.size());
  counted_.bytes.fetch_add(bytes);
  counted_.commits.fetch_add(1);
  if (!on_durable_) return;
  progress.reserve(progress.size() + highest.size());
  for (const auto& [who, seq] : highest) progress.push_back({who.first, std::string(who.second), seq});
  on_durable_(progress);
}

// The run's entries up to there stay a prefix of it; the later ones are dropped and never acknowledged.
void writer::set_aside_from(std::size_t at, const failure& why) {
  const auto run = batch_[at]->run_number;
  set_aside_.insert(run);
  say(set_aside_trouble_, std::to_string(set_aside_.size()) + " runs are no longer archived, the last of them number " +
                              std::to_string(run) + ": " + why.words);
  drop(std::stable_partition(batch_.begin() + static_cast<std::ptrdiff_t>(at), batch_.end(),
                             [&](const auto& item) { return item->run_number != run || is_about_stored(*item); }));
}

// What comes later for a run that was set aside is dropped; what is in the batch of it already is its
// beginning.
void writer::take() {
  const auto old = static_cast<std::ptrdiff_t>(batch_.size());
  if (!queue_.take(batch_, options_.batch_entries, options_.batch_bytes) || set_aside_.empty()) return;
  drop(std::stable_partition(batch_.begin() + old, batch_.end(), [&](const auto& item) {
    return !set_aside_.contains(item->run_number) || is_about_stored(*item);
  }));
}

void writer::drop(batch::iterator from) {
  batch dropped(std::make_move_iterator(from), std::make_move_iterator(batch_.end()));
  batch_.erase(from, batch_.end());
  counted_.set_aside.fetch_add(dropped.size());
  queue_.settle(dropped);
}

// After the acknowledgement, so that nobody waits for it. A reader can keep part of the log in use: then it
// is tried again when a quarter more has come.
void writer::keep_log_short() {
  const int pages = store_.log_pages();
  if (pages < options_.checkpoint_pages) checkpoint_at_ = options_.checkpoint_pages;
  if (pages < checkpoint_at_) return;
  failure why = store_.checkpoint(false);
  if (why) {
    counted_.failed_checkpoints.fetch_add(1);
    say(log_trouble_, "cannot move the log into the archive file: " + why.words + "; the log grows");
  } else {
    say(log_trouble_, {});
  }
  const bool all_moved = !why && store_.is_all_moved();
  checkpoint_at_ = all_moved ? options_.checkpoint_pages : store_.log_pages() + options_.checkpoint_pages / 4;
}

// Between two batches at most one step: whoever waits for an ack waits for no more than that.
bool writer::tidy() {
  if (clock::now() < tidy_next_) return false;
  failure why;
  if (store_.has_rows_to_remove()) {
    const store::removal step = store_.remove_some();
    why = step.why;
    if (!why && step.gone != 0) run_gone(step.gone);
  } else if (store_.has_pages_to_give_back()) {
    why = store_.give_back_some();
    to_scrub_ = to_scrub_ || !why;  // the file shrinks when the log is moved into it
  } else {
    scrub_log();
    return false;
  }
  if (!why) {
    say(tidy_trouble_, {});
    keep_log_short();
    return true;
  }
  tidy_next_ = clock::now() + tidy_again;
  counted_.failed_removals.fetch_add(1);
  say(tidy_trouble_, "cannot remove what was deleted: " + why.words + "; trying again");
  return false;
}

void writer::run_gone(std::uint64_t run_number) {
  counted_.deleted_runs.fetch_add(1);
  to_scrub_ = true;
  scrub_log();
  if (!on_durable_) return;
  const durable gone[] = {{run_number, {}, 0, true}};
  on_durable_(gone);
}

// What was deleted is overwritten in the file, and leaves the log when that is emptied. A reader may be in the way:
// then it is tried again.
void writer::scrub_log() {
  if (!to_scrub_ || clock::now() < scrub_next_) return;
  scrub_next_ = clock::now() + scrub_again;
  const failure why = store_.checkpoint(true);
  if (why) counted_.failed_checkpoints.fetch_add(1);
  to_scrub_ = why || !store_.is_all_moved() || store_.log_pages() > 0;
}

void writer::backoff() {
  if (queue_.is_closed()) {
    std::this_thread::sleep_for(retry_while_stopping);
    return;
  }
  const auto doubled = std::uint64_t{options_.retry_ms} << std::min(failures_ - 1, 20u);
  pause(milliseconds(std::min<std::uint64_t>(doubled, options_.retry_most_ms)));
}

bool writer::pause(microseconds how_long) {
  std::unique_lock guard(mutex_);
  return wake_.wait_for(guard, how_long, [this] { return stopping_; });
}

void writer::say(std::string& which, std::string words) {
  std::string now;
  {
    std::lock_guard guard(mutex_);
    if (which == words) return;
    which = std::move(words);
    now = health_locked();
  }
  if (options_.on_health) options_.on_health(now);
}

std::string writer::health() const {
  std::lock_guard guard(mutex_);
  return health_locked();
}

std::string writer::health_locked() const {
  std::string text;
  for (const auto* trouble : {&stop_trouble_, &write_trouble_, &set_aside_trouble_, &log_trouble_, &tidy_trouble_}) {
    if (trouble->empty()) continue;
    if (!text.empty()) text += "; ";
    text += *trouble;
  }
  return text;
}

}  // namespace digd::archive
