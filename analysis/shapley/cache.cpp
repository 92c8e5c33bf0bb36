#include "analysis/shapley/cache.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/json_writer.h"

namespace digd::shapley {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view version = "digd.shapley.cache 1";  // increase it when an estimator changes

// Always with a point or an exponent: the JSON parser reads back a text without one as an integer.
std::string exact_text(double x) {
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

void write(json_writer& to, std::string_view name, const std::vector<double>& values) {
  to.new_line().key(name).open_array();
  for (const double value : values) to.raw(exact_text(value));
  to.close_array();
}

bool read(const simdjson::dom::object& from, const char* name, std::size_t size, std::vector<double>& to) {
  simdjson::dom::array items;
  if (from[name].get(items) != simdjson::SUCCESS) return false;
  for (const simdjson::dom::element e : items) {
    double x;
    if (e.get(x) != simdjson::SUCCESS) return false;
    to.push_back(x);
  }
  return to.size() == size;
}

}  // namespace

fs::path cache::usual_folder() {
  const char* given = std::getenv("XDG_CACHE_HOME");
  if (given != nullptr && *given == '/') return fs::path(given) / "digd" / "shapley";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "digd" / "shapley" : fs::path();
}

std::string cache::key_of(const game& game, const estimate_options& options) {
  digest d;
  d.add(version);
  game.add_content(d);
  const estimator e = options.estimator == estimator::automatic ? choose(game, options.samples) : options.estimator;
  d.add(to_string(e));
  if (e != estimator::exact) {
    d.add(options.samples);
    d.add(options.seed);
  }
  return d.hex();
}

std::optional<estimate_result> cache::find(const std::string& key, const game& game) const {
  if (folder_.empty() || !game.repeatable()) return {};
  std::ifstream file(folder_ / fmt::format("{}.json", key), std::ios::binary);
  if (!file) return {};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  simdjson::dom::parser parser;
  simdjson::dom::object top;
  std::string_view format, estimator_name;
  if (parser.parse(text).get(top) != simdjson::SUCCESS || top["format"].get(format) != simdjson::SUCCESS ||
      format != version)
    return {};
  estimate_result r;
  if (top["estimator"].get(estimator_name) != simdjson::SUCCESS || !estimator_from(estimator_name)) return {};
  r.estimator = *estimator_from(estimator_name);
  const bool numbers =
      top["baseline"].get(r.baseline) == simdjson::SUCCESS && top["total"].get(r.total) == simdjson::SUCCESS &&
      top["gap"].get(r.gap) == simdjson::SUCCESS && top["samples"].get(r.samples) == simdjson::SUCCESS &&
      top["wanted"].get(r.wanted) == simdjson::SUCCESS && top["evaluations"].get(r.evaluations) == simdjson::SUCCESS;
  const cast& players = game.players();
  const auto both = [&](const char* name, const char* error, std::size_t size, scored& to) {
    return read(top, name, size, to.value) && read(top, error, size, to.error);
  };
  const bool lists = both("phi", "phi_error", players.size(), r.phi) &&
                     both("agents", "agents_error", players.agent_names.size(), r.by_agent) &&
                     both("steps", "steps_error", players.steps, r.by_step) &&
                     both("behaviours", "behaviours_error", players.behaviour_names.size(), r.by_behaviour);
  return numbers && lists ? std::optional(std::move(r)) : std::nullopt;
}

void cache::keep(const std::string& key, const estimate_result& r) const {
  if (folder_.empty() || !r || r.interrupted) return;
  std::string text;
  json_writer to(text);
  to.open_object().key("format").text(version).key("estimator").text(to_string(r.estimator));
  to.key("baseline").raw(exact_text(r.baseline)).key("total").raw(exact_text(r.total));
  to.key("gap").raw(exact_text(r.gap)).key("samples").integer(r.samples).key("wanted").integer(r.wanted);
  to.key("evaluations").integer(r.evaluations);
  write(to, "phi", r.phi.value);
  write(to, "phi_error", r.phi.error);
  write(to, "agents", r.by_agent.value);
  write(to, "agents_error", r.by_agent.error);
  write(to, "steps", r.by_step.value);
  write(to, "steps_error", r.by_step.error);
  write(to, "behaviours", r.by_behaviour.value);
  write(to, "behaviours_error", r.by_behaviour.error);
  to.close_object();
  text += '\n';
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path file = folder_ / fmt::format("{}.json", key);
  fs::path beside = file;
  beside += fmt::format(".part{}", ::getpid());
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(beside, file, failed);
  if (failed) fs::remove(beside, failed);
}

}  // namespace digd::shapley
