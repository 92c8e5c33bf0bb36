// What the key-value bucket `digd_homes` of a fleet stores, and the calls that change it.
//
// Two kinds of keys. `host.TENANT.HOST` is the lease of a daemon: it renews the key, and nobody else writes it until
// the lease has lapsed. `run.TENANT.HASH` names the home of a run: the daemon that judges it. A home counts while the
// lease that it names does, so that renewals cost one write for each host, not for each run. Every write names the
// revision that it replaces; the server refuses it if the key has another one. docs/fleet.md describes the protocol.
//
// Pure functions and plain values. Failure: a text that is not a record is nullopt.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace digd::daemon {

// A daemon's own monotonic clock. Times of different daemons are never compared.
using home_time = std::chrono::microseconds;

struct host_record {
  enum class state : std::uint8_t {
    live,
    lapsed,   // another daemon ended the lease, because nobody renewed it
    drained,  // the daemon gave up all its homes
  };
  std::string incarnation;  // random: of the lease. A lease that ended never counts again
  std::string process;      // random: of the process that renews
  std::string archive;      // the random name of its archive
  std::string url;          // for clients; `moved` names it
  std::chrono::milliseconds length{0};
  state is = state::live;
  std::uint64_t renewals = 0;  // so that each renewal differs
  bool operator==(const host_record&) const = default;
};

struct run_record {
  std::string run;
  std::string host, incarnation;  // the home, and the lease that it counts with
  std::string archive;            // of the home
  std::uint64_t number = 0;       // of the run in that archive
  std::uint64_t epoch = 1;        // grows each time that another daemon, or another copy, becomes the home
  std::string origin_archive;     // the first home's names for the run: they identify it
  std::uint64_t origin_number = 0;
  std::uint64_t start = 0;  // no message of the run is in the stream before this sequence number
  bool pinned = false;      // no other daemon takes it, unless this one drained
  bool operator==(const run_record&) const = default;
};

std::string host_key(std::string_view tenant, std::string_view host);
std::string run_key(std::string_view tenant, std::string_view run);  // a hash: run ids have any characters

std::string encode(const host_record&);
std::string encode(const run_record&);
std::optional<host_record> host_record_of(std::string_view json);
std::optional<run_record> run_record_of(std::string_view json);

// ---- calls of the bucket
struct bucket_request {
  enum class kind : std::uint8_t { read, write } is = kind::read;
  std::string key, value;
  std::uint64_t expected = 0;  // of a write: the revision to replace; 0: there must be no such key
};

struct bucket_reply {
  enum class result : std::uint8_t {
    ok,        // `revision` and, of a read, `value`
    missing,   // of a read: there is no such key
    conflict,  // of a write: the key has another revision. Nothing was written
    failed,    // nobody knows whether it was carried out
  } is = result::ok;
  std::string value;
  std::uint64_t revision = 0;
  std::string problem;
};

}  // namespace digd::daemon
