#include "tests/simulation/client.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tests/simulation/check.h"

namespace digd::simulation {

namespace {

constexpr std::uint64_t wind_down_messages = 40;  // before the end of a run

std::uint64_t number_after(std::string_view frame, std::string_view name) {
  const std::size_t at = frame.find(name);
  std::uint64_t number = 0;
  if (at != std::string_view::npos)
    std::from_chars(frame.data() + at + name.size(), frame.data() + frame.size(), number);
  return number;
}

unsigned variant_of(std::string_view run) {
  unsigned sum = 0;
  for (const char c : run) sum += static_cast<unsigned char>(c);
  return sum % 4;
}

// Some runs limit returns per agent. All sessions of a run send the same settings.
std::string healing_of(std::string_view run) {
  return variant_of(run) % 2 == 0 ? "" : R"(,"healing":{"max_returns_per_agent":1})";
}

std::string except_of(std::string_view run) { return variant_of(run) < 2 ? "" : R"(,"except":["a0-1"])"; }

// All sessions of a run send the same settings. Their limits are so low that every guard fires, also several times.
std::string guards_of(std::string_view run) {
  return std::string(R"(,"guards":{"hold_ms":150,"on_timeout":")") + (variant_of(run) % 2 == 0 ? "release" : "return") +
         R"(","budget":{"max_tokens":2000,"max_cost":0.1,"per":"agent","action":["hold","return","hold","cancel"]},)"
         R"("fan_out":{"max_outputs":1,"max_live":60,"action":["inject","hold"]},)"
         R"("repetition":{"max_repeats":2,"action":["inject","hold","return"]},)"
         R"("stall":{"after_ms":250,"action":["observe","cancel"]}})";
}

// Some runs have small limits at which they degrade. All sessions of a run send the same settings.
std::string limits_of(std::string_view run) {
  if (variant_of(run) > 1) return {};
  return std::string(R"(,"limits":{"live_events":30,"open_activations":12},"over_limit":{)"
                     R"("live_events":"gap","message_bytes":"gap","open_activations":")") +
         (variant_of(run) == 0 ? "observe" : "refuse") + "\"}";
}

// The record adds the fingerprints of payloads that `repetition` judged.
std::string without_computed_fingerprints(std::string frame) {
  constexpr std::string_view begin = R"("fingerprint":"payload:)";
  for (std::size_t at; (at = frame.find(begin)) != std::string::npos;) frame.erase(at, frame.find(',', at) + 1 - at);
  return frame;
}

}  // namespace

client::client(scheduler& clock, dice& chance, monitor& daemon, story& story, behaviour behaviour)
    : clock_(clock), chance_(chance), monitor_(daemon), story_(story), behaviour_(std::move(behaviour)) {}

void client::begin() {
  connect();
  send_when_allowed();
}

void client::connect() {
  link_ = std::make_shared<link>(clock_, chance_, behaviour_.latency, behaviour_.read_time);
  welcomed_ = false;
  link_->attach_client(
      {.frame = [this](std::string&& frame) { receive(std::move(frame)); }, .closed = [this] { closed(); }});
  if (!monitor_.accept(link_)) return closed();
  std::string hello = R"({"type":"hello","protocol":1,"run":")" + behaviour_.run +
                      R"(",)"
                      R"("session":")" +
                      behaviour_.session + R"(","clock":")" + (behaviour_.trace_clock ? "trace" : "wall") +
                      R"(","agents":[)";
  for (const std::string& agent : story_.agents(behaviour_.number))
    hello += (hello.back() == '[' ? "\"" : ",\"") + agent + '"';
  hello += R"(],"rules":{"deadlock":{"window_ms":200},"orphaned_event":{"window_ms":100)" + except_of(behaviour_.run) +
           R"(},"missing_termination":{"window_ms":300}})" + healing_of(behaviour_.run);
  const bool is_limited = behaviour_.changes_capabilities && chance_.one_in(2);
  const std::string can_heal = is_limited ? "false" : "true", can_hold = behaviour_.guarded ? "true" : "false";
  hello += R"(,"capabilities":{"inject":)" + can_heal + R"(,"create":)" + can_heal + R"(,"hold":)" + can_hold +
           R"(,"cancel":)" + can_hold + '}';
  if (behaviour_.guarded) hello += guards_of(behaviour_.run);
  asked_after_ = missed_.empty() ? sent_.size() : *missed_.begin() - 1;
  hello += R"(,"answered_seq":)" + std::to_string(asked_after_);
  link_->to_monitor(hello + limits_of(behaviour_.run) + '}');
}

void client::closed() {
  link_ = nullptr;
  welcomed_ = false;
  answered_.clear();
  unanswered_.clear();
  clock_.after(chance_.between(1'000, 60'000), [this] { connect(); });
}

void client::cut() {
  if (link_) link_->cut();
}

// ---- sending

void client::send_when_allowed() {
  const bool allowed = behaviour_.ignores_credits || sent_.size() - acked_ < monitor::credits;
  if (allowed && sent_.size() < behaviour_.messages) add(next_piece());
  if (sent_.size() == behaviour_.messages) return;
  clock_.after(allowed ? chance_.between(0, 2'000) : 5'000, [this] { send_when_allowed(); });
}

story::piece client::next_piece() {
  const std::uint64_t left = behaviour_.messages - sent_.size();
  if (!behaviour_.ends_run || left > wind_down_messages) return story_.next(behaviour_.number);
  return left == 1 ? story_.end_of_run() : story_.wind_down(behaviour_.number);
}

void client::add(story::piece&& piece) {
  const std::uint64_t seq = sent_.size() + 1;
  sent_.push_back({piece.with_seq(seq), piece.held, piece.has_seq});
  if (welcomed_) send(seq);
}

void client::send(std::uint64_t seq) {
  if (sent_[seq - 1].held) unanswered_.insert(seq);
  if (sent_[seq - 1].held && !first_answers_.contains(seq)) missed_.insert(seq);
  link_->to_monitor(sent_[seq - 1].frame);
}

// ---- receiving

void client::receive(std::string&& frame) {
  const std::string_view text = frame;
  if (text.starts_with(R"({"type":"welcome")")) return receive_welcome(text);
  must(welcomed_, [&] { return label() + "a frame before the welcome: " + frame; });
  if (text.starts_with(R"({"type":"ack")")) return receive_ack(number_after(text, "\"seq\":"));
  if (text.starts_with(R"({"type":"intervention")")) return receive_intervention(text);
  if (text.starts_with(R"({"type":"judging_resumed")")) return;
  must(text.find("\"bad_seq\"") == std::string_view::npos,
       [&] { return label() + "bad_seq, though its seqs are in order: " + frame; });
  receive_answer(number_after(text, "\"seq\":"), text);
}

void client::receive_welcome(std::string_view frame) {
  const std::uint64_t at = number_after(frame, "\"acked_seq\":");
  must(!welcomed_, "a connection gets one welcome");
  must(at >= acked_, [&] {
    return label() + "seq " + std::to_string(acked_) + " was acked, and the welcome names only " + std::to_string(at);
  });
  must(at <= sent_.size(), [&] { return label() + "more is acked than was sent"; });
  welcomed_ = true;
  resumed_at_ = acked_ = at;
  resent_to_ = sent_.size();
  first_answers_.erase(first_answers_.begin(), first_answers_.upper_bound(at));
  for (std::uint64_t seq = at + 1; seq <= sent_.size(); ++seq) send(seq);
}

void client::receive_ack(std::uint64_t seq) {
  must(seq >= acked_ && seq <= sent_.size(),
       [&] { return label() + "ack " + std::to_string(seq) + " after " + std::to_string(acked_); });
  // A repeated message may already be durable. Then its answer may come after the ack.
  const auto late = unanswered_.upper_bound(resent_to_);
  must(late == unanswered_.end() || *late > seq,
       [&] { return label() + "acked without an answer: " + sent_[*late - 1].frame; });
  acked_ = seq;
}

void client::receive_answer(std::uint64_t seq, std::string_view frame) {
  must(seq > std::min(resumed_at_, asked_after_) && seq <= sent_.size(),
       [&] { return label() + "an answer to a message that was not sent on this connection: " + std::string(frame); });
  unanswered_.erase(seq);
  missed_.erase(seq);
  must(answered_.insert(seq).second, [&] { return label() + "answered twice: " + std::string(frame); });
  tests::digest d;
  d.mix(frame);
  const auto [first, is_new] = first_answers_.emplace(seq, d.value());
  must(first->second == d.value(), [&] { return label() + "judged again with another answer: " + std::string(frame); });
}

void client::receive_intervention(std::string_view frame) {
  const std::size_t at = frame.find("\"id\":\"") + 6;
  std::string id(frame.substr(at, frame.find('"', at) - at));
  if (!reported_.insert(id).second || sent_.size() == behaviour_.messages || chance_.one_in(4)) return;
  if (behaviour_.ignores_credits || sent_.size() - acked_ < monitor::credits) add(story_.delivery_of(id));
}

void client::allow_new_verdicts() {
  if (!behaviour_.is_sole_cause || !behaviour_.trace_clock || behaviour_.changes_capabilities) first_answers_.clear();
}

// ---- at the end

void client::check_record(const disk& archive) const {
  const auto found = archive.stored().find(behaviour_.run);
  must(found != archive.stored().end(), [&] { return label() + "is not in the record"; });
  std::uint64_t next = 1;
  for (const tests::recorded_entry& e : found->second) {
    if (e.stored.session != behaviour_.session || e.stored.seq == 0) continue;
    must(e.stored.seq == next, [&] {
      return label() + "the record has " + std::to_string(e.stored.seq) + ", expected " + std::to_string(next);
    });
    const sent_message& original = sent_[next - 1];
    must(!original.has_seq || without_computed_fingerprints(e.stored.frame) == original.frame,
         [&] { return label() + "recorded as " + e.stored.frame; });
    ++next;
  }
  must(next == sent_.size() + 1, [&] { return label() + "the record ends before " + std::to_string(next); });
}

}  // namespace digd::simulation
