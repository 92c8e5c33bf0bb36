#include "daemon/hooks/transcript_thread.h"

#include <utility>

#include "base/thread_name.h"
#include "daemon/hooks/transcript_file.h"
#include "ingest/hooks/dialect.h"
#include "ingest/hooks/transcript.h"

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

void transcript_thread::add_usage(hooks::call&& call, next_step then) {
  if (roots_.empty() || call.transcript.empty()) return then(std::move(call));
  {
    std::lock_guard guard(mutex_);
    if (queue_.size() < max_waiting) {
      queue_.push_back({std::move(call), std::move(then)});
      wake_.notify_one();
      return;
    }
  }
  counts_.transcripts_skipped.fetch_add(1);
  then(std::move(call));
}

void transcript_thread::serve() {
  for (;;) {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    waiting_call next = std::move(queue_.front());
    queue_.pop_front();
    guard.unlock();
    read_into(next.call);
    next.then(std::move(next.call));
  }
}

void transcript_thread::read_into(hooks::call& call) const {
  const std::size_t max = call.may_read_long ? hooks::max_transcript_bytes : hooks::max_transcript_bytes_per_tool;
  const auto text = read_file_below(roots_, call.transcript, max);
  (text ? counts_.transcripts_read : counts_.transcripts_refused).fetch_add(1);
  if (!text) return;
  hooks::transcript_facts facts = hooks::read_transcript(*text);
  call.usage = facts.usage;
  if (call.model.empty()) call.model = hooks::cut(facts.model, hooks::call::max_id_bytes);
}

}  // namespace digd::daemon
