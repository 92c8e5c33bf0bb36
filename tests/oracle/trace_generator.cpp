#include "trace_generator.h"

#include "scan.h"
#include "trace_simulator.h"

#include <algorithm>

namespace oracle {

namespace json = boost::json;

std::vector<std::string> random_trace(std::uint64_t seed, std::size_t messages) {
  return trace_simulator(seed, messages).run();
}

std::vector<std::string> trace_simulator::run() {
  send_first_hello();
  while (trace_.size() <= messages_ && after_end_ < 12) {
    if (seen().ended_) ++after_end_;
    if (!further_sessions_.empty() && !seen().ended_ && dice_.percent(8)) send_further_hello();
    else if (dice_.per_mille(behaviour_.mistakes_per_mille_) && mistake()) continue;
    else if (dice_.per_mille(behaviour_.oddities_per_mille_) && odd_act()) continue;
    else act();
  }
  return trace_;
}

// --- the acts of agents

void trace_simulator::act() {
  if (trace_.size() >= behaviour_.end_at_ && !seen().ended_) return end_run();
  if (winding_down_ == 0 && dice_.per_mille(8)) winding_down_ = 30;
  if (winding_down_ > 0) {
    --winding_down_;
    wind_down();
    return;
  }
  if (!first_guards_.empty()) {
    if (dice_.percent(5)) return report_usage();
    if ((hold_open(seen()) && dice_.percent(12)) || dice_.per_mille(3)) return decide();
    if (hold_open(seen()) && dice_.percent(8)) return reroute_held();
  }
  const std::size_t open = activations(true).size();
  const std::size_t draw = dice_.below(100);
  if (draw < 12) post_root();
  else if (draw < 46 && open < 5) start();
  else if (draw < 60 && open > 0) output();
  else if (draw < 93 && open > 0) end();
  else if (draw < 96) report_delivery();
  else send(begin("time"));
}

// Agents create nothing new. They consume what is pending until no work is left; then time passes.
void trace_simulator::wind_down() {
  if (const std::vector<std::size_t> open = activations(true); !open.empty()) {
    object line = begin("activation_ended");
    line["activation"] = seen().activations_[open.front()].id_;
    if (dice_.percent(10)) line["failed"] = true;
    return send(std::move(line));
  }
  if (start_on_pending()) return;
  object line = begin("time");
  if (dice_.percent(15)) {
    line = begin("agent_left");
    line["agent"] = draw_agent();
  }
  line["ts"] = seen().clock_ + static_cast<std::int64_t>(dice_.below(behaviour_.jump_ms_));
  send(std::move(line));
}

// An agent starts on everything that is pending at it. Returns false if nothing is pending.
bool trace_simulator::start_on_pending() {
  for (const event_record& e : seen().events_) {
    for (const delivery& d : e.deliveries_) {
      if (d.state_ != delivery_state::pending) continue;
      object line = begin("activation_started");
      line["activation"] = "v" + std::to_string(++last_name_);
      line["agent"] = d.agent_;
      array inputs;
      for (const event_record& other : seen().events_)
        if (is_pending_for(other, d.agent_)) inputs.emplace_back(other.id_);
      line["inputs"] = std::move(inputs);
      line["ts"] = seen().clock_;
      send(std::move(line));
      return true;
    }
  }
  return false;
}

// Ends the run without letting time pass, so that windows still run. With `ending::waited`, first lets a window fire,
// so that it may run again.
void trace_simulator::end_run() {
  auto now = [&](object line) {
    line["ts"] = seen().clock_;
    send(std::move(line));
  };
  if (const std::vector<std::size_t> open = activations(true); behaviour_.ending_ != ending::at_once && !open.empty()) {
    const activation_record& v = seen().activations_[open.front()];
    object line = begin("activation_ended");
    line["activation"] = v.id_;
    object reactions;
    for (std::size_t input : v.inputs_)
      if (dice_.percent(behaviour_.ending_ == ending::done ? 10 : 60))
        reactions[seen().events_[input].id_] = dice_.percent(50) ? "discard" : "wait";
    line["reactions"] = std::move(reactions);
    return now(std::move(line));
  }
  if (behaviour_.ending_ == ending::done && start_on_pending()) return;
  if (behaviour_.ending_ == ending::waited && !waited_) {
    waited_ = true;
    const rule r = dice_.percent(70) ? rule::deadlock : rule::missing_termination;
    const std::int64_t window_ms = settings_of(seen(), r).window_ms_;
    object line = begin("time");
    line["ts"] =
        seen().clock_ + window_ms + static_cast<std::int64_t>(dice_.below(static_cast<std::size_t>(window_ms) + 1));
    return send(std::move(line));
  }
  static const std::vector<const char*> outcomes{"success", "failure", "failure", "aborted"};
  object line = begin("run_ended");
  if (dice_.percent(70)) line["outcome"] = dice_.one_of(outcomes);
  else if (dice_.percent(50)) line["outcome"] = nullptr;
  now(std::move(line));
}

bool trace_simulator::odd_act() {
  switch (dice_.below(10)) {
    case 0:
    case 1: {
      object line = begin(dice_.percent(50) ? "agent_joined" : "agent_left");
      line["agent"] = draw_agent();
      send(std::move(line));
      break;
    }
    case 2:
      if (!dice_.percent(30)) return false;
      {
        object line = begin("gap");
        line["dropped"] = dice_.below(100);
        send(std::move(line));
      }
      break;
    case 3:
    case 4: post_late_root(); break;
    case 5: report_delivery(); break;
    case 6:
      if (!dice_.percent(15) || seen().open_roster_) return false;
      flood();
      break;
    case 7:
      if (!dice_.percent(6)) return false;
      burst();
      break;
    default: resend_or_run_ahead(); break;
  }
  return true;
}

std::string trace_simulator::draw_agent() {
  const auto& roster = seen().roster_;
  if (!roster.empty() && dice_.percent(85)) {
    auto iterator = roster.begin();
    std::advance(iterator, dice_.below(roster.size()));
    return *iterator;
  }
  return dice_.percent(70) ? dice_.one_of(staff()) : dice_.one_of(strangers());
}

json::array trace_simulator::draw_recipients() {
  array recipients;
  const std::size_t draw = dice_.below(20);
  const std::size_t count = draw < 2 ? 0 : draw < 13 ? 1 : draw < 18 ? 2 : 3;
  const bool lost = dice_.per_mille(behaviour_.oddities_per_mille_);
  for (std::size_t i = 0; i < count; ++i)
    recipients.emplace_back(lost ? dice_.one_of(strangers()) : draw_agent());  // may name an agent twice
  return recipients;
}

std::string trace_simulator::draw_new_id() {
  static const std::vector<std::string> heads{"e", "e", "e", "e:", "E", "\"", "é", "give:e"};
  return pad(dice_.one_of(heads) + std::to_string(++last_name_));
}

// Lengthens ids to at most 256 bytes, so that a few fill the evidence of a detection. Sixteen of the longest fill it
// exactly.
std::string trace_simulator::pad(const std::string& id) {
  if (!dice_.percent(behaviour_.long_id_percent_)) return id;
  return id + std::string(behaviour_.longest_ids_ ? 256 - id.size() : 40 + dice_.below(200), '-');
}

std::optional<std::string> trace_simulator::some_placeholder() {
  std::vector<std::string> open;
  for (const event_record& e : seen().events_)
    if (e.placeholder_ && !e.forgotten_) open.push_back(e.id_);
  if (open.empty()) return std::nullopt;
  return dice_.one_of(open);
}

json::object trace_simulator::new_event(bool output) {
  object event;
  const std::optional<std::string> late = some_placeholder();
  event["id"] = late && dice_.percent(20) ? *late : draw_new_id();
  if (dice_.percent(92)) event["recipients"] = draw_recipients();
  if (dice_.percent(60)) event["kind"] = dice_.percent(60) ? "k1" : dice_.percent(50) ? "k2" : "k3";
  if (dice_.percent(behaviour_.fyi_percent_)) event["fyi"] = dice_.percent(80);
  if (output && dice_.per_mille(retries_soon_ ? 300 : submit_per_mille())) {
    event["submit"] = true;
    if (dice_.percent(70)) event["recipients"] = array{};
  }
  if (dice_.percent(20)) event["payload"] = object{{"text", "…"}};
  else if (!first_guards_.empty() && dice_.percent(70)) {
    if (dice_.percent(50)) event["payload"] = object{{"call", dice_.below(3)}, {"with", array{" x", nullptr}}};
    if (dice_.percent(50)) event["fingerprint"] = dice_.percent(80) ? json::value("call") : json::value(nullptr);
  }
  return event;
}

// An answer that is given back does not end judging, so submit more often where that will happen.
unsigned trace_simulator::submit_per_mille() const {
  const rule r = rule::early_termination;
  const history& h = seen();
  const bool given_back = effective_mode(h, r) == mode::enforce && !reachable_work(h).empty() &&
                          h.attempts_[static_cast<std::size_t>(r)] < settings_of(h, r).max_attempts_ &&
                          h.budget_spent_ < h.settings_.budget_;
  return given_back ? behaviour_.submit_per_mille_ * 4 : behaviour_.submit_per_mille_;
}

void trace_simulator::post_root() {
  object line = begin("event");
  line["event"] = new_event(false);
  if (dice_.percent(behaviour_.as_is_percent_)) line["as_is"] = true;
  send(std::move(line));
}

void trace_simulator::post_late_root() {
  const std::optional<std::string> late = some_placeholder();
  if (!late) return start();
  object line = begin("event");
  object event = new_event(false);
  event["id"] = *late;
  const std::vector<std::size_t> open = activations(true);
  if (!open.empty() && dice_.percent(50)) {
    event["source"] = seen().activations_[dice_.one_of(open)].id_;
    if (dice_.per_mille(behaviour_.submit_per_mille_ * 4)) event["submit"] = true;
  }
  line["event"] = std::move(event);
  send(std::move(line));
}

json::array trace_simulator::draw_inputs(const std::string& agent) {
  array inputs;
  std::vector<std::string> others;
  for (const event_record& e : seen().events_) {
    if (e.forgotten_ && dice_.percent(98)) continue;
    if (is_pending_for(e, agent) && inputs.size() < 3 && dice_.percent(75)) inputs.emplace_back(e.id_);
    else others.push_back(e.id_);
  }
  if (!others.empty() && dice_.per_mille(behaviour_.oddities_per_mille_))
    inputs.emplace_back(others[others.size() - 1 - dice_.below(std::min<std::size_t>(others.size(), 12))]);
  if (dice_.per_mille(behaviour_.oddities_per_mille_ / 2 + 5)) inputs.emplace_back(draw_new_id());
  if (!inputs.empty() && dice_.percent(3)) inputs.push_back(inputs.front());
  return inputs;
}

void trace_simulator::start() {
  // Usually an agent that has pending events.
  std::string agent = draw_agent();
  for (int tries = 0; tries < 3; ++tries) {
    const auto& events = seen().events_;
    if (std::any_of(events.begin(), events.end(), [&](const event_record& e) { return is_pending_for(e, agent); }))
      break;
    agent = draw_agent();
  }
  object line = begin("activation_started");
  line["activation"] = "v" + std::to_string(++last_name_);
  line["agent"] = agent;
  line["inputs"] = draw_inputs(agent);
  add_usage(line);
  send(std::move(line));
}

void trace_simulator::output() {
  object line = begin("event");
  object event = new_event(true);
  event["source"] = seen().activations_[dice_.one_of(activations(true))].id_;
  line["event"] = std::move(event);
  if (dice_.percent(behaviour_.as_is_percent_)) line["as_is"] = true;
  add_usage(line);
  send(std::move(line));
}

json::object trace_simulator::draw_reactions(const activation_record& v) {
  object reactions;
  const bool calm = dice_.percent(50);
  for (std::size_t input : v.inputs_) {
    const event_record& e = seen().events_[input];
    const std::size_t draw = dice_.below(100);
    if (draw < 25) continue;
    if (calm || draw < 50) reactions[e.id_] = "consume";
    else if (draw < 62) reactions[e.id_] = "wait";
    else if (draw < 74) reactions[e.id_] = "discard";
    else if (!e.settled_ || dice_.per_mille(behaviour_.mistakes_per_mille_))
      reactions[e.id_] = object{{"reroute", draw_recipients()}};
  }
  return reactions;
}

void trace_simulator::end() {
  const activation_record& v = seen().activations_[dice_.one_of(activations(true))];
  object line = begin("activation_ended");
  line["activation"] = v.id_;
  add_usage(line);
  if (dice_.percent(7)) {
    line["failed"] = true;
    line["error"] = "timeout";
    return send(std::move(line));
  }
  if (object reactions = draw_reactions(v); !reactions.empty()) line["reactions"] = std::move(reactions);
  array outputs;
  const std::size_t draw = dice_.below(100);
  const std::size_t count = draw < 30 ? 0 : draw < 65 ? 1 : draw < 88 ? 2 : 3;
  std::set<std::string> named;
  for (std::size_t i = 0; i < count; ++i) {
    object event = new_event(true);
    if (named.insert(std::string(event["id"].as_string())).second) outputs.push_back(std::move(event));
  }
  if (!outputs.empty()) line["outputs"] = std::move(outputs);
  if (dice_.percent(behaviour_.as_is_percent_)) line["as_is"] = true;
  send(std::move(line));
}

void trace_simulator::report_delivery() {
  static const std::vector<const char*> rare{"injected",  "rerouted",    "created", "released",
                                             "cancelled", "unsupported", "failed"};
  std::vector<std::size_t> known;
  std::vector<std::size_t> returned;
  for (std::size_t i = 0; i < seen().events_.size(); ++i) {
    const event_record& e = seen().events_[i];
    if (e.forgotten_) continue;
    known.push_back(i);
    if (e.system_ ||
        std::any_of(e.deliveries_.begin(), e.deliveries_.end(), [](const delivery& d) { return d.give_back_; }))
      returned.push_back(i);
  }
  if (known.empty()) return send(begin("time"));
  const bool healed = !returned.empty() && dice_.percent(80);
  const event_record& e = seen().events_[dice_.one_of(healed ? returned : known)];
  object line = begin("delivery");
  if (!seen().holds_.empty() && dice_.percent(30))
    line["of"] = "hold:" + std::to_string(1 + dice_.below(seen().holds_.size() + 1));
  else if (!first_guards_.empty() && dice_.percent(10))
    line["of"] = "cancel:" + std::to_string(1 + dice_.below(seen().cancels_ + 2));
  else if (e.window_give_backs_ > 0 && dice_.percent(60))
    line["of"] = "give:" + e.id_ + ":" + std::to_string(e.window_give_backs_);
  else line[e.system_ && dice_.percent(70) ? "of" : "event"] = e.id_;
  line["applied"] = dice_.percent(40) ? "as_is" : dice_.one_of(rare);
  send(std::move(line));
}

json::object trace_simulator::draw_usage() {
  object usage;
  if (dice_.percent(60)) usage["input_tokens"] = dice_.below(3000);
  if (dice_.percent(50)) usage["output_tokens"] = dice_.below(1000);
  if (dice_.percent(40)) usage["cost"] = static_cast<double>(dice_.below(300000)) / 1e6;
  if (dice_.percent(40)) usage["model_calls"] = dice_.below(4);
  if (dice_.percent(20)) usage["tool_calls"] = dice_.below(4);
  return usage;
}

void trace_simulator::add_usage(object& line) {
  if (!first_guards_.empty() && dice_.percent(30)) line["usage"] = draw_usage();
}

// Also of activations that have ended, and now and then with a value that is refused.
void trace_simulator::report_usage() {
  const std::vector<std::size_t> open = activations(true);
  const std::vector<std::size_t> ended = activations(false);
  const auto& some = !open.empty() && dice_.percent(70) ? open : ended;
  object line = begin("usage");
  line["activation"] = some.empty() ? "nobody's" : seen().activations_[dice_.one_of(some)].id_;
  line["usage"] = draw_usage();
  if (dice_.per_mille(behaviour_.mistakes_per_mille_)) line["usage"].as_object() = {{"input_tokens", -1}};
  else if (dice_.per_mille(behaviour_.mistakes_per_mille_)) line["usage"] = 3;
  send(std::move(line));
}

// A person decides, in time or late.
void trace_simulator::decide() {
  const auto& holds = seen().holds_;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (holds[i].open_) open.push_back(i + 1);
  const std::size_t number =
      !open.empty() && dice_.percent(85) ? dice_.one_of(open) : 1 + dice_.below(holds.size() + 2);
  object line{{"type", "decision"}, {"hold", "hold:" + std::to_string(number)}};
  line["decision"] = dice_.percent(60) ? "release" : "return";
  if (dice_.percent(50)) line["text"] = "try another way";
  line["by"] = "kim";
  line["ts"] = seen().clock_ + static_cast<std::int64_t>(dice_.percent(70) ? dice_.below(20) : dice_.below(3000));
  const bool is_return = line["decision"] == json::value("return") && number <= holds.size();
  send(std::move(line));
  if (!is_return) return;
  const bool is_notice = seen().events_[holds[number - 1].event_].fyi_;
  if (dice_.percent(is_notice ? 90 : 15)) take_returned(holds[number - 1]);
}

// The sender of a returned event takes it, also a notice, which digd does not give back.
void trace_simulator::take_returned(const hold_record& hold) {
  if (!hold.sender_) return;
  object line = begin("activation_started");
  line["activation"] = "v" + std::to_string(++last_name_);
  line["agent"] = *hold.sender_;
  line["inputs"] = array{json::value(seen().events_[hold.event_].id_)};
  send(std::move(line));
}

// An agent that is not a held recipient takes a held event and reroutes it, so that the event can get a second hold.
void trace_simulator::reroute_held() {
  const auto& holds = seen().holds_;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (holds[i].open_) open.push_back(i);
  const hold_record& hold = holds[dice_.one_of(open)];
  const std::string id = seen().events_[hold.event_].id_;
  std::string agent = draw_agent();
  for (int tries = 0; tries < 3 && hold.agents_.count(agent) != 0; ++tries) agent = draw_agent();
  const std::string activation = "v" + std::to_string(++last_name_);
  object line = begin("activation_started");
  line["activation"] = activation;
  line["agent"] = agent;
  line["inputs"] = array{json::value(id)};
  send(std::move(line));
  line = begin("activation_ended");
  line["activation"] = activation;
  line["reactions"] = object{{id, object{{"reroute", draw_recipients()}}}};
  send(std::move(line));
}

// Sends an event with more recipients than a detection lists.
void trace_simulator::flood() {
  object line = begin("event");
  array recipients;
  const std::size_t count = 10 + dice_.below(70);
  for (std::size_t i = 0; i < count; ++i) recipients.emplace_back(pad("nobody" + std::to_string(i)));
  line["event"] = object{{"id", draw_new_id()}, {"recipients", std::move(recipients)}};
  send(std::move(line));
}

// Creates more work at once than a detection lists.
void trace_simulator::burst() {
  const std::vector<std::size_t> open = activations(true);
  if (open.empty()) return start();
  object line = begin("activation_ended");
  line["activation"] = seen().activations_[dice_.one_of(open)].id_;
  array outputs;
  const std::string agent = draw_agent();
  const std::size_t count = 40 + dice_.below(50);
  for (std::size_t i = 0; i < count; ++i)
    outputs.emplace_back(object{{"id", draw_new_id()}, {"recipients", array{agent}}});
  line["outputs"] = std::move(outputs);
  send(std::move(line));
}

void trace_simulator::resend_or_run_ahead() {
  object line = begin("agent_left");
  const std::int64_t seq = line["seq"].as_int64();
  if (seq > 1 && dice_.percent(60))
    line["seq"] = 1 + static_cast<std::int64_t>(dice_.below(static_cast<std::size_t>(seq - 1)));
  else line["seq"] = seq + 1 + static_cast<std::int64_t>(dice_.below(3));
  line["agent"] = draw_agent();
  send(std::move(line));
}

// --- common

json::object trace_simulator::begin(const char* type) {
  const std::string session = dice_.one_of(sessions_);
  object line{{"type", type}, {"seq", judge_.expected_seq(session)}};
  if (session != "main" || dice_.percent(50)) line["session"] = session;
  const std::size_t draw = dice_.below(100);
  std::int64_t ts = seen().clock_;
  if (draw < behaviour_.jump_percent_) ts += static_cast<std::int64_t>(dice_.below(behaviour_.jump_ms_));
  else if (draw > 97) ts = std::max<std::int64_t>(0, ts - static_cast<std::int64_t>(dice_.below(50)));
  else ts += static_cast<std::int64_t>(dice_.below(behaviour_.step_ms_ * 2));
  if (dice_.percent(85)) line["ts"] = ts;
  return line;
}

void trace_simulator::send(object line) { send_text(json::serialize(line)); }

void trace_simulator::send_text(const std::string& line) {
  trace_.push_back(line);
  retries_soon_ = false;
  for (const std::string& answer : judge_.step(line))
    if (answer.rfind("{\"d\":\"early_termination\"", 0) == 0) retries_soon_ = dice_.percent(60);
}

std::vector<std::size_t> trace_simulator::activations(bool open) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < seen().activations_.size(); ++i)
    if (seen().activations_[i].open_ == open && !seen().activations_[i].forgotten_) found.push_back(i);
  return found;
}

}  // namespace oracle
