// `GET /v1/runs/ID/holds` and `GET /v1/holds`: the events that wait for a person (docs/guards.md).
//
// The engine threads list their holds; then the read pool looks up the payloads in the archive. Threads: any; `done` is
// called on any. Bounds: `max_listed_holds` in an answer, `max_payload_bytes` of each payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/http/responses.h"

namespace digd::daemon {

struct run_control;
struct client_reads;

inline constexpr std::size_t max_listed_holds = 1'000, usual_listed_holds = 100;
inline constexpr std::size_t max_payload_bytes = 16 * 1024;

// Lists the holds of one run. `payloads`: its pool is null without an archive. The list is empty if only the archive
// has the run; 404 if there is no such run.
void list_holds(const run_control& runs, const client_reads& payloads, const std::string& run,
                std::function<void(http_response&&)> done);

// Passes the JSON of one open hold to `done`, as in the lists; an empty text if the hold has ended or the run is not
// open. `run_number`: the number that the run must have.
void show_hold(const run_control& runs, const client_reads& payloads, const std::string& run, std::uint64_t run_number,
               std::uint64_t hold, std::function<void(std::string json)> done);

// Lists the open holds of the runs that `shows` accepts; engine threads call it. The list is sorted by the runs' names,
// then by age, the oldest hold first. It has the first `limit` of these.
void list_all_holds(const run_control& runs, const client_reads& payloads, std::size_t limit,
                    std::function<bool(std::string_view run)> shows, const std::function<void(http_response&&)>& done);

}  // namespace digd::daemon
