#include "daemon/hooks/transcript_thread.h"

#include <utility>

#include "base/thread_name.h"
#include "daemon/hooks/transcript_file.h"

namespace digd::daemon {

transcript_thread::transcript_thread(std::vector<std::string> roots, hook_counts& counts)
    : roots_(std::move(roots)), counts_(counts) {
  if (roots_.empty()) return;
  thread_ = std::thread([this] {
    name_this_thread("transcripts");
    serve();
  });
}

transcript_thread::~transcript_thread() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool transcript_thread::read(const hooks::call& of, next_step then) {
  if (roots_.empty() || of.transcript.empty()) return false;
  {
    std::lock_guard guard(mutex_);
    if (queue_.size() < max_waiting) {
      const std::size_t max_bytes =
          of.may_read_long ? hooks::max_transcript_bytes : hooks::max_transcript_bytes_per_tool;
      queue_.push_back({of.transcript, max_bytes, std::move(then)});
      wake_.notify_one();
      return true;
    }
  }
  counts_.transcripts_skipped.fetch_add(1);
  return false;
}

void transcript_thread::serve() {
  for (;;) {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const waiting_transcript next = std::move(queue_.front());
    queue_.pop_front();
    guard.unlock();
    next.then(facts_of(next));
  }
}

std::optional<hooks::transcript_facts> transcript_thread::facts_of(const waiting_transcript& wanted) const {
  const auto text = read_file_below(roots_, wanted.path, wanted.max_bytes);
  (text ? counts_.transcripts_read : counts_.transcripts_refused).fetch_add(1);
  if (!text) return std::nullopt;
  return hooks::read_transcript(*text);
}

}  // namespace digd::daemon
