// Writes that the archive has yet to make durable: deletions by run number, or judgements by ticket. Any thread.
//
// Bounds: one callback for each write that is not durable yet. If the archive stops before the write, its callback is
// never called.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace digd::daemon {

class pending_writes {
 public:
  // `on_durable` is called once, on the thread that reports the write.
  void expect(std::uint64_t key, std::function<void()> on_durable);
  void complete(std::uint64_t key);
  // The daemon stops: drops the callbacks without calling them.
  void abandon();

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::function<void()>> waiting_;
};

}  // namespace digd::daemon
