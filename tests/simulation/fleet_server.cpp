#include "tests/simulation/fleet_server.h"

#include <memory>
#include <utility>

namespace digd::simulation {

namespace {

using daemon::bucket_reply;
using daemon::bucket_request;

}  // namespace

// Most messages are quick. Some take longer than the sender waits, and some longer than a lease.
microseconds fleet_server::delay() {
  if (chance_.one_in(200)) return chance_.between(250'000, 4'000'000);
  return chance_.one_in(20) ? chance_.between(5'000, 200'000) : chance_.between(100, 3'000);
}

template <class Reply>
void fleet_server::send(std::size_t host, std::function<Reply()> work, std::function<void(Reply)> reply, Reply none) {
  const auto is_answered = std::make_shared<bool>(false);
  const auto answer = [is_answered, reply = std::move(reply)](Reply with) {
    if (!std::exchange(*is_answered, true)) reply(std::move(with));
  };
  clock_.after(max_wait, [answer, none] { answer(none); });
  if (cut_[host] || chance_.one_in(100)) {
    ++lost_;
    // A client keeps requests while it is cut off, and sends them later.
    if (chance_.one_in(3)) clock_.after(chance_.between(100'000, 3'000'000), [work] { static_cast<void>(work()); });
    return;
  }
  clock_.after(delay(), [this, host, work = std::move(work), answer] {
    Reply made = work();
    if (cut_[host] || chance_.one_in(100)) {
      ++lost_;
      return;
    }
    clock_.after(delay(), [answer, made = std::move(made)] { answer(made); });
  });
}

void fleet_server::call(std::size_t host, bucket_request request, std::function<void(bucket_reply)> reply) {
  const bucket_reply none{.is = bucket_reply::result::failed, .value = {}, .problem = "no reply"};
  send<bucket_reply>(
      host, [this, request = std::move(request)] { return carry_out(request); }, std::move(reply), none);
}

bucket_reply fleet_server::carry_out(const bucket_request& request) {
  if (request.is == bucket_request::kind::read) return read(request.key);
  std::vector<entry>& values = bucket_[request.key];
  const std::uint64_t revision = values.empty() ? 0 : values.back().revision;
  if (revision != request.expected) return {.is = bucket_reply::result::conflict, .value = {}, .problem = {}};
  values.push_back({request.value, ++last_revision_, clock_.now()});
  return {.value = {}, .revision = last_revision_, .problem = {}};
}

bucket_reply fleet_server::read(const std::string& key) {
  const microseconds lag = chance_.one_in(10) ? chance_.between(0, 3'000'000) : 0;
  const std::vector<entry>& values = bucket_[key];
  for (auto at = values.rbegin(); at != values.rend(); ++at) {
    if (at->written_at <= clock_.now() - lag) return {.value = at->value, .revision = at->revision, .problem = {}};
  }
  return {.is = bucket_reply::result::missing, .value = {}, .problem = {}};
}

void fleet_server::publish(std::size_t host, published message, std::function<void(std::uint64_t)> reply) {
  send<std::uint64_t>(
      host,
      [this, message = std::move(message)] {
        stream_.push_back(message);
        return std::uint64_t{stream_.size()};
      },
      std::move(reply), 0);
}

}  // namespace digd::simulation
