#include "archive/writer.h"

#include <sqlite3.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_steps.h"
#include "base/thread_name.h"
#include "base/thread_priority.h"

namespace digd::archive {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds retry_while_stopping{50};
constexpr milliseconds scrub_again{20};
constexpr milliseconds tidy_again{500};

// The entry itself causes these errors: a retry would always fail, and delay every other run.
bool is_caused_by_entry(const failure& failed) {
  return failed.primary() == SQLITE_CONSTRAINT || failed.primary() == SQLITE_TOOBIG ||
         failed.primary() == SQLITE_MISMATCH;
}

// Whether the entry is about stored rows and becomes none itself. It applies even to a run that was set aside.
bool is_about_stored(const entry& entry) {
  return entry.kind == entry_kind::run_deleted || entry.kind == entry_kind::judgement ||
         entry.kind == entry_kind::barrier;
}

bool counts_as_durable(const entry& entry) {
  return entry.kind == entry_kind::message || entry.kind == entry_kind::refused;
}

}  // namespace

// Exists while the writer works on the disk. If the disk hangs, the writer's thread hangs too; other threads see when
// it began to wait.
class writer::disk_work {
 public:
  explicit disk_work(std::atomic<clock::rep>& since) : since_(since) {
    since_ = clock::now().time_since_epoch().count();
  }
  ~disk_work() { since_ = 0; }
  disk_work(const disk_work&) = delete;
  disk_work& operator=(const disk_work&) = delete;

 private:
  std::atomic<clock::rep>& since_;
};

writer::writer(const options& options, counters& counted, write_queue& queue, store& into, durable_callback on_durable)
    : options_(options),
      counted_(counted),
      queue_(queue),
      store_(into),
      on_durable_(std::move(on_durable)),
      checkpoint_at_(options.checkpoint_pages) {
  batch_.reserve(options_.max_batch_entries);
  thread_ = std::thread([this] {
    name_this_thread("archive");
    lower_thread_priority();  // its work delays no answer, so engine threads go first
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
  const microseconds longest{std::max(options_.poll_us, options_.max_poll_us)};
  for (;;) {
    // Read before the queue: entries accepted before the queue was closed are still taken.
    const bool last_round = queue_.is_closed() && queue_.held() == batch_.size();
    // A failed batch is retried. If it was small, new entries join it.
    take();
    if (!batch_.empty()) {
      idle = microseconds{options_.poll_us};
      const clock::time_point begun = clock::now();
      if (write_and_tidy()) {
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
    {
      const disk_work at_disk(disk_work_since_);
      if (tidy()) continue;
    }
    pause(idle);
    idle = std::min(idle * 2, longest);
  }
  if (auto left = queue_.held(); left > 0) {
    set_trouble(stop_trouble_, "stopped with " + std::to_string(left) + " entries not written");
  }
  if (failure failed = store_.checkpoint(true)) counted_.failed_checkpoints.fetch_add(1);
}

bool writer::write_and_tidy() {
  const disk_work at_disk(disk_work_since_);
  const clock::time_point begun = clock::now();
  background_steps::begin(microseconds{options_.yield_us});
  if (!write()) return false;
  // Deletes for as long as the batch took, at least one step, so that deletion keeps up with arriving entries.
  const clock::time_point until = clock::now() + (clock::now() - begun);
  do {
    // A step of deletion is timed on its own, so that a long step after a long write does not count as a hang.
    disk_work_since_ = clock::now().time_since_epoch().count();
  } while (tidy() && clock::now() < until && !queue_.is_closed());
  return true;
}

// A disk manages few syncs per second. Under a light, steady load, each sync therefore covers several milliseconds of
// entries.
void writer::gather(clock::time_point until) {
  while (!queue_.is_closed() && queue_.held() < options_.gather_entries) {
    const auto left = std::chrono::duration_cast<microseconds>(until - clock::now());
    if (left <= microseconds{0} || pause(std::min(left, microseconds{options_.max_poll_us}))) return;
  }
}

bool writer::write() {
  auto done = store_.write(batch_);
  if (done.failed && done.at < batch_.size() && done.failed.primary() == SQLITE_TOOBIG && shrink(*batch_[done.at])) {
    return true;  // the batch is written again in the next round
  }
  if (done.failed && done.at < batch_.size() && is_caused_by_entry(done.failed)) {
    set_aside_from(done.at, done.failed);
    return true;  // the rest of the batch is written in the next round
  }
  if (done.failed) {
    ++failures_;
    counted_.failed_commits.fetch_add(1);
    set_trouble(write_trouble_, "cannot write: " + done.failed.words + "; trying again");
    return false;
  }
  failures_ = 0;
  set_trouble(write_trouble_, {});
  report(batch_);
  queue_.settle(batch_);
  spare_.give_back(batch_);
  keep_log_short();
  return true;
}

// The queue counts the bytes of its entries, so it must learn of the change.
bool writer::shrink(entry& item) {
  const std::size_t before = item.bytes();
  if (!item.shrink()) return false;
  queue_.shrunk(before - item.bytes());
  counted_.shrunk.fetch_add(1);
  return true;
}

void writer::report(const batch& done) {
  // The keys are views into the batch.
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
    if (entry->kind == entry_kind::barrier) {
      progress.push_back({.run_number = 0, .session = {}, .seq = 0, .barrier = entry->seq});
    }
    if (!counts_as_durable(*entry)) continue;
    auto& seq = highest[{entry->run_number, entry->session}];
    seq = std::max(seq, entry->seq);
  }
  counted_.entries.fetch_add(done.size());
  counted_.bytes.fetch_add(bytes);
  counted_.commits.fetch_add(1);
  if (!on_durable_) return;
  progress.reserve(progress.size() + highest.size());
  for (const auto& [run_and_session, seq] : highest) {
    progress.push_back({run_and_session.first, std::string(run_and_session.second), seq});
  }
  on_durable_(progress);
}

// The run's stored entries remain a prefix of the run. Later ones are dropped and never acknowledged.
void writer::set_aside_from(std::size_t at, const failure& failed) {
  const auto run = batch_[at]->run_number;
  set_aside_.insert(run);
  set_trouble(set_aside_trouble_, std::to_string(set_aside_.size()) +
                                      " runs are no longer archived, the last of them number " + std::to_string(run) +
                                      ": " + failed.words);
  drop(std::stable_partition(batch_.begin() + static_cast<std::ptrdiff_t>(at), batch_.end(),
                             [&](const auto& item) { return item->run_number != run || is_about_stored(*item); }));
}

// Drops new entries of runs that were set aside. Entries of such runs that are in the batch already come before the
// contradiction and stay.
void writer::take() {
  background_steps::begin(microseconds{options_.yield_us});
  const auto old = static_cast<std::ptrdiff_t>(batch_.size());
  if (!queue_.take(batch_, options_.max_batch_entries, options_.max_batch_bytes, spare_) || set_aside_.empty()) return;
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

// Runs after the acknowledgement, so that no client waits for it. If a reader keeps part of the log in use, the next
// attempt follows when the log has grown by another quarter.
void writer::keep_log_short() {
  const int pages = store_.log_pages();
  if (pages < options_.checkpoint_pages) checkpoint_at_ = options_.checkpoint_pages;
  if (pages < checkpoint_at_) return;
  failure failed = store_.checkpoint(false);
  if (failed) {
    counted_.failed_checkpoints.fetch_add(1);
    set_trouble(log_trouble_, "cannot move the log into the archive file: " + failed.words + "; the log grows");
  } else {
    set_trouble(log_trouble_, {});
  }
  const bool all_moved = !failed && store_.is_all_moved();
  checkpoint_at_ = all_moved ? options_.checkpoint_pages : store_.log_pages() + options_.checkpoint_pages / 4;
}

// Removes some rows, gives back some pages, or empties the log. Each step is short, because acks wait for it.
bool writer::tidy() {
  if (clock::now() < tidy_next_) return false;
  failure failed;
  if (store_.has_rows_to_remove()) {
    const store::removal step = store_.remove_some();
    failed = step.failed;
    if (!failed && step.gone != 0) run_gone(step.gone);
  } else if (store_.has_pages_to_give_back()) {
    failed = store_.give_back_some();
    to_scrub_ = to_scrub_ || !failed;  // the checkpoint makes the file smaller
  } else {
    scrub_log();
    return false;
  }
  if (!failed) {
    set_trouble(tidy_trouble_, {});
    keep_log_short();
    return true;
  }
  tidy_next_ = clock::now() + tidy_again;
  counted_.failed_removals.fetch_add(1);
  set_trouble(tidy_trouble_, "cannot remove what was deleted: " + failed.words + "; trying again");
  return false;
}

void writer::run_gone(std::uint64_t run_number) {
  counted_.deleted_runs.fetch_add(1);
  if (set_aside_.erase(run_number) > 0 && set_aside_.empty()) set_trouble(set_aside_trouble_, {});
  to_scrub_ = true;
  scrub_log();
  if (!on_durable_) return;
  const durable gone[] = {{run_number, {}, 0, true}};
  on_durable_(gone);
}

// Deleted rows are overwritten in the file, but remain in the log until it is emptied. If a reader prevents that, the
// writer retries.
void writer::scrub_log() {
  if (!to_scrub_ || clock::now() < scrub_next_) return;
  scrub_next_ = clock::now() + scrub_again;
  const failure failed = store_.checkpoint(true);
  if (failed) counted_.failed_checkpoints.fetch_add(1);
  to_scrub_ = failed || !store_.is_all_moved() || store_.log_pages() > 0;
}

void writer::backoff() {
  if (queue_.is_closed()) {
    std::this_thread::sleep_for(retry_while_stopping);
    return;
  }
  const auto doubled = std::uint64_t{options_.retry_ms} << std::min(failures_ - 1, 20u);
  pause(milliseconds(std::min<std::uint64_t>(doubled, options_.max_retry_ms)));
}

bool writer::pause(microseconds duration) {
  std::unique_lock guard(mutex_);
  return wake_.wait_for(guard, duration, [this] { return stopping_; });
}

void writer::set_trouble(std::string& trouble, std::string words) {
  std::string now;
  {
    std::lock_guard guard(mutex_);
    if (trouble == words) return;
    trouble = std::move(words);
    now = health_locked();
  }
  if (options_.on_health) options_.on_health(now);
}

std::string writer::health() const {
  std::string text;
  {
    std::lock_guard guard(mutex_);
    text = health_locked();
  }
  const std::string hanging = hang_problem();
  if (!text.empty() && !hanging.empty()) text += "; ";
  return text + hanging;
}

std::string writer::hang_problem() const {
  const clock::rep since = disk_work_since_;
  const std::size_t waiting = queue_.held();
  if (since == 0 || waiting == 0) return {};
  const auto age = clock::now().time_since_epoch() - clock::duration(since);
  if (age < milliseconds(options_.max_disk_ms)) return {};
  return "the disk has not answered for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(age).count()) + " s; " +
         std::to_string(waiting) + " entries wait";
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
