// Finds the engine thread of an archived run, for the archive's writer thread. It takes no lock: engine threads report
// their runs through a queue. A report is always read before an entry of that run can be durable.
//
// Threads: `add` and `remove` any; `update` and `thread_of` the archive's writer thread. Bounds: one entry for each run
// that was added and not removed. Failure: `thread_of` returns nullopt for other runs.
#pragma once

#include <concurrentqueue/concurrentqueue.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace digd::daemon {

class ack_router {
 public:
  // Any thread.
  void add(std::uint64_t run_number, std::size_t thread) { changes_.enqueue({run_number, thread, true}); }
  void remove(std::uint64_t run_number) { changes_.enqueue({run_number, 0, false}); }

  // Only the writer thread. Call `update` before `thread_of`.
  void update() {
    for (change item; changes_.try_dequeue(item);) {
      if (item.is_added) {
        threads_[item.run_number] = item.thread;
      } else {
        threads_.erase(item.run_number);
      }
    }
  }
  std::optional<std::size_t> thread_of(std::uint64_t run_number) const {
    const auto found = threads_.find(run_number);
    return found == threads_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct change {
    std::uint64_t run_number = 0;
    std::size_t thread = 0;
    bool is_added = false;
  };
  moodycamel::ConcurrentQueue<change> changes_;
  boost::unordered_flat_map<std::uint64_t, std::size_t> threads_;
};

}  // namespace digd::daemon
