#include "daemon/api/hold_lists.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/deep_json.h"
#include "base/json_writer.h"
#include "daemon/api/http_services.h"
#include "daemon/runs/run_host.h"
#include "model/usage_json.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

// An open hold, copied from its engine thread.
struct listed_hold {
  std::string run;
  std::uint64_t run_number = 0;
  std::uint64_t number = 0;
  std::string event, guard, sender;
  std::vector<std::string> recipients;
  std::string reason, text;
  clock_kind clock = clock_kind::wall;
  milliseconds since = 0, due = 0;
  hold_end on_timeout = hold_end::release;
  usage_amounts used_by_run, used_by_sender;

  std::string id() const { return "hold:" + std::to_string(number); }
};

// The state of one answer in progress.
struct hold_list {
  std::optional<std::string> run;  // of one run
  std::vector<listed_hold> holds;
  std::size_t left_out = 0;
};

listed_hold copy_of(run_host& host, std::uint64_t number, const open_hold& hold) {
  const digd::run& run = host.inbox().run();
  const graph::graph& g = run.graph();
  listed_hold listed;
  listed.run = host.name();
  listed.run_number = host.number();
  listed.number = number;
  listed.event = g.event(hold.event).id;
  listed.guard = to_string(hold.guard);
  for (const graph::agent_index a : hold.agents) listed.recipients.push_back(g.agent(a).name);
  listed.reason = hold.reason;
  listed.text = hold.text;
  listed.clock = run.settings().clock;
  listed.since = hold.since;
  listed.due = hold.due_ms;
  listed.on_timeout = run.settings().guards.on_timeout;
  listed.used_by_run = run.spent().used(graph::nobody);
  if (hold.sender == graph::nobody) return listed;
  listed.sender = g.agent(hold.sender).name;
  listed.used_by_sender = run.spent().used(hold.sender);
  return listed;
}

void add_holds(run_host& host, std::size_t limit, hold_list& to) {
  for (const auto& [number, hold] : host.inbox().run().open_holds().by_number()) {
    if (to.holds.size() < limit) {
      to.holds.push_back(copy_of(host, number, hold));
    } else {
      ++to.left_out;
    }
  }
}

bool is_event(const json::value& value, std::string_view id) {
  const json::object* event = value.if_object();
  const json::value* name = event == nullptr ? nullptr : event->if_contains("id");
  return name != nullptr && name->is_string() && name->get_string() == id;
}

// The JSON of the event's payload in the frame that announces it; empty: none.
std::string payload_in(const json::value& frame, std::string_view event) {
  const json::object* message = frame.if_object();
  if (message == nullptr) return {};
  const json::value* found = message->if_contains("event");
  if (found != nullptr && !is_event(*found, event)) found = nullptr;
  const json::value* outputs = message->if_contains("outputs");
  if (outputs != nullptr && outputs->is_array()) {
    for (const json::value& output : outputs->get_array()) {
      if (is_event(output, event)) found = &output;
    }
  }
  const json::value* payload = found == nullptr ? nullptr : found->get_object().if_contains("payload");
  return payload == nullptr ? std::string() : json::serialize(*payload);
}

// Looks up the payloads of holds. Parses a message once for consecutive holds of its outputs.
class payload_reader {
 public:
  explicit payload_reader(archive::browser& from) : from_(from) {}

  std::string payload_of(const listed_hold& hold) {
    auto frame = from_.frame_of_hold(hold.run_number, hold.id());
    if (!frame || !*frame) return {};
    if (**frame != frame_) {
      json::error_code ec;
      parsed_ = parse_json(**frame, ec);
      frame_ = std::move(**frame);
    }
    return payload_in(parsed_, hold.event);
  }

 private:
  archive::browser& from_;
  std::string frame_;
  json::value parsed_;  // of `frame_`; null if it is not JSON
};

void write_hold(json_writer& to, const listed_hold& hold, std::string_view payload) {
  to.open_object().key("run").text(hold.run).key("hold").text(hold.id()).key("event").text(hold.event);
  to.key("guard").text(hold.guard).key("sender").text_or_null(hold.sender).key("recipients").open_array();
  for (const std::string& name : hold.recipients) to.text(name);
  to.close_array().key("reason").text(hold.reason).key("text").text(hold.text);
  to.key("clock").text(to_string(hold.clock)).key("since").integer(hold.since).key("due").integer(hold.due);
  to.key("on_timeout").text(to_string(hold.on_timeout)).key("payload");
  if (payload.empty() || payload.size() > max_payload_bytes) {
    to.null();
  } else {
    to.raw(payload);
  }
  if (payload.size() > max_payload_bytes) to.key("payload_bytes").integer(payload.size());
  to.key("spent").open_object().key("run");
  write_usage(to, hold.used_by_run);
  if (!hold.sender.empty()) {
    to.key("sender");
    write_usage(to, hold.used_by_sender);
  }
  to.close_object().close_object();
}

http_response response_of(const hold_list& list, archive::browser* from) {
  std::optional<payload_reader> payloads;
  if (from != nullptr) payloads.emplace(*from);
  std::string out;
  json_writer to(out);
  to.open_object();
  if (list.run) to.key("run").text(*list.run);
  to.key("holds").open_array();
  for (const listed_hold& hold : list.holds) {
    write_hold(to, hold, payloads ? payloads->payload_of(hold) : std::string());
  }
  to.close_array();
  if (!list.run || list.left_out > 0) to.key("left_out").integer(list.left_out);
  to.close_object();
  return respond_json(out + '\n');
}

// An empty list needs nothing from the archive, so it never waits for it.
void answer(const std::shared_ptr<const hold_list>& list, const client_reads& payloads,
            const std::function<void(http_response&&)>& done) {
  if (payloads.pool == nullptr || list->holds.empty()) return done(response_of(*list, nullptr));
  const auto look_up = [list](archive::browser& from) { return response_of(*list, &from); };
  if (!payloads.submit(look_up, done)) done(archive_busy());
}

// A run that is not in memory holds nothing. The archive knows whether the run exists.
void answer_stored(const std::string& run, const client_reads& archive,
                   const std::function<void(http_response&&)>& done) {
  if (archive.pool == nullptr) return done(no_such_run(run));
  const auto look_up = [run](archive::browser& from) {
    const auto found = from.find(run);
    if (!found) return archive_unreadable(found.error().message());
    if (!*found) return no_such_run(run);
    hold_list none;
    none.run = run;
    return response_of(none, nullptr);
  };
  if (!archive.submit(look_up, done)) done(archive_busy());
}

}  // namespace

void list_holds(const run_control& runs, const client_reads& payloads, const std::string& run,
                std::function<void(http_response&&)> done) {
  engine_thread& owner = runs.threads.owner_of(run);
  boost::asio::post(owner.context(), [&owner, payloads, run, done = std::move(done)] {
    const std::shared_ptr<run_host> host = owner.runs().find(run);
    if (!host && owner.runs().is_being_read(run)) return done(busy("the run is being read back; try again"));
    if (!host) return answer_stored(run, payloads, done);
    const auto list = std::make_shared<hold_list>();
    list->run = run;
    add_holds(*host, max_listed_holds, *list);
    answer(list, payloads, done);
  });
}

void show_hold(const run_control& runs, const client_reads& payloads, const std::string& run, std::uint64_t run_number,
               std::uint64_t hold, std::function<void(std::string)> done) {
  engine_thread& owner = runs.threads.owner_of(run);
  boost::asio::post(owner.context(), [&owner, payloads, run, run_number, hold, done = std::move(done)] {
    const std::shared_ptr<run_host> host = owner.runs().find(run);
    if (!host || host->number() != run_number) return done({});
    const auto& open = host->inbox().run().open_holds().by_number();
    const auto found = open.find(hold);
    if (found == open.end()) return done({});
    const auto list = std::make_shared<hold_list>();
    list->holds.push_back(copy_of(*host, hold, found->second));
    const auto in_json = [list, done](archive::browser* from) {
      const listed_hold& listed = list->holds.front();
      std::string out;
      json_writer to(out);
      write_hold(to, listed, from == nullptr ? std::string() : payload_reader(*from).payload_of(listed));
      return out;
    };
    if (payloads.pool == nullptr) return done(in_json(nullptr));
    const auto look_up = [in_json](archive::browser& from) { return respond_json(in_json(&from)); };
    const auto pass_on = [done, in_json](http_response&& response) {
      // Without its payload if the archive cannot be read.
      response.result() == http::status::ok ? done(std::move(response.body())) : done(in_json(nullptr));
    };
    if (!payloads.submit(look_up, pass_on)) done(in_json(nullptr));
  });
}

void list_all_holds(const run_control& runs, const client_reads& payloads, std::size_t limit,
                    std::function<bool(std::string_view)> shows, const std::function<void(http_response&&)>& done) {
  struct progress {
    std::mutex mutex;
    hold_list list;
    std::size_t threads_left;
  };
  const auto shared = std::make_shared<progress>();
  shared->threads_left = runs.threads.size();
  for (const auto& thread : runs.threads) {
    boost::asio::post(thread->context(), [shared, &thread = *thread, payloads, limit, shows, done] {
      hold_list own;
      std::vector<run_host*> hosts;
      thread.runs().each([&](run_host& host) {
        if (!host.inbox().run().open_holds().empty() && shows(host.name())) hosts.push_back(&host);
      });
      // Each thread keeps its first `limit` holds in the order of the list, so none of the first `limit` is left out.
      std::sort(hosts.begin(), hosts.end(), [](run_host* a, run_host* b) { return a->name() < b->name(); });
      for (run_host* host : hosts) add_holds(*host, limit, own);
      const std::lock_guard lock(shared->mutex);
      hold_list& merged = shared->list;
      merged.left_out += own.left_out;
      std::move(own.holds.begin(), own.holds.end(), std::back_inserter(merged.holds));
      if (--shared->threads_left > 0) return;
      std::sort(merged.holds.begin(), merged.holds.end(), [](const listed_hold& a, const listed_hold& b) {
        return std::tie(a.run, a.number) < std::tie(b.run, b.number);
      });
      if (merged.holds.size() > limit) {
        merged.left_out += merged.holds.size() - limit;
        merged.holds.resize(limit);
      }
      answer(std::make_shared<const hold_list>(std::move(merged)), payloads, done);
    });
  }
}

}  // namespace digd::daemon
