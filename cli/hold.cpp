// digctl hold list|release|return: events that wait for a person.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/deep_json.h"
#include "base/quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/json_fields.h"
#include "cli/json_records.h"
#include "cli/local_time.h"
#include "cli/printable.h"
#include "cli/table.h"
#include "cli/terminal_options.h"
#include "report/picture/text.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

constexpr std::string_view list_of_all = "/v1/holds?limit=1000";

struct hold_options {
  std::string run, hold, decision;
  std::string text, by;
  std::string format = "table";
  daemon_options daemon;
  terminal_options terminal;
};

// ---- list

// "coder", or "coder and 2 more".
std::string recipients_of(const json::object& hold) {
  const json::array& names = array_in(hold, "recipients");
  if (names.empty() || !names.front().is_string()) return "-";
  const json::string& first = names.front().get_string();
  std::string out = picture::safe({first.data(), first.size()});
  if (names.size() > 1) out += " and " + std::to_string(names.size() - 1) + " more";
  return out;
}

// Local time; a run with another clock shows its own milliseconds.
std::string time_of(const json::object& hold, std::string_view key) {
  const json::value* found = hold.if_contains(key);
  if (found == nullptr || !found->is_int64()) return "-";
  const std::int64_t ms = found->get_int64();
  return text_in(hold, "clock") == "wall" ? local_time(ms, "%m-%d %H:%M:%S") : std::to_string(ms) + " ms";
}

table::row row_of(const json::object& hold) {
  const json::value* cost = object_in(object_in(hold, "spent"), "run").if_contains("cost");
  const std::string_view sender = text_in(hold, "sender");
  return {{picture::safe(text_in(hold, "run"))},
          {picture::safe(text_in(hold, "hold"))},
          {time_of(hold, "since"), table::tone::quiet},
          {time_of(hold, "due") + ", " + printable(text_in(hold, "on_timeout")), table::tone::quiet},
          {sender.empty() ? "-" : picture::safe(sender)},
          {recipients_of(hold)},
          {cost == nullptr || !cost->is_number() ? "-" : fmt::format("{}", cost->to_number<double>())},
          {printable(text_in(hold, "reason"))}};
}

int list(const hold_options& options) {
  const auto daemon = http_to("hold list", options.daemon);
  if (!daemon) return wrong_use;
  net::http_answer answer;
  const std::string target = options.run.empty() ? std::string(list_of_all) : run_path(options.run, "/holds");
  if (const std::string problem = daemon->get(target, answer); !problem.empty()) return complain("hold list", problem);
  if (!answer.good()) return complain("hold list", complaint_of(*daemon, answer));
  json::error_code ec;
  const json::value body = parse_json(answer.body, ec);
  const json::value* holds = ec || !body.is_object() ? nullptr : body.get_object().if_contains("holds");
  if (holds == nullptr || !holds->is_array()) {
    return complain("hold list",
                    "the answer has no list of holds: the daemon is older than this digctl, or is not digd");
  }
  table rows({"run", "hold", "since", "until, then", "from", "to", "cost", "reason"}, table_look(options.terminal));
  json_records records(options.format);
  for (const json::value& hold : holds->get_array()) {
    if (!hold.is_object()) continue;
    if (records.is_on()) {
      records.add(printable(json::serialize(hold)));
    } else {
      rows.add(row_of(hold.get_object()));
    }
  }
  if (rows.waiting() > 0) rows.print(std::cout);
  records.finish();
  if (holds->get_array().empty()) std::cerr << "digctl hold list: no event waits for a person\n";
  if (const std::int64_t left_out = integer_in(body.get_object(), "left_out"); left_out > 0)
    std::cerr << "digctl hold list: and " << left_out << " more\n";
  return done;
}

// ---- release, return

int decide(const hold_options& options) {
  const std::string command = "hold " + options.decision;
  const auto daemon = http_to(command, options.daemon);
  if (!daemon) return wrong_use;
  json::object body{{"decision", options.decision}};
  if (!options.text.empty()) body["text"] = options.text;
  if (!options.by.empty()) body["by"] = options.by;
  net::http_answer answer;
  const std::string target = run_path(options.run, "/holds/" + percent_encoded(options.hold));
  if (const std::string problem = daemon->ask("POST", target, json::serialize(body), answer); !problem.empty())
    return complain(command, problem);
  if (!answer.good()) return complain(command, complaint_of(*daemon, answer));
  std::cerr << "The event of " << digd::quoted(options.hold) << " in run " << digd::quoted(options.run)
            << (options.decision == "release" ? " is released.\n" : " goes back to its sender.\n");
  return done;
}

void add_decision(CLI::App& hold, int& status, const std::string& decision, const std::string& description) {
  auto options = std::make_shared<hold_options>();
  options->decision = decision;
  CLI::App* sub = hold.add_subcommand(decision, description);
  sub->add_option("RUN", options->run, "the run's id")->required();
  sub->add_option("HOLD", options->hold, "the hold, as `digctl hold list` shows it: hold:1")->required();
  sub->add_option("--text", options->text, "a text for the agent, sent with the event");
  sub->add_option("--by", options->by, "your name, kept with the decision; with tokens, the token's name counts");
  add_daemon_options(*sub, options->daemon);
  sub->callback([options, &status] { status = decide(*options); });
}

}  // namespace

void add_hold(CLI::App& app, int& status) {
  CLI::App* hold = app.add_subcommand("hold", "Lists, releases or returns events that wait for a person");
  hold->require_subcommand(1);
  auto options = std::make_shared<hold_options>();
  CLI::App* sub = hold->add_subcommand("list", "Lists waiting events of one run or of all open runs");
  sub->add_option("RUN", options->run, "the run's id; without it, all open runs");
  sub->add_option("--format", options->format, "table for people; json, or jsonl: each as in /v1/holds")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  add_terminal_options(*sub, options->terminal);
  sub->callback([options, &status] { status = list(*options); });
  add_decision(*hold, status, "release", "Delivers a waiting event");
  add_decision(*hold, status, "return", "Returns a waiting event to its sender");
}

}  // namespace digd::cli
