// digctl pilot: what digd did over many runs or would have done, how to silence it, and how the canary's groups
// compare.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/config_edit.h"
#include "cli/files.h"
#include "cli/json_fields.h"
#include "cli/local_time.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_source.h"
#include "cli/shell_word.h"
#include "cli/terminal_options.h"
#include "model/rule_id.h"
#include "report/picture/text.h"
#include "report/stored_runs/pilot.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t max_config_bytes = 16u << 20;
constexpr std::size_t max_canary_metrics = 16;

struct pilot_options {
  std::string since = std::string(stored::pilot_request::usual_since);
  std::string format = "text";
  std::vector<std::string> fine;
  std::string write;
  daemon_options daemon;
  terminal_options terminal;
};

// ---- reading the answer: a missing member counts as empty

std::optional<double> real_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found != nullptr && found->is_number() ? std::optional(found->to_number<double>()) : std::nullopt;
}

// ---- words

std::string counted(std::int64_t n, const std::string& noun) {
  return std::to_string(n) + ' ' + noun + (n == 1 ? "" : "s");
}

std::string times(std::int64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

std::string short_number(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3g", value);
  return out;
}

std::string percent(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f %%", value * 100);
  return out;
}

std::string outcomes_text(const json::object& sum) {
  const json::object& ended = object_in(sum, "ended");
  const std::pair<const char*, const char*> words[] = {{"success", "success"},
                                                       {"failure", "failure"},
                                                       {"unknown", "without an outcome"},
                                                       {"aborted", "aborted"},
                                                       {"open", "still open"}};
  std::string out;
  for (const auto& [key, word] : words) {
    if (const auto n = integer_in(ended, key); n > 0) out += (out.empty() ? "" : ", ") + std::to_string(n) + ' ' + word;
  }
  return out;
}

// ---- what the pilot found

class pilot_printer {
 public:
  pilot_printer(const json::object& pilot, const pilot_options& options, std::string address)
      : pilot_(pilot), options_(options), address_(std::move(address)), width_(options.terminal.columns()) {}

  void print() const {
    print_sums();
    print_places();
    print_canary();
    print_precision();
    if (is_true(pilot_, "left_out")) line("The answer is cut; request a shorter time with --since.");
  }

 private:
  void line(const std::string& text, std::size_t indent = 0) const {
    const std::string before(indent, ' ');
    for (const std::string& item : picture::wrapped(text, std::max<std::size_t>(width_ - indent, 20)))
      std::cout << before << item << '\n';
  }

  std::string toned(const std::string& text, table::tone tone) const {
    if (!options_.terminal.colored()) return text;
    return std::string(sgr(tone)) + text + "\x1b[0m";
  }

  void print_sums() const {
    const json::object& runs = object_in(pilot_, "runs");
    const json::object& intervened = object_in(pilot_, "intervened");
    const std::int64_t total = integer_in(runs, "total"), touched = integer_in(intervened, "runs");
    std::string modes;
    for (const auto& [mode, n] : object_in(runs, "modes")) {
      if (n.is_int64()) modes += (modes.empty() ? "" : ", ") + std::to_string(n.get_int64()) + ' ' + printable(mode);
    }
    line("Since " + local_time(integer_in(pilot_, "since_ms"), "%Y-%m-%d %H:%M") + ": " + counted(total, "run") +
         (modes.empty() ? "" : " (" + modes + ")") + ".");
    if (total == 0) return;
    if (touched == 0) return line("digd intervened in none of them, nor would it have in shadow.");
    line("digd would have intervened in " + std::to_string(integer_in(intervened, "would")) + " of " +
         counted(total, "run") + " and did intervene in " + std::to_string(integer_in(intervened, "did")) + ".");
    const std::int64_t badly = integer_in(intervened, "ended_badly");
    line("Of these " + counted(touched, "run") + ", " + std::to_string(badly) + " ended badly anyway (" +
         outcomes_text(intervened) + ").");
    std::cout << '\n';
    table sums({"rule", "runs", "would", "did"}, table_look(options_.terminal));
    for (const json::value& item : array_in(pilot_, "rules")) {
      if (!item.is_object()) continue;
      const json::object& rule = item.get_object();
      sums.add({{printable(text_in(rule, "rule"))},
                {std::to_string(integer_in(rule, "runs"))},
                {std::to_string(integer_in(rule, "would"))},
                {std::to_string(integer_in(rule, "did"))}});
    }
    sums.print(std::cout);
  }

  void print_places() const {
    for (const json::value& item : array_in(pilot_, "places")) {
      if (item.is_object()) print_place(item.get_object());
    }
  }

  void print_place(const json::object& place) const {
    const std::string rule(text_in(place, "rule")), agent(text_in(place, "agent")), where(text_in(place, "place"));
    const std::string name = rule + (agent.empty() ? "" : '@' + agent);
    const std::int64_t would = integer_in(place, "would"), did = integer_in(place, "did");
    std::cout << '\n'
              << toned(picture::safe(name), did > 0 ? table::tone::good : table::tone::warning)
              << (where.empty() ? "" : "   " + picture::safe(where)) << '\n';
    line("In " + counted(integer_in(place, "runs"), "run") + ": would have intervened " + times(would) + ", did " +
             times(did) + ". Ended: " + outcomes_text(place) + ".",
         2);
    for (const json::value& item : array_in(place, "examples")) {
      if (item.is_object()) print_example(item.get_object());
    }
    print_judged(place, name);
  }

  void print_example(const json::object& example) const {
    line(printable(text_in(example, "reason")), 2);
    const std::string_view run = text_in(example, "run"), ended = text_in(example, "ended");
    const std::string where =
        address_.empty() ? "run " + digd::quoted(run) : address_ + printable(text_in(example, "link"));
    std::cout << "    " << where << "   detection " << printable(text_in(example, "detection")) << ", "
              << (ended.empty() ? "still open" : printable(ended)) << '\n';
  }

  void print_judged(const json::object& place, const std::string& name) const {
    const json::object& judged = object_in(place, "judged");
    const std::int64_t right = integer_in(judged, "right"), wrong = integer_in(judged, "wrong");
    if (right + wrong > 0) line("Judged: " + std::to_string(right) + " right, " + std::to_string(wrong) + " wrong.", 2);
    const bool can_be_typed = picture::safe(name) == name;
    if (can_be_typed)
      std::cout << "  " << toned("To silence this: digctl pilot --fine " + shell_word(name), table::tone::quiet)
                << '\n';
  }

  static std::string shown(const json::object& interval, bool as_share) {
    const auto value = real_in(interval, "value"), low = real_in(interval, "low"), high = real_in(interval, "high");
    if (!value || !low || !high) return "too few";
    const auto text = [&](double x) { return as_share ? percent(x) : short_number(x); };
    return text(*value) + " [" + text(*low) + ", " + text(*high) + "]";
  }

  void print_canary() const {
    const json::object& canary = object_in(pilot_, "canary");
    if (canary.empty()) return;
    const json::object &groups = object_in(canary, "groups"), &difference = object_in(canary, "difference");
    const json::object &enforced = object_in(groups, "enforce"), &shadowed = object_in(groups, "shadow");
    std::cout << '\n';
    line("Canary: " + counted(integer_in(enforced, "runs"), "run") + " enforced, " +
         counted(integer_in(shadowed, "runs"), "run") + " in shadow.");
    table rows({"", "enforce", "shadow", "difference"}, table_look(options_.terminal));
    const auto row = [&](const std::string& title, const json::object& a, const json::object& b, const json::object& d,
                         bool as_share) {
      rows.add({{title}, {shown(a, as_share)}, {shown(b, as_share)}, {shown(d, as_share)}});
    };
    row("success", object_in(enforced, "success"), object_in(shadowed, "success"), object_in(difference, "success"),
        true);
    row("calls", object_in(enforced, "calls"), object_in(shadowed, "calls"), object_in(difference, "calls"), false);
    row("time, ms", object_in(enforced, "time_ms"), object_in(shadowed, "time_ms"), object_in(difference, "time_ms"),
        false);
    std::size_t metrics = 0;
    for (const auto& [name, value] : object_in(difference, "metrics")) {
      if (++metrics > max_canary_metrics) break;
      const auto mean = [&, metric = std::string_view(name)](const json::object& group) -> const json::object& {
        return object_in(object_in(object_in(group, "metrics"), metric), "mean");
      };
      static const json::object none;
      row(picture::safe(std::string_view(name)), mean(enforced), mean(shadowed),
          value.is_object() ? value.get_object() : none, false);
    }
    rows.print(std::cout);
    line("Success: of the runs that ended and were not aborted. " + printable(text_in(canary, "method")) + ".");
  }

  void print_precision() const {
    const json::array& weeks = array_in(pilot_, "precision");
    if (weeks.empty()) return;
    std::cout << '\n';
    line("Judged by people, by the week in which the detection came:");
    table rows({"rule", "week of", "right", "wrong", "precision"}, table_look(options_.terminal));
    for (const json::value& item : weeks) {
      if (!item.is_object()) continue;
      const json::object& week = item.get_object();
      rows.add({{printable(text_in(week, "rule"))},
                {printable(text_in(week, "week"))},
                {std::to_string(integer_in(week, "right"))},
                {std::to_string(integer_in(week, "wrong"))},
                {shown(object_in(week, "precision"), true)}});
    }
    rows.print(std::cout);
  }

  const json::object& pilot_;
  const pilot_options& options_;
  const std::string address_;  // of the dashboard; empty: there is no daemon
  const std::size_t width_;
};

// ---- `--fine`: what the user silences

// For each rule, the agents for which it is silenced; an empty list: all agents.
using fine_rules = std::map<std::string, std::vector<std::string>, std::less<>>;

std::optional<fine_rules> read_fine(const std::vector<std::string>& texts) {
  fine_rules out;
  for (const std::string& item : texts) {
    const std::size_t at = item.find('@');
    const std::string rule = item.substr(0, at);
    if (!rule_from(rule)) {
      const auto* near = nearest(rule, rule_names, [](std::string_view name) { return name; });
      complain("pilot",
               "--fine: there is no rule " + digd::quoted(rule) +
                   (near == nullptr ? "; `digctl rules` lists them" : "; did you mean " + digd::quoted(*near) + '?'));
      return {};
    }
    const bool for_all = at == std::string::npos;
    if (!for_all && at + 1 == item.size()) {
      complain("pilot", "--fine: expected RULE@AGENT, or RULE alone for all agents");
      return {};
    }
    const bool known = out.contains(rule);
    std::vector<std::string>& agents = out[rule];
    if (known && for_all != agents.empty()) {
      complain("pilot", "--fine: " + rule + " is given both alone and with an agent");
      return {};
    }
    if (!for_all && std::find(agents.begin(), agents.end(), item.substr(at + 1)) == agents.end())
      agents.push_back(item.substr(at + 1));
  }
  return out;
}

// The table of the configuration, and the member of a hello, with the settings of a rule.
std::string table_of(std::string_view rule) { return is_guard(*rule_from(rule)) ? "guards" : "rules"; }

config_edit edit_for(const std::string& rule, const std::vector<std::string>& agents) {
  const std::string table = table_of(rule);
  if (agents.empty()) return {.table = table, .rule = rule, .key = "mode", .literal = "\"observe\""};
  return {.table = table, .rule = rule, .key = "except", .literal = toml_list(agents)};
}

// {"orphaned_event":{"except":["critic"]}}: valid both as Python and as JSON.
std::string as_json(const fine_rules& fine) {
  std::string out;
  json_writer to(out);
  to.open_object();
  for (const auto& [rule, agents] : fine) {
    to.key(rule).open_object();
    if (agents.empty()) {
      to.key("mode").text("observe").close_object();
      continue;
    }
    to.key("except").open_array();
    for (const std::string& agent : agents) to.text(agent);
    to.close_array().close_object();
  }
  to.close_object();
  return out;
}

// The settings as JSON, for each member of a hello that has some: `rules`, `guards`.
std::map<std::string, std::string> hello_members(const fine_rules& fine) {
  std::map<std::string, fine_rules> by_table;
  for (const auto& [rule, agents] : fine) by_table[table_of(rule)].emplace(rule, agents);
  std::map<std::string, std::string> out;
  for (const auto& [table, some] : by_table) out.emplace(table, as_json(some));
  return out;
}

struct silenced {
  std::int64_t would = 0, did = 0;
};

silenced silenced_by(const fine_rules& fine, const json::object& pilot) {
  silenced sum;
  for (const json::value& item : array_in(pilot, "places")) {
    if (!item.is_object()) continue;
    const json::object& place = item.get_object();
    const auto found = fine.find(text_in(place, "rule"));
    if (found == fine.end()) continue;
    const auto& agents = found->second;
    if (!agents.empty() && std::find(agents.begin(), agents.end(), text_in(place, "agent")) == agents.end()) continue;
    sum.would += integer_in(place, "would");
    sum.did += integer_in(place, "did");
  }
  return sum;
}

// Merges the settings into the file, which is replaced completely or not at all.
int write_fine(const fine_rules& fine, const std::string& path) {
  std::string problem;
  auto text = read_file(path, max_config_bytes, problem);
  if (!text) return complain("pilot", shown(path) + ": " + problem);
  for (const auto& [rule, agents] : fine) {
    auto names = excepted_in(*text, table_of(rule), rule, problem);
    if (!names) return complain("pilot", shown(path) + ": " + printable(problem));
    for (const std::string& item : agents) {
      if (std::find(names->begin(), names->end(), item) == names->end()) names->push_back(item);
    }
    problem = apply_edit(edit_for(rule, agents.empty() ? agents : *names), *text);
    if (!problem.empty()) return complain("pilot", shown(path) + ": " + printable(problem));
  }
  if (problem = write_file(path, *text); !problem.empty()) return complain("pilot", shown(path) + ": " + problem);
  std::cerr << "Written to " << shown(path)
            << ". New runs follow it once digd reloads the file: systemctl reload digd, or SIGHUP.\n";
  return done;
}

void print_fine(const fine_rules& fine) {
  std::cout << "# In digd.toml:\n";
  for (const auto& [rule, agents] : fine) {
    const config_edit edit = edit_for(rule, agents);
    std::cout << '[' << edit.table << '.' << rule << "]\n" << edit.key << " = " << edit.literal << '\n';
  }
  const auto members = hello_members(fine);
  // A hello can only lower the limits of a guard that the configuration sets.
  const auto exception = [](bool has_guards) {
    return has_guards ? ", which cannot change guards of digd.toml:\n" : ":\n";
  };
  std::cout << "\n# Or in Python" << exception(members.contains("guards"));
  for (const auto& [member, settings] : members)
    std::cout << member << '=' << settings << (member == members.rbegin()->first ? "\n" : ",\n");
  for (const auto& [member, settings] : members)
    std::cout << "\n# Or in JSON, a hello's `" << member << '`' << exception(member == "guards") << settings << '\n';
}

// ---- the command

std::string ask(const std::string& since, run_source& source, json::object& into) {
  return show_while({.name = "reading the runs"}, [&] { return source.pilot(since, into); });
}

int print_silencing(const pilot_options& options) {
  const auto fine = read_fine(options.fine);
  if (!fine) return wrong_use;
  json::object pilot;
  const auto source = open_source("pilot", options.daemon, opened_since(options.since));
  const std::string problem = source ? ask(options.since, *source, pilot) : "";
  if (!source) return wrong_use;
  if (!problem.empty()) std::cerr << "digctl pilot: cannot find how much this silences: " << problem << '\n';
  const silenced sum = silenced_by(*fine, pilot);
  if (options.format == "json") {
    std::string out;
    json_writer to(out);
    to.open_object();
    for (const auto& [member, settings] : hello_members(*fine)) to.key(member).raw(settings);
    if (problem.empty()) {
      to.key("silences").open_object().key("would").integer(sum.would).key("did").integer(sum.did).close_object();
    }
    to.close_object();
    std::cout << out << '\n';
  } else {
    print_fine(*fine);
  }
  if (problem.empty()) {
    std::cerr << "Since " << local_time(integer_in(pilot, "since_ms"), "%Y-%m-%d %H:%M") << " this would have silenced "
              << counted(sum.would, "healing") << " that digd would have done, and " << sum.did
              << " that it did. They would still be detected.\n";
  }
  return options.write.empty() ? done : write_fine(*fine, options.write);
}

std::string dashboard_of(const daemon_options& options) {
  std::string problem;
  const auto to = net::parse_address(options.to, problem);
  if (!options.data_dir.empty() || !to || to->local) return {};
  return (to->tls ? "https://" : "http://") + to->shown();
}

int pilot(const pilot_options& options) {
  if (!stored::duration_ms(options.since)) return complain("pilot", wrong_span);
  if (!options.fine.empty()) return print_silencing(options);
  if (!options.write.empty()) return complain("pilot", "--write needs --fine, which names what to write");
  const auto source = open_source("pilot", options.daemon, opened_since(options.since));
  if (!source) return wrong_use;
  json::object answer;
  if (const std::string problem = ask(options.since, *source, answer); !problem.empty())
    return complain("pilot", problem);
  if (options.format == "json") {
    std::cout << printable(json::serialize(answer)) << '\n';
  } else {
    pilot_printer(answer, options, dashboard_of(options.daemon)).print();
  }
  return done;
}

}  // namespace

void add_pilot(CLI::App& app, int& status) {
  auto options = std::make_shared<pilot_options>();
  CLI::App* sub = app.add_subcommand(
      "pilot", "Shows what digd did over many runs, or would have done in shadow, and silences places");
  sub->add_option("--since", options->since, "runs opened within this time: 90m, 36h, 7d, 4w")->capture_default_str();
  sub->add_option("--format", options->format, "text for people; json: as /v1/pilot")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  sub->add_option("--fine", options->fine,
                  "RULE@AGENT, or RULE: print the settings that silence these detections; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--write", options->write, "with --fine: also write the settings into this configuration file");
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  add_terminal_options(*sub, options->terminal);
  sub->callback([options, &status] { status = pilot(*options); });
}

}  // namespace digd::cli
