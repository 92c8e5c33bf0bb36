// Runs in a fleet with homes (registry.h): a run that this thread does not have asks for its home first.
#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/quote.h"
#include "daemon/fleet/home_keeper.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/read_back.h"
#include "daemon/runs/registry.h"

namespace digd::daemon {

namespace {

void send_elsewhere(std::vector<join_request>& requests, const std::string& to) {
  for (join_request& request : requests) {
    join_result result;
    result.refused.consider(refusal::moved, "run", "another daemon of the fleet has the run: " + to);
    result.moved_to = to;
    answer(request, std::move(result));
  }
}

}  // namespace

void registry::ask_home(const std::string& name, std::uint64_t number) {
  homes()->ask(name, number, [this, name](home_answer&& answer) {
    boost::asio::post(owner_.context(),
                      [this, name, answer = std::move(answer)]() mutable { on_home(name, std::move(answer)); });
  });
}

void registry::on_home(const std::string& name, home_answer&& answer) {
  const auto waiting = rebuilding_.find(name);
  if (waiting == rebuilding_.end()) return;
  pending_run& pending = waiting->second;
  if (answer.is == home_decision::kind::taken || (answer.is == home_decision::kind::kept && !pending.read)) {
    // The copy to read: restored from the stream, or an ended run of this archive.
    if (answer.number != pending.run.number) {
      if (pending.run.number != 0) homes()->note_moved(pending.run.number);
      if (std::exchange(pending.is_expected, false)) count_recovered(false);
      pending.run = {.number = answer.number, .run = name};
      pending.read.reset();
    }
    pending.home = std::make_unique<home_answer>(std::move(answer));
    return read(pending);
  }
  pending_run done = std::move(pending);
  rebuilding_.erase(waiting);
  switch (answer.is) {
    case home_decision::kind::opened:
      if (done.is_expected) count_recovered(false);
      return open_all(std::move(done.requests), &answer);
    case home_decision::kind::kept: {
      done.home = std::make_unique<home_answer>(std::move(answer));
      recovered_run read = std::move(*done.read);
      return take_in(std::move(done), std::move(read));
    }
    case home_decision::kind::elsewhere: return on_home_elsewhere(std::move(done), answer);
    case home_decision::kind::taken:
    case home_decision::kind::unavailable: break;
  }
  on_home_unavailable(std::move(done), answer);
}

void registry::on_home_elsewhere(pending_run&& pending, const home_answer& answer) {
  const std::string& name = pending.run.run;
  if (pending.is_expected) count_recovered(false);
  if (pending.run.number != 0) {
    homes()->note_moved(pending.run.number);
    spdlog::warn("run_moved run={} number={} to={}", digd::quoted(name), pending.run.number, digd::quoted(answer.url));
  }
  send_elsewhere(pending.requests, answer.url);
}

// A run of this archive continues unjudged until its home is known. A new one is refused.
void registry::on_home_unavailable(pending_run&& pending, const home_answer& answer) {
  if (pending.read) {
    recovered_run read = std::move(*pending.read);
    homes()->check_again();
    return take_in(std::move(pending), std::move(read));
  }
  refuse_all(pending.requests, answer.problem);
}

void registry::open_all(std::vector<join_request>&& requests, const home_answer* home) {
  bool is_first = true;
  for (join_request& request : requests) {
    if (std::exchange(is_first, false)) {
      open(std::move(request), home);
    } else {
      join(std::move(request));
    }
  }
}

// ---- runs in memory

void registry::check_homes() {
  std::vector<std::shared_ptr<run_host>> hosts;  // a copy: a move changes the map
  for (const auto& [name, host] : by_name_) hosts.push_back(host);
  const std::uint64_t generation = homes()->generation();
  for (const auto& host : hosts) {
    host->check_home();
    if (host->home_generation() != generation && homes()->may_judge(generation)) confirm(*host);
  }
}

// The lease may have changed while the run was read back.
void registry::settle_home(run_host& host) {
  host.check_home();
  if (host.home_generation() != homes()->generation()) homes()->check_again();
}

// The run was confirmed with an earlier lease, or never.
void registry::confirm(run_host& host) {
  homes()->ask(host.name(), host.number(), [this, name = host.name(), number = host.number()](home_answer&& answer) {
    boost::asio::post(owner_.context(), [this, name, number, answer = std::move(answer)]() mutable {
      on_confirmed(name, number, std::move(answer));
    });
  });
}

void registry::on_confirmed(const std::string& name, std::uint64_t number, home_answer&& answer) {
  const std::shared_ptr<run_host> host = find(number);
  if (!host || host->name() != name) return;
  switch (answer.is) {
    case home_decision::kind::unavailable: return homes()->check_again();
    case home_decision::kind::kept:
      host->set_home(answer.generation, answer.pinned);
      host->check_home();
      return;
    case home_decision::kind::opened:
    case home_decision::kind::taken:
    case home_decision::kind::elsewhere: break;
  }
  homes()->note_moved(number);
  spdlog::warn("run_moved run={} number={} to={}", digd::quoted(name), number, digd::quoted(answer.url));
  if (answer.is == home_decision::kind::elsewhere) {
    host->close_moved(answer.url);
  } else {
    host->close_moved(homes()->url());  // the home is this daemon, but with another copy
  }
  drop(*host);
  if (answer.is != home_decision::kind::taken) return;
  pending_run& pending = rebuilding_[name];
  pending.run = {.number = answer.number, .run = name};
  pending.home = std::make_unique<home_answer>(std::move(answer));
  read(pending);
}

}  // namespace digd::daemon
