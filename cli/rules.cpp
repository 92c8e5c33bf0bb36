// digctl rules: the documentation of each rule, from the text that the engine itself uses.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "rules/rule.h"

namespace digd::cli {

namespace {

std::string_view to_string(scope s) {
  switch (s) {
    case scope::none: break;
    case scope::run: return "run";
    case scope::event: return "event";
  }
  return "none";
}

// Rules have a fixed way of healing. For a guard, an option decides.
std::string healing_of(const rule& r) {
  if (is_guard(r.id)) return "acts as its option `action` says";
  return "heals by " + std::string(to_string(r.healing));
}

void print_text(const rule& r) {
  const rule_settings s = r.defaults();
  std::cout << to_string(r.id) << " (" << r.doc.code << "), " << to_string(r.severity) << ", " << healing_of(r)
            << "\n  finds    " << r.doc.summary << "\n  why      " << r.doc.problem << "\n  example  " << r.doc.example
            << "\n  misfires " << r.doc.false_positives << "\n  cleared  " << r.doc.cleared << "\n  source   "
            << r.doc.source << "\n  options  mode=" << to_string(s.mode);
  if (r.traits.kinds) std::cout << " kinds=[]";
  std::cout << " except=[]";
  if (r.traits.has_window()) std::cout << " window_ms=" << s.window_ms;
  if (r.traits.has_attempts()) std::cout << " max_attempts=" << s.max_attempts;
  if (r.traits.reroutes) std::cout << " max_reroutes=" << s.max_reroutes;
  if (r.traits.repeated) std::cout << " skip_repeated=" << (s.skip_repeated ? "true" : "false");
  std::cout << "\n  text     " << r.text() << "\n\n";
}

void append_options(json_writer& json, const rule& r) {
  const rule_settings s = r.defaults();
  json.key("options").open_object().key("mode").text(to_string(s.mode));
  if (r.traits.kinds) json.key("kinds").open_array().close_array();
  json.key("except").open_array().close_array();
  if (r.traits.has_window()) json.key("window_ms").integer(s.window_ms);
  if (r.traits.has_attempts()) json.key("max_attempts").integer(s.max_attempts);
  if (r.traits.reroutes) json.key("max_reroutes").integer(s.max_reroutes);
  if (r.traits.repeated) json.key("skip_repeated").boolean(s.skip_repeated);
  json.close_object();
}

void append_rule(json_writer& json, const rule& r) {
  json.open_object();
  json.key("rule").text(to_string(r.id)).key("code").text(r.doc.code);
  json.key("severity").text(to_string(r.severity)).key("healing").text(to_string(r.healing));
  json.key("summary").text(r.doc.summary).key("why").text(r.doc.problem).key("example").text(r.doc.example);
  json.key("false_positives").text(r.doc.false_positives).key("cleared").text(r.doc.cleared);
  json.key("advice").text(r.doc.advice).key("source").text(r.doc.source).key("text").text(r.text());
  append_options(json, r);
  json.key("window_scope").text(to_string(r.traits.window));
  json.key("attempts_scope").text(to_string(r.traits.attempts));
  json.key("returns").boolean(r.traits.returns);
  json.close_object();
}

// All rules if the name is empty; none if no rule has that name or code.
std::vector<const rule*> rules_named(std::string_view name) {
  std::vector<const rule*> chosen;
  for (const rule* r : catalog()) {
    if (name.empty() || name == to_string(r->id) || name == r->doc.code) chosen.push_back(r);
  }
  return chosen;
}

std::string check_rule_name(const std::string& name) {
  if (!rules_named(name).empty()) return {};
  const rule* const* near =
      nearest(name, catalog(), [](const rule* r) -> std::string_view { return to_string(r->id); });
  return "there is no rule " + digd::quoted(name) +
         (near == nullptr ? "; digctl rules lists them"
                          : "; did you mean " + digd::quoted(to_string((*near)->id)) + '?');
}

void print_json(const std::vector<const rule*>& rules) {
  std::string out;
  json_writer json(out);
  json.open_array();
  for (const rule* r : rules) append_rule(json, *r);
  json.close_array();
  std::cout << out << '\n';
}

}  // namespace

void add_rules(CLI::App& app, int& status) {
  CLI::App* sub = app.add_subcommand("rules", "Explains the rules, their options and their texts for agents");
  const auto format = std::make_shared<std::string>("text");
  sub->add_option("--format", *format, "text for people, json for programs: one object for each rule")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  const auto name = std::make_shared<std::string>();
  sub->add_option("RULE", *name, "only this rule, by its name or code (deadlock, DL); default: all")
      ->check(CLI::Validator(check_rule_name, "NAME"));
  sub->callback([&status, format, name] {
    const std::vector<const rule*> chosen = rules_named(*name);
    if (*format == "json") {
      print_json(chosen);
    } else {
      for (const rule* r : chosen) print_text(*r);
    }
    status = done;
  });
}

}  // namespace digd::cli
