#include "analysis/shapley/external.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <optional>

#include "analysis/shapley/child_process.h"
#include "base/json_writer.h"

namespace digd::shapley {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view hello_line = R"({"type":"hello","protocol":1})";

// The players that a simulator declares. `read` returns an empty text or the reason of a failure.
class declaration {
 public:
  std::string read(const std::string& line) {
    simdjson::dom::parser parser;
    object top;
    if (parser.parse(line).get(top) != simdjson::SUCCESS) return "its answer to hello is not a JSON object";
    std::string_view type;
    if (top["type"].get(type) != simdjson::SUCCESS || type != "game")
      return "its answer to hello has no \"type\": \"game\"";
    array items;
    if (top["players"].get(items) != simdjson::SUCCESS || items.size() == 0) return "players: a list, not empty";
    if (items.size() > max_external_players) return fmt::format("players: at most {}", max_external_players);
    for (const element element : items) {
      if (std::string problem = add(element); !problem.empty())
        return fmt::format("players[{}]: {}", players.size(), problem);
    }
    std::string_view text;
    if (top["title"].get(text) == simdjson::SUCCESS) title = text;
    double number;
    if (top["threshold"].get(number) == simdjson::SUCCESS) threshold = number;
    return {};
  }

  cast players;
  std::string title;
  double threshold = std::numeric_limits<double>::quiet_NaN();

 private:
  using name_index = boost::unordered_flat_map<std::string, std::uint32_t>;

  static std::uint32_t index_in(std::vector<std::string>& names, name_index& numbers, std::string_view name) {
    const auto [at, is_new] = numbers.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return at->second;
  }

  std::string add(const element item) {
    object player;
    if (item.get(player) != simdjson::SUCCESS) return "expected an object";
    std::string_view agent, name;
    if (player["agent"].get(agent) != simdjson::SUCCESS) return "agent: expected a string";
    std::uint64_t step = 1;
    element given;
    if (player["step"].get(given) == simdjson::SUCCESS &&
        (given.get(step) != simdjson::SUCCESS || step < 1 || step > 1'000'000)) {
      return "step: expected a whole number from 1 to 1000000";
    }
    std::vector<std::uint16_t> types;
    array behaviours;
    if (player["behaviours"].get(behaviours) == simdjson::SUCCESS) {
      for (const element b : behaviours) {
        std::string_view type;
        if (b.get(type) != simdjson::SUCCESS) return "behaviours: expected a list of strings";
        types.push_back(static_cast<std::uint16_t>(index_in(players.behaviour_names, behaviour_numbers_, type)));
      }
      if (players.behaviour_names.size() > 10'000) return "behaviours: at most 10000 types";
    }
    const std::uint32_t i = index_in(players.agent_names, agent_numbers_, agent);
    players.add(i, static_cast<std::uint32_t>(step - 1), types, false);
    players.steps = std::max<std::size_t>(players.steps, step);
    if (player["name"].get(name) != simdjson::SUCCESS) {
      players.names.push_back(fmt::format("{} @ {}", agent, step));
    } else {
      players.names.emplace_back(name);
    }
    return {};
  }

  name_index agent_numbers_, behaviour_numbers_;
};

class external_evaluator final : public evaluator {
 public:
  external_evaluator(const external_options& options, std::size_t players)
      : options_(options), players_(players), set_(players) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    open();
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t p = 0; p < players_; ++p) set_[p] = kept[p] >> l & 1;
      add_set();
    }
    return ask(out);
  }
  bool walk(std::span<const std::uint8_t> start, std::span<const player_index> order, double* out) override {
    set_.assign(start.begin(), start.end());
    return in_batches(order.size(), out, [&](std::size_t k) {
      set_[order[k]] ^= 1;
      add_set();
    });
  }
  bool flips(std::span<const std::uint8_t> base, std::span<const player_index> toggled, double* out) override {
    set_.assign(base.begin(), base.end());
    return in_batches(toggled.size(), out, [&](std::size_t k) {
      set_[toggled[k]] ^= 1;
      add_set();
      set_[toggled[k]] ^= 1;
    });
  }
  std::string problem() const override { return problem_; }

 private:
  template <class Add>
  bool in_batches(std::size_t total, double* out, Add add) {
    for (std::size_t at = 0; at < total; at += options_.batch) {
      open();
      for (std::size_t k = at; k < std::min(total, at + options_.batch); ++k) add(k);
      if (!ask(out + at)) return false;
    }
    return true;
  }
  void open() {
    sets_.clear();
    count_ = 0;
    writer_.emplace(sets_).open_array();
  }
  void add_set() {
    ++count_;
    writer_->open_array();
    for (std::size_t p = 0; p < players_; ++p) {
      if (set_[p]) writer_->integer(p);
    }
    writer_->close_array();
  }

  bool ask(double* out) {
    std::string problem;
    writer_->close_array();
    for (int attempt = 0; attempt <= options_.restarts; ++attempt) {
      problem = ready();
      if (problem.empty()) {
        std::string line;
        json_writer(line)
            .open_object()
            .key("type")
            .text("evaluate")
            .key("id")
            .integer(++id_)
            .key("sets")
            .raw(sets_)
            .close_object();
        problem = child_.converse(line, answer_, options_.timeout_ms, options_.stop);
      }
      if (problem.empty()) problem = read(out);
      if (problem.empty()) return true;
      child_.end();
      if (options_.stop != nullptr && options_.stop->load()) break;
    }
    problem_ = fmt::format("the simulator failed {} times: {}", options_.restarts + 1, problem);
    return false;
  }

  // Starts the process if it is not running. A restart has to declare as many players as before.
  std::string ready() {
    if (child_.running()) return {};
    if (std::string problem = child_.start(options_.command); !problem.empty()) return problem;
    if (std::string problem = child_.converse(hello_line, answer_, options_.timeout_ms, options_.stop);
        !problem.empty())
      return problem;
    declaration d;
    if (std::string problem = d.read(answer_); !problem.empty()) return problem;
    return d.players.size() == players_ ? std::string() : "it declares another number of players than before";
  }

  std::string read(double* out) {
    object top;
    if (parser_.parse(answer_).get(top) != simdjson::SUCCESS) return "its answer is not a JSON object";
    std::uint64_t id;
    if (top["id"].get(id) != simdjson::SUCCESS || id != id_) return "its answer has another id than the question";
    array risks;
    if (top["risks"].get(risks) != simdjson::SUCCESS) return "risks: a list of numbers";
    if (risks.size() != count_) return fmt::format("risks: {} numbers for {} sets", risks.size(), count_);
    std::size_t k = 0;
    for (const element r : risks) {
      if (r.get(out[k]) != simdjson::SUCCESS || !std::isfinite(out[k]))
        return fmt::format("risks[{}]: a finite number", k);
      ++k;
    }
    return {};
  }

  const external_options options_;
  const std::size_t players_;
  child_process child_;
  simdjson::dom::parser parser_;
  std::vector<std::uint8_t> set_;
  std::string sets_, answer_, problem_;
  std::optional<json_writer> writer_;  // of `sets_`
  std::size_t count_ = 0;
  std::uint64_t id_ = 0;
};

class external_game final : public game {
 public:
  external_game(const external_options& options, declaration d) : options_(options), title_(std::move(d.title)) {
    players_ = std::move(d.players);
    threshold_ = d.threshold;
  }
  std::string_view kind() const override { return "external"; }
  std::string title() const override {
    return (title_.empty() ? "external simulator" : title_) + ", " + std::to_string(size()) + " players";
  }
  std::unique_ptr<evaluator> make_evaluator() const override {
    return std::make_unique<external_evaluator>(options_, size());
  }
  void add_content(digest& to) const override { to.add(std::string_view(options_.command)); }
  bool repeatable() const override { return false; }
  bool slow() const override { return true; }

 private:
  external_options options_;
  std::string title_;
};

}  // namespace

external_result make_external_game(const external_options& options) {
  external_result out;
  child_process child;
  std::string answer;
  declaration d;
  out.problem = child.start(options.command);
  if (out.problem.empty()) out.problem = child.converse(hello_line, answer, options.timeout_ms, options.stop);
  if (out.problem.empty()) out.problem = d.read(answer);
  if (out.problem.empty()) {
    out.game = std::make_unique<external_game>(options, std::move(d));
  } else {
    out.problem = "the simulator: " + out.problem;
  }
  return out;
}

}  // namespace digd::shapley
