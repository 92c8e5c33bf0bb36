// `POST /v1/runs/ID/holds/HOLD`: a person's decision about an event that waits (docs/guards.md).
//
// Threads: any; `done` is called on an engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/http/responses.h"
#include "ingest/protocol/record.h"

namespace digd::daemon {

struct run_control;

// Reads {"decision":"release","text":"…","by":"ann"}. `authenticated`: the name of the caller's token, which takes
// precedence over `by`.
std::variant<ingest::own_line, http_response> read_decision(std::string_view hold, std::string_view body,
                                                            std::string_view authenticated);

// Fits the longest text and name if JSON escapes each of their bytes with six characters.
inline constexpr std::size_t max_decision_bytes = 128 * 1024;
inline constexpr std::size_t max_decision_text_bytes = 16 * 1024;

// Answers 200 once the run has applied the decision, 409 hold_closed if the hold has ended, and 404 if there is no such
// open run. `run_number`: the number that the run must have, since the id of a deleted run can be used again; 0: any.
void decide_hold(const run_control& runs, const std::string& run, std::uint64_t run_number, ingest::own_line decision,
                 std::function<void(http_response&&)> done);

}  // namespace digd::daemon
