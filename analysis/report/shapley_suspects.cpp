#include "analysis/report/shapley_suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <numeric>

#include "analysis/chief/text.h"
#include "base/deep_json.h"
#include "report/words.h"

namespace digd::report {

namespace {

constexpr std::size_t max_candidates = 5;
constexpr double errors_in_interval = 1.96;  // half the width of a 95% interval

std::vector<std::size_t> by_suspicion(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
  return order;
}

// What the activation said: the text of an output that a failure is about, or else a warning, or else of any output; of
// equal ones the first. Empty if no payload was kept.
std::string text_of_activation(std::string_view trace, const observed& seen, const std::string& activation) {
  constexpr std::size_t max_quote = 160;
  const auto text_of = [](const boost::json::value& event) -> std::string {
    const boost::json::value* payload = event.is_object() ? event.get_object().if_contains("payload") : nullptr;
    if (payload != nullptr && payload->is_object()) payload = payload->get_object().if_contains("text");
    return payload != nullptr && payload->is_string() ? std::string(payload->get_string()) : std::string();
  };
  const auto member = [](const boost::json::object& o, std::string_view key) -> std::string_view {
    const boost::json::value* id = o.if_contains(key);
    return id != nullptr && id->is_string() ? std::string_view(id->get_string()) : std::string_view();
  };
  const auto weight_of = [&](const boost::json::value& event) {
    const std::string_view id = event.is_object() ? member(event.get_object(), "id") : std::string_view();
    int weight = 1;
    for (const reported_detection& each : seen.detections) {
      const detection& d = each.detection;
      if (d.event && *d.event == id) weight = std::max(weight, d.severity == severity::failure ? 3 : 2);
    }
    return weight;
  };
  std::string quote;
  int quoted_weight = 0;
  for (std::size_t at = 0, end = 0; at < trace.size(); at = end + 1) {
    end = std::min(trace.find('\n', at), trace.size());
    const std::string_view line = trace.substr(at, end - at);
    if (line.find("\"payload\"") == std::string_view::npos) continue;
    boost::system::error_code failed;
    const boost::json::value message = parse_json(line, failed);
    if (failed || !message.is_object()) continue;
    const boost::json::object& o = message.get_object();
    std::vector<const boost::json::value*> events;
    if (const auto* outputs = o.if_contains("outputs"); outputs != nullptr && member(o, "activation") == activation) {
      if (!outputs->is_array()) continue;
      for (const boost::json::value& output : outputs->get_array()) events.push_back(&output);
    } else if (const auto* event = o.if_contains("event"); event != nullptr && event->is_object()) {
      if (member(event->get_object(), "source") == activation) events.push_back(event);
    }
    for (const boost::json::value* event : events) {
      std::string text = text_of(*event);
      if (text.empty() || weight_of(*event) <= quoted_weight) continue;
      quote = std::move(text);
      quoted_weight = weight_of(*event);
    }
  }
  return quotable(chief::one_line(quote, max_quote), max_quote);
}

}  // namespace

void add_suspects(part& into, const shapley::report& r, std::string_view trace, const observed& seen,
                  const std::string& remedy) {
  into.scale = score_scale::shapley;
  if (!r.result.adds_risk()) return;
  const shapley::cast& players = r.game.players();
  const std::vector<double>& phi = r.result.phi.value;
  into.candidates = phi.size();
  for (const std::size_t p : by_suspicion(phi)) {
    if (into.suspects.size() == max_candidates) break;
    suspicion found;
    found.activation = players.name_of(static_cast<shapley::player_index>(p));
    found.agent = players.agent_names[players.agent[p]];
    found.place = "activation " + short_name(found.activation);
    found.score = shapley::without_rounding(r.result.phi, p);
    found.error = errors_in_interval * r.result.phi.error[p];
    if (found.score > 0) {
      found.quote = text_of_activation(trace, seen, found.activation);
      found.evidence = fmt::format("with a healthy counterpart in its place, the run's risk falls by {:.3g} on average",
                                   found.score);
      found.remedy = remedy;
    }
    into.suspects.push_back(std::move(found));
  }
}

}  // namespace digd::report
