// What the operator does to runs from outside: the switch for all of them, and deletion. Asynchronous: the work is each
// engine thread's own, for the runs that it owns.
//
// Threads: `switch_all` and `delete_run` any; `done` is called on an engine thread, or the archive's writer thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/http/responses.h"
#include "model/settings.h"

namespace digd::daemon {

class engine_thread;
struct shared_state;

// Deletions, by run number, or judgements, by ticket, that the archive has yet to make durable. Any thread.
class pending_writes {
 public:
  void expect(std::uint64_t key, std::function<void()> done);
  void happened(std::uint64_t key);
  void give_up();  // the daemon stops: nobody is told

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::function<void()>> waiting_;
};

// No rule of any run goes further than `strongest`, from now until the daemon stops; `done` hears how many runs were
// switched, once all are.
void switch_all(shared_state& shared, mode strongest, std::function<void(std::size_t)> done);

// 204 once nothing of it is stored; 404; 503 while it is being read back.
void delete_run(shared_state& shared, const std::string& run, std::function<void(http_response&&)> done);

// Removes what the archive holds of a run that its registry has forgotten. On its engine thread; `done` is called once
// nothing of it is stored, never if the daemon stops first: then the archive goes on with it after the next start.
void erase_stored(shared_state& shared, engine_thread& owner, std::uint64_t run_number, std::function<void()> done);

}  // namespace digd::daemon
