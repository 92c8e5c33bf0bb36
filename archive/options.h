// How the archive writes: its options, what it counts, and what it reports as durable.
//
// Threads: `options` are constant while the archive is open. Each of `counters` may be counted and read on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace digd::archive {

// Progress of the writer. All entries of the session up to `seq` are on disk and synced.
struct durable {
  std::uint64_t run_number;
  std::string session;
  std::uint64_t seq;
  bool deleted = false;         // the last row of the run is removed; `session` and `seq` have no meaning
  std::uint64_t judgement = 0;  // if not 0: the ticket of a stored judgement; `session` and `seq` have no meaning
  std::uint64_t barrier = 0;    // if not 0: the `seq` of a barrier; the rest has no meaning
};

struct options {
  std::string path;                           // the database file; created if missing, but not its folder
  std::size_t max_queued_entries = 65'536;    // accepted and not yet durable, of all producers; at most 1,000,000
  std::size_t max_queued_bytes = 256u << 20;  // of these entries; a larger entry waits until the queue is empty
  std::size_t max_producers = 16;             // at the same time; each costs 8 bytes for each of max_queued_entries
  std::size_t max_batch_entries = 4'096;      // in one transaction
  std::size_t max_batch_bytes = 16u << 20;    // approximately, in one transaction; the last entry may exceed it
  unsigned poll_us = 200;                     // how often an idle writer looks for work, at first
  unsigned max_poll_us = 1'000;               // each look without work doubles that, up to this
  unsigned gather_us = 10'000;                // the least time between two commits: one sync for many entries
  std::size_t gather_entries = 256;           // that many waiting entries end that time early
  unsigned yield_us = 20'000;                 // how long a batch offers its processor to other threads
  unsigned retry_ms = 50;                     // after a failed write; doubles with each failure
  unsigned max_retry_ms = 5'000;
  unsigned max_disk_ms = 4'000;         // how long entries may wait for the disk before `health` reports it
  unsigned stop_ms = 10'000;            // how long `stop` retries while writes fail
  int max_value_bytes = 128 << 20;      // the largest row; a larger entry is shrunk (docs/archive.md)
  int checkpoint_pages = 512;           // the log is checkpointed at this length (2 MB); longer syncs delay others
  std::int64_t check_bytes = 64 << 20;  // `open` runs SQLite's quick check on files up to this size
  unsigned look_for_damage_ms = 0;      // how often to read a part of the file, for damage; 0: never
  std::string vfs;                      // SQLite's file layer, for fault injection; empty: the default
  std::function<void(int from, int to)> on_migration;  // `open` calls it before each step of a migration
  std::function<void(const std::string&)> on_health;   // called when `health` changes, on a thread of the archive
};

struct counters {
  std::atomic<std::uint64_t> entries{0}, bytes{0}, commits{0};  // durable
  std::atomic<std::uint64_t> failed_commits{0}, failed_checkpoints{0};
  std::atomic<std::uint64_t> queue_full{0};  // pushes refused
  std::atomic<std::uint64_t> shrunk{0};      // entries too large to be stored whole
  std::atomic<std::uint64_t> set_aside{0};   // entries dropped because their run contradicts what is stored
  std::atomic<std::uint64_t> deleted_runs{0};
  std::atomic<std::uint64_t> failed_removals{0};  // steps of a deletion that were retried
};

}  // namespace digd::archive
