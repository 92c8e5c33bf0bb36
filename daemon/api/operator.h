// Carries out an operator's requests: switch the mode of all runs, or delete one run. Each engine thread does the work
// for the runs that it owns.
//
// Threads: any; `done` is called on an engine thread or the archive's writer thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/http/responses.h"
#include "model/settings.h"

namespace digd::daemon {

struct run_control;

// From now until the daemon stops, no rule of any run goes further than `strongest`. `done` gets the number of runs
// that changed, once every engine thread has switched. `by`: the name of the caller's token, for the log; empty without
// tokens.
void switch_all(const run_control& runs, mode strongest, std::string_view by, std::function<void(std::size_t)> done);

// Answers 204 once nothing of the run is stored, 404 if there is no such run, and 503 while it is being read back.
void delete_run(const run_control& runs, const std::string& run, const std::string& by,
                std::function<void(http_response&&)> done);

}  // namespace digd::daemon
