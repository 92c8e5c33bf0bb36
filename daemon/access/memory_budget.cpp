#include "daemon/access/memory_budget.h"

#include <spdlog/spdlog.h>
#include <string_view>
#include <unordered_map>

#include "base/quote.h"
#include "daemon/access/peer.h"

namespace digd::daemon {

namespace {

// The share of the limit that each kind of holder may have.
constexpr std::uint64_t not_allowed_share = 8, token_share = 2, run_share = 4, connection_share = 4;

std::uint64_t bytes_of(const account_ptr& account) { return account ? account->bytes.load() : 0; }

}  // namespace

memory_charge::memory_charge(memory_budget& budget, std::shared_ptr<const peer> from, std::uint64_t fixed)
    : budget_(budget), from_(std::move(from)), fixed_(fixed) {
  {
    const std::lock_guard lock(budget_.guard_);
    place_ = budget_.charges_.insert(budget_.charges_.end(), this);
  }
  add(fixed);
}

memory_charge::~memory_charge() {
  remove(bytes());
  const std::lock_guard lock(budget_.guard_);
  budget_.charges_.erase(place_);
}

void memory_charge::add(std::uint64_t bytes) {
  bool is_exceeded = false;
  {
    const std::lock_guard lock(counting_);
    bytes_.fetch_add(bytes);
    budget_.used_.fetch_add(bytes);
    if (!is_allowed_.load()) budget_.not_allowed_.fetch_add(bytes);
    if (token_) token_->bytes.fetch_add(bytes);
    if (run_) run_->bytes.fetch_add(bytes);
    is_exceeded = budget_.is_exceeded_by(*this);
  }
  if (is_exceeded) budget_.close_over();
}

void memory_charge::remove(std::uint64_t bytes) {
  const std::lock_guard lock(counting_);
  bytes_.fetch_sub(bytes);
  budget_.used_.fetch_sub(bytes);
  if (!is_allowed_.load()) budget_.not_allowed_.fetch_sub(bytes);
  if (token_) token_->bytes.fetch_sub(bytes);
  if (run_) run_->bytes.fetch_sub(bytes);
}

void memory_charge::allow(account_ptr token) {
  const std::scoped_lock lock(budget_.guard_, counting_);
  if (!is_allowed_.exchange(true)) budget_.not_allowed_.fetch_sub(bytes());
  if (token_ == token || !token) return;
  if (token_) token_->bytes.fetch_sub(bytes());  // a proxy may send requests of several tokens over a connection
  token->bytes.fetch_add(bytes());
  token_ = std::move(token);
}

void memory_charge::join(account_ptr run) {
  const std::scoped_lock lock(budget_.guard_, counting_);
  if (!is_allowed_.exchange(true)) budget_.not_allowed_.fetch_sub(bytes());
  if (run_ || !run) return;
  run->bytes.fetch_add(bytes());
  run_ = std::move(run);
}

void memory_charge::on_close(std::function<void()> close) {
  {
    const std::lock_guard lock(budget_.guard_);
    if (!is_closing_) return static_cast<void>(close_ = std::move(close));
  }
  close();  // digd decided to close the connection before it had this owner
}

const void* memory_charge::payer() const {
  if (token_) return token_.get();
  return run_ ? static_cast<const void*>(run_.get()) : from_.get();
}

bool memory_budget::is_exceeded_by(const memory_charge& charge) const {
  const std::uint64_t limit = this->limit();
  return used_.load() > limit || charge.bytes() > limit / connection_share ||
         (!charge.is_allowed_.load() && not_allowed_.load() > limit / not_allowed_share) ||
         bytes_of(charge.token_) > limit / token_share || bytes_of(charge.run_) > limit / run_share;
}

// The bytes held by the connections that digd is not closing yet.
struct memory_budget::sums {
  std::uint64_t held = 0, not_allowed = 0;
  std::unordered_map<const void*, std::uint64_t> tokens, runs, peers, payers;  // peers: of what is not allowed yet
};

namespace {

const void* heaviest(const std::unordered_map<const void*, std::uint64_t>& bytes) {
  const void* found = nullptr;
  std::uint64_t max_held = 0;
  for (const auto& [key, held] : bytes) {
    if (held > max_held) found = key, max_held = held;
  }
  return found;
}

}  // namespace

// Null: no share is exceeded. With the mutex.
memory_charge* memory_budget::next_to_close() const {
  const std::uint64_t limit = this->limit();
  sums total;
  for (const memory_charge* each : charges_) {
    if (each->is_closing_) continue;
    const std::uint64_t bytes = each->bytes();
    total.held += bytes;
    total.payers[each->payer()] += bytes;
    if (each->token_) total.tokens[each->token_.get()] += bytes;
    if (each->run_) total.runs[each->run_.get()] += bytes;
    if (each->is_allowed_.load()) continue;
    total.not_allowed += bytes;
    total.peers[each->from_.get()] += bytes;
  }
  const auto heaviest_of = [this](auto counts) {
    memory_charge* found = nullptr;
    for (memory_charge* each : charges_) {
      if (each->is_closing_ || !counts(*each)) continue;
      if (found == nullptr || each->bytes() > found->bytes()) found = each;
    }
    return found;
  };
  memory_charge* const largest = heaviest_of([](const memory_charge&) { return true; });
  if (largest != nullptr && largest->bytes() > limit / connection_share) return largest;
  if (const void* run = heaviest(total.runs); run != nullptr && total.runs[run] > limit / run_share)
    return heaviest_of([run](const memory_charge& each) { return each.run_.get() == run; });
  if (const void* token = heaviest(total.tokens); token != nullptr && total.tokens[token] > limit / token_share)
    return heaviest_of([token](const memory_charge& each) { return each.token_.get() == token; });
  if (total.not_allowed > limit / not_allowed_share) {
    const void* const peer = heaviest(total.peers);
    return heaviest_of(
        [peer](const memory_charge& each) { return !each.is_allowed_.load() && each.from_.get() == peer; });
  }
  if (total.held <= limit) return nullptr;
  const void* const payer = heaviest(total.payers);
  return heaviest_of([payer](const memory_charge& each) { return each.payer() == payer; });
}

std::function<void()> memory_budget::mark(memory_charge& charge) {
  charge.is_closing_ = true;
  closed_.fetch_add(1);
  std::uint64_t suppressed = 0;
  if (log_limit_.allows(suppressed)) {
    spdlog::warn("connection_memory from={} token={} bytes={} of_all={} limit={} suppressed={}",
                 digd::quoted(charge.from_->name), charge.token_ ? digd::quoted(charge.token_->name) : "-",
                 charge.bytes(), used(), limit(), suppressed);
  }
  return std::move(charge.close_);
}

void memory_budget::close_over() {
  std::vector<std::function<void()>> closes;
  {
    const std::lock_guard lock(guard_);
    while (memory_charge* const next = next_to_close()) closes.push_back(mark(*next));
  }
  for (const auto& close : closes) {
    if (close) close();
  }
}

std::vector<memory_budget::holder> memory_budget::holders() const {
  const std::lock_guard lock(guard_);
  std::vector<holder> found;
  for (const memory_charge* each : charges_) {
    if (each->is_closing_) continue;
    found.push_back({.token = each->token_ ? each->token_->name : "",
                     .bytes = each->bytes_with_answers(),
                     .can_free = each->can_free()});
  }
  return found;
}

std::size_t memory_budget::close_heavy(const std::string& token, std::uint64_t least) {
  std::vector<std::function<void()>> closes;
  {
    const std::lock_guard lock(guard_);
    for (memory_charge* each : charges_) {
      const std::string_view of = each->token_ ? std::string_view(each->token_->name) : std::string_view();
      if (!each->is_closing_ && of == token && each->can_free() >= least) closes.push_back(mark(*each));
    }
  }
  for (const auto& close : closes) {
    if (close) close();
  }
  return closes.size();
}

}  // namespace digd::daemon
