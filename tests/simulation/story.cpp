#include "tests/simulation/story.h"

#include <algorithm>

namespace digd::simulation {

namespace {
constexpr std::size_t max_pending = 400;  // deliveries that a session remembers
constexpr std::size_t agents_per_session = 3;

std::string quoted(const std::string& text) { return '"' + text + '"'; }
}  // namespace

std::string story::piece::with_seq(std::uint64_t seq) const {
  return has_seq ? head + std::to_string(seq) + tail : head;
}

story::story(dice& chance, std::size_t sessions, options options)
    : chance_(chance), options_(options), agents_(sessions), pending_(sessions) {
  for (std::size_t s = 0; s < sessions; ++s) {
    for (std::size_t i = 0; i < agents_per_session; ++i)
      agents_[s].push_back("a" + std::to_string(s) + '-' + std::to_string(i));
  }
}

// The time of a message, as a member.
std::string story::stamp() {
  if (!options_.timed) return {};
  constexpr std::int64_t steps[] = {0, 0, 1, 20, 300, 4'000, 12'000};
  ts_ += steps[chance_.below(7)];
  return ",\"ts\":" + std::to_string(ts_);
}

// What an activation has spent since the last report, as a member.
std::string story::usage() {
  if (!options_.guarded || !chance_.one_in(3)) return {};
  return ",\"usage\":{\"output_tokens\":" + std::to_string(chance_.below(200)) + ",\"cost\":0.00" +
         std::to_string(1 + chance_.below(9)) + '}';
}

std::string story::recipients() {
  if (chance_.one_in(12)) return "[\"ghost\"]";
  auto& agents = agents_[chance_.below(agents_.size())];
  const std::string agent = chance_.pick(agents);
  if (!chance_.one_in(4)) return '[' + quoted(agent) + ']';
  return '[' + quoted(agent) + ',' + quoted(chance_.pick(agents)) + ']';
}

// A new event; it becomes pending at its recipients.
std::string story::output() {
  const std::string id = "e" + std::to_string(++last_id_);
  if (options_.answers && chance_.one_in(30)) return "{\"id\":" + quoted(id) + R"(,"recipients":[],"submit":true})";
  const std::string to = recipients();
  for (std::size_t s = 0; s < agents_.size(); ++s) {
    for (const std::string& agent : agents_[s]) {
      if (to.find(quoted(agent)) != std::string::npos && pending_[s].size() < max_pending)
        pending_[s].emplace_back(id, agent);
    }
  }
  const char* fyi = chance_.one_in(15) ? ",\"fyi\":true" : "";
  const bool is_repeated = options_.guarded && chance_.one_in(3);
  return "{\"id\":" + quoted(id) + ",\"recipients\":" + to + fyi +
         (is_repeated ? R"(,"fingerprint":"the same call")" : "") + ",\"payload\":{\"n\":" + std::to_string(last_id_) +
         "}}";
}

story::piece story::root(std::size_t) {
  std::string tail = stamp();
  tail += ",\"event\":" + output() + '}';
  return {R"({"type":"event","seq":)", std::move(tail), true};
}

story::piece story::start(std::size_t session) {
  const std::size_t at = chance_.below(pending_[session].size());
  auto [event, agent] = std::move(pending_[session][at]);
  pending_[session][at] = std::move(pending_[session].back());
  pending_[session].pop_back();
  const std::string id = "v" + std::to_string(++last_id_);
  std::string tail = stamp() + ",\"activation\":" + quoted(id) + ",\"agent\":" + quoted(agent) + ",\"inputs\":[" +
                     quoted(event) + "]}";
  open_.push_back({id, event, session});
  return {R"({"type":"activation_started","seq":)", std::move(tail)};
}

story::piece story::end(std::size_t session) {
  std::size_t at = open_.size();
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].session == session && (at == open_.size() || chance_.one_in(2))) at = i;
  }
  if (at == open_.size()) return root(session);
  const activation v = open_[at];
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  std::string tail = stamp() + ",\"activation\":" + quoted(v.id);
  constexpr const char* reactions[] = {"\"consume\"", "\"consume\"", "\"consume\"", "\"wait\"", "\"discard\""};
  const bool reroutes = chance_.one_in(8);
  tail += ",\"reactions\":{" + quoted(v.input) + ':' +
          (reroutes ? "{\"reroute\":" + recipients() + '}' : reactions[chance_.below(5)]) + '}';
  const std::uint64_t outputs = chance_.below(3);
  tail += usage() + ",\"outputs\":[";
  for (std::uint64_t i = 0; i < outputs; ++i) tail += (i > 0 ? "," : "") + output();
  return {R"({"type":"activation_ended","seq":)", tail + "]}", outputs > 0 || reroutes};
}

story::piece story::nonsense() {
  switch (chance_.below(6)) {
    case 0: return {"{\"type\":", "", true, false};
    case 1: return {R"({"type":"time","seq":"x"})", "", true, false};
    case 2: return {std::string(5'000, ' '), "", true, false};  // over the limit of a message
    case 3: return {R"({"type":"nonsense","seq":)", "}", true};
    case 4: return {R"({"type":"event","seq":)", R"(,"event":{"id":"e1","recipients":["a0-0"]}})", true};
    default:
      return {R"({"type":"activation_ended","seq":)",
              R"(,"activation":"never","outputs":[{"id":"never","recipients":["a0-0"]}]})", true};
  }
}

story::piece story::next(std::size_t session) {
  const std::uint64_t kind = chance_.below(100);
  if (kind < 2) return nonsense();
  if (kind < 4) return {R"({"type":"time","seq":)", stamp() + '}'};
  if (kind < 5)
    return {R"({"type":"agent_joined","seq":)", stamp() + ",\"agent\":" + quoted(chance_.pick(agents_[session])) + '}'};
  if (kind < 40 && !pending_[session].empty()) return start(session);
  if (kind < 85) return end(session);
  return root(session);
}

story::piece story::delivery_of(std::string_view intervention) {
  const char* applied = intervention.starts_with("hold:")     ? "released"
                        : intervention.starts_with("cancel:") ? "cancelled"
                                                              : "created";
  return {R"({"type":"delivery","seq":)",
          stamp() + ",\"of\":\"" + std::string(intervention) + "\",\"applied\":\"" + applied + "\"}"};
}

story::piece story::wind_down(std::size_t session) {
  const auto at = std::find_if(open_.begin(), open_.end(), [&](const activation& v) { return v.session == session; });
  if (at == open_.end()) return {R"({"type":"time","seq":)", "}"};
  const std::string tail = ",\"activation\":" + quoted(at->id) + '}';
  open_.erase(at);
  return {R"({"type":"activation_ended","seq":)", tail};
}

story::piece story::end_of_run() {
  constexpr const char* outcomes[] = {"", ",\"outcome\":\"failure\"", ",\"outcome\":\"success\"",
                                      ",\"outcome\":\"aborted\""};
  return {R"({"type":"run_ended","seq":)", outcomes[chance_.below(4)] + std::string("}")};
}

}  // namespace digd::simulation
