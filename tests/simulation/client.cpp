#include "tests/simulation/client.h"

#include <charconv>
#include <utility>

#include "tests/simulation/check.h"

namespace digd::simulation {

namespace {

constexpr std::uint64_t winding_down = 40;  // messages before a run's end

std::uint64_t number_after(std::string_view frame, std::string_view name) {
  const std::size_t at = frame.find(name);
  std::uint64_t number = 0;
  if (at != std::string_view::npos)
    std::from_chars(frame.data() + at + name.size(), frame.data() + frame.size(), number);
  return number;
}

unsigned kind_of(std::string_view run) {
  unsigned sum = 0;
  for (const char c : run) sum += static_cast<unsigned char>(c);
  return sum % 4;
}

// Some runs bound what healing may ask of an agent: all sessions of a run say the same.
std::string healing_of(std::string_view run) {
  return kind_of(run) % 2 == 0 ? "" : R"(,"healing":{"max_returns_per_agent":1})";
}

std::string except_of(std::string_view run) { return kind_of(run) < 2 ? "" : R"(,"except":["a0-1"])"; }

// Some runs are small, and give way at their limits instead of refusing: all sessions of a run say the same.
std::string limits_of(std::string_view run) {
  if (kind_of(run) > 1) return {};
  return std::string(
             R"(,"limits":{"live_events":30,"open_activations":12},"over_limit":{"live_events":"gap","message_bytes":"gap","open_activations":")") +
         (kind_of(run) == 0 ? "observe" : "refuse") + "\"}";
}

}  // namespace

client::client(scheduler& clock, dice& chance, monitor& to, story& tells, manner manner)
    : clock_(clock), chance_(chance), monitor_(to), story_(tells), manner_(std::move(manner)) {}

void client::begin() {
  connect();
  think();
}

void client::connect() {
  link_ = std::make_shared<link>(clock_, chance_, manner_.latency, manner_.reading);
  greeted_ = false;
  link_->attach_client(
      {.frame = [this](std::string&& frame) { hear(std::move(frame)); }, .closed = [this] { closed(); }});
  if (!monitor_.accept(link_)) return closed();
  std::string hello = R"({"type":"hello","protocol":1,"run":")" + manner_.run + R"(","session":")" + manner_.session +
                      R"(","clock":")" + (manner_.trace_clock ? "trace" : "wall") + R"(","agents":[)";
  for (const std::string& agent : story_.agents(manner_.number))
    hello += (hello.back() == '[' ? "\"" : ",\"") + agent + '"';
  hello += R"(],"rules":{"deadlock":{"window_ms":200},"orphaned_event":{"window_ms":100)" + except_of(manner_.run) +
           R"(},"missing_termination":{"window_ms":300}})" + healing_of(manner_.run);
  if (manner_.fickle && chance_.one_in(2)) hello += R"(,"capabilities":{"inject":false,"create":false})";
  link_->to_monitor(hello + limits_of(manner_.run) + '}');
}

void client::closed() {
  link_ = nullptr;
  greeted_ = false;
  answered_.clear();
  owed_.clear();
  clock_.after(chance_.between(1'000, 60'000), [this] { connect(); });
}

void client::cut() {
  if (link_) link_->cut();
}

// ---- saying

void client::think() {
  const bool may = manner_.greedy || sent_.size() - acked_ < monitor::credits;
  if (may && sent_.size() < manner_.messages) say(next_piece());
  if (sent_.size() == manner_.messages) return;
  clock_.after(may ? chance_.between(0, 2'000) : 5'000, [this] { think(); });
}

story::piece client::next_piece() {
  const std::uint64_t left = manner_.messages - sent_.size();
  if (!manner_.ends || left > winding_down) return story_.next(manner_.number);
  return left == 1 ? story_.end_of_run() : story_.wind_down(manner_.number);
}

void client::say(story::piece&& piece) {
  const std::uint64_t seq = sent_.size() + 1;
  sent_.push_back({piece.with_seq(seq), piece.held, piece.has_seq});
  if (greeted_) send(seq);
}

void client::send(std::uint64_t seq) {
  if (sent_[seq - 1].held) owed_.insert(seq);
  link_->to_monitor(sent_[seq - 1].frame);
}

// ---- hearing

void client::hear(std::string&& frame) {
  const std::string_view text = frame;
  if (text.starts_with(R"({"type":"welcome")")) return hear_welcome(text);
  must(greeted_, [&] { return who() + "a frame before the welcome: " + frame; });
  if (text.starts_with(R"({"type":"ack")")) return hear_ack(number_after(text, "\"seq\":"));
  if (text.starts_with(R"({"type":"intervention")")) return hear_intervention(text);
  must(text.find("\"bad_seq\"") == std::string_view::npos, [&] { return who() + "its seqs are in order: " + frame; });
  hear_answer(number_after(text, "\"seq\":"), text);
}

void client::hear_welcome(std::string_view frame) {
  const std::uint64_t at = number_after(frame, "\"acked_seq\":");
  must(!greeted_, "one welcome a connection");
  must(at >= acked_,
       [&] { return who() + std::to_string(acked_) + " was acked, and now only " + std::to_string(at) + " is there"; });
  must(at <= sent_.size(), [&] { return who() + "more is acked than was said"; });
  greeted_ = true;
  resumed_at_ = acked_ = at;
  resent_to_ = sent_.size();
  heard_.erase(heard_.begin(), heard_.upper_bound(at));
  for (std::uint64_t seq = at + 1; seq <= sent_.size(); ++seq) send(seq);
}

void client::hear_ack(std::uint64_t seq) {
  must(seq >= acked_ && seq <= sent_.size(),
       [&] { return who() + "ack " + std::to_string(seq) + " after " + std::to_string(acked_); });
  // What was sent again can be durable before it arrives; its answer then comes after the ack.
  const auto late = owed_.upper_bound(resent_to_);
  must(late == owed_.end() || *late > seq,
       [&] { return who() + "acked without an answer: " + sent_[*late - 1].frame; });
  acked_ = seq;
}

void client::hear_answer(std::uint64_t seq, std::string_view frame) {
  must(seq > resumed_at_ && seq <= sent_.size(),
       [&] { return who() + "an answer to what was not asked: " + std::string(frame); });
  owed_.erase(seq);
  must(answered_.insert(seq).second, [&] { return who() + "answered twice: " + std::string(frame); });
  tests::digest d;
  d.mix(frame);
  const auto [first, is_new] = heard_.emplace(seq, d.value());
  must(first->second == d.value(), [&] { return who() + "judged again, judged otherwise: " + std::string(frame); });
}

void client::hear_intervention(std::string_view frame) {
  const std::size_t at = frame.find("\"id\":\"") + 6;
  std::string id(frame.substr(at, frame.find('"', at) - at));
  if (!reported_.insert(id).second || sent_.size() == manner_.messages || chance_.one_in(4)) return;
  if (manner_.greedy || sent_.size() - acked_ < monitor::credits) say(story_.delivery_of(id));
}

void client::expect_new_judgement() {
  if (!manner_.alone || !manner_.trace_clock || manner_.fickle) heard_.clear();
}

// ---- at the end

void client::check_record(const disk& archive) const {
  const auto found = archive.stored().find(manner_.run);
  must(found != archive.stored().end(), [&] { return who() + "is not in the record"; });
  std::uint64_t next = 1;
  for (const tests::recorded_entry& e : found->second) {
    if (e.stored.session != manner_.session || e.stored.seq == 0) continue;
    must(e.stored.seq == next, [&] {
      return who() + "the record has " + std::to_string(e.stored.seq) + ", expected " + std::to_string(next);
    });
    const said& original = sent_[next - 1];
    must(!original.has_seq || e.stored.frame == original.frame,
         [&] { return who() + "recorded as " + e.stored.frame; });
    ++next;
  }
  must(next == sent_.size() + 1, [&] { return who() + "the record ends before " + std::to_string(next); });
}

}  // namespace digd::simulation
