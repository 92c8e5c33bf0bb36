// Requirements for every rule: documentation, a file, a line in the catalog, a test, defaults and a text.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <variant>
#include <vector>

#include "rules/guard_option.h"
#include "rules/rule.h"
#include "rules/text.h"

using namespace digd;

namespace {

// Where the sources are. tests/adding_a_rule compiles this file with one more rule, which has a tree of its own.
const std::vector<std::filesystem::path> source_trees{
#ifdef DIGD_RULE_TREE
    DIGD_RULE_TREE,
#endif
    DIGD_SOURCE_DIR};

// Empty if no tree has the file.
std::string contents(const std::filesystem::path& path) {
  const auto holder = std::find_if(source_trees.begin(), source_trees.end(),
                                   [&](const auto& tree) { return std::filesystem::exists(tree / path); });
  if (holder == source_trees.end()) return {};
  std::ifstream file(*holder / path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A graph with a finding that every rule can describe: e1 of activation v1 waits at bob.
struct example_finding {
  digd::graph::graph graph{digd::graph::graph_limits{}};
  digd::finding finding;

  example_finding() {
    const name_list none;
    const digd::graph::activation_index v1 = graph.start("v1", "ada", none, 0);
    event_draft draft;
    draft.id = "e1";
    draft.recipients.push_back("bob");
    std::vector<digd::graph::agent_index> recipients;
    const digd::graph::event_index e1 = graph.record(draft, v1, 0, recipients);
    graph.fix_generators(v1, {&e1, 1});
    finding.event = e1;
    finding.agent = graph.find_agent("bob");
    finding.events = event_list(graph, {e1});
    finding.activation = v1;
    finding.action = guard_action::give_back;
    finding.measured = "5";
  }
};

// A rule that has these traits and never fires.
class silent_rule final : public rule {
 public:
  silent_rule(rule_id id, rule_traits traits) : rule(id, severity::warning, action::inject, traits, undocumented) {}
  rule_settings defaults() const override { return {}; }
  std::string reason(const digd::graph::graph&, const finding&) const override { return {}; }
  std::string_view text() const override { return {}; }
  text_facts facts(const digd::graph::graph&, const finding&) const override { return {}; }
  digd::graph::witness_names witness(const digd::graph::graph&, const finding&) const override { return {}; }
  watch_state progress(const digd::graph::graph&, watched&, const run_progress&) const override { return {}; }

 private:
  static constexpr rule_doc undocumented{};
};

std::string problem_of(rule_traits first, rule_traits second) {
  const silent_rule deadlock(rule_id::deadlock, first), stall(rule_id::stall, second);
  const std::array<const rule*, 2> rules{&deadlock, &stall};
  return catalog_problem(rules);
}

}  // namespace

TEST_CASE("every_rule_is_documented") {
  std::set<std::string_view> codes;
  for (const rule* r : catalog()) {
    INFO(to_string(r->id));
    for (const std::string_view field :
         {r->doc.summary, r->doc.problem, r->doc.example, r->doc.false_positives, r->doc.cleared}) {
      CHECK(field.size() > 20);
      CHECK(field.ends_with('.'));
      CHECK(field.find('\n') == std::string_view::npos);
    }
    CHECK_FALSE(r->doc.source.empty());
    CHECK((r->doc.code.size() == 2 || r->doc.code.size() == 3));
    CHECK(codes.insert(r->doc.code).second);
  }
}

TEST_CASE("every_rule_has_a_file_and_every_file_that_defines_a_rule_a_line_in_the_catalog") {
  std::size_t files = 0;
  for (const std::filesystem::path& tree : source_trees) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree / "rules")) {
      if (!entry.is_regular_file()) continue;
      const std::string text = contents(std::filesystem::relative(entry.path(), tree));
      if (text.find("final : public rule {") != std::string::npos) ++files;
    }
  }
  CHECK(files == catalog().size());
  for (const std::string_view name : rule_names) {
    INFO(name);
    const bool guard = is_guard(*rule_from(name));
    CHECK(contents(std::filesystem::path("rules") / (guard ? "guards" : "") / (std::string(name) + ".cpp"))
              .find("const rule& " + std::string(name) + "_rule()") != std::string::npos);
  }
}

TEST_CASE("every_rule_has_a_test_of_firing_near_misses_causes_texts_witness_and_outcome") {
  for (const rule* r : failure_rules()) {
    const std::string_view name = to_string(r->id);
    INFO(name);
    const std::string test = contents(std::filesystem::path("tests/rules") / (std::string(name) + "_test.cpp"));
    REQUIRE_FALSE(test.empty());
    for (const char* part : {"near_misses", "check_causes", "check_text_override", "hostile_quoted",
                             ".reason ==", ".witness", "outcome_summaries()"}) {
      INFO(part);
      CHECK(test.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("the_catalog_is_in_the_order_of_the_ids_and_names_map_back_to_ids") {
  REQUIRE(catalog().size() == rule_count);
  for (std::size_t i = 0; i < rule_count; ++i) {
    CHECK(catalog()[i]->id == static_cast<rule_id>(i));
    CHECK(rule_from(rule_names[i]) == static_cast<rule_id>(i));
  }
  CHECK(rule_from("") == std::nullopt);
  CHECK(rule_from("deadlocks") == std::nullopt);
}

TEST_CASE("a_catalog_is_refused_if_two_rules_need_a_place_that_only_one_may_have") {
  CHECK(catalog_problem(catalog()) == "");
  const rule_traits event_window{.window = scope::event}, event_attempts{.attempts = scope::event};
  CHECK(problem_of(event_window, event_attempts) == "");
  CHECK(problem_of(event_window, event_window) == "the rules deadlock and stall have windows of events");
  CHECK(problem_of(event_attempts, event_attempts) == "the rules deadlock and stall have attempts for each event");

  const rule_traits both_of_run{.window = scope::run, .attempts = scope::run};
  CHECK(problem_of(both_of_run, both_of_run) == "");
  CHECK(problem_of({}, {.window = scope::run, .attempts = scope::event}) ==
        "the rule stall has attempts for each event, and its windows belong to none");

  const rule_traits spending{.counts = guard_count_kind::spending}, silence{.counts = guard_count_kind::silence};
  CHECK(problem_of(spending, silence) == "");
  CHECK(problem_of(spending, spending) == "the rules deadlock and stall have the same count of a guard");
}

TEST_CASE("the_lists_of_rules_with_windows_are_those_of_the_catalog") {
  std::vector<rule_id> of_run, of_events;
  for (const rule* r : catalog()) {
    if (r->traits.window == scope::run) of_run.push_back(r->id);
    if (r->traits.window == scope::event) of_events.push_back(r->id);
  }
  CHECK(of_run == std::vector<rule_id>(run_window_rules.begin(), run_window_rules.end()));
  CHECK(of_events == std::vector<rule_id>(event_window_rules.begin(), event_window_rules.end()));
}

TEST_CASE("the_rules_that_judge_only_by_time_come_last") {
  const auto judges_events = [](const rule* r) { return r->traits.window != scope::run; };
  CHECK(std::is_partitioned(failure_rules().begin(), failure_rules().end(), judges_events));
}

TEST_CASE("a_guard_is_on_when_one_of_its_limits_is_set_and_no_other_option_turns_it_on") {
  for (const rule* guard : guards()) {
    CHECK_FALSE(guard->is_on({}));
    std::set<std::string_view> names{"mode", "except", "action"};
    for (const guard_option& option : guard->options()) {
      INFO(to_string(guard->id) << ' ' << option.name);
      CHECK(names.insert(option.name).second);
      guard_settings settings;
      const auto set_limit = [&settings]<class Kind>(const Kind& kind) {
        if constexpr (Kind::is_limit) kind.of(settings).emplace(5);
      };
      std::visit(set_limit, option.kind);
      for (const rule* other : guards()) CHECK(other->is_on(settings) == (other == guard && option.is_limit()));
    }
  }
}

TEST_CASE("every_rule_has_the_documented_defaults") {
  const auto of = [](rule_id id) { return rule_of(id).defaults(); };
  CHECK(of(rule_id::deadlock).window_ms == 10'000);
  CHECK(of(rule_id::missing_termination).window_ms == 10'000);
  CHECK(of(rule_id::orphaned_event).window_ms == 5'000);
  CHECK(of(rule_id::excessive_rerouting).max_reroutes == 2);
  for (const rule_id id :
       {rule_id::early_termination, rule_id::missing_termination, rule_id::deadlock, rule_id::orphaned_event}) {
    CHECK(of(id).max_attempts == 3);
  }
  for (const rule* r : failure_rules()) {
    INFO(to_string(r->id));
    const rule_settings s = r->defaults();
    CHECK(s.mode == mode::enforce);
    CHECK(s.kinds.empty());
    CHECK(s.text.empty());
    CHECK((s.window_ms > 0) == r->traits.has_window());
    CHECK((s.max_attempts > 0) == r->traits.has_attempts());
    CHECK((s.max_reroutes > 0) == r->traits.reroutes);
    CHECK_FALSE(s.skip_repeated);
    CHECK(r->traits.has_attempts() == (r->healing != action::inject));
    CHECK(r->severity == (r->healing == action::inject ? severity::warning : severity::failure));
  }
}

TEST_CASE("every_text_uses_exactly_the_placeholders_for_which_its_rule_has_facts") {
  for (const rule* r : catalog()) {
    INFO(to_string(r->id));
    const example_finding example;
    const text_facts facts = r->facts(example.graph, example.finding);
    CHECK(text::unknown_placeholder(r->text(), facts) == "");
    for (const auto& [name, value] : facts) {
      INFO(name);
      CHECK(r->text().find('{' + std::string(name) + '}') != std::string_view::npos);
      CHECK_FALSE(value.empty());
    }
    CHECK(text::fill(r->text(), facts).find_first_of("{}") == std::string::npos);
    CHECK(r->text().size() <= 4096);
  }
}

TEST_CASE("only_known_placeholders_are_filled_in_and_their_values_are_not_filled_in_again") {
  const text_facts facts{{"event", "\"{agent}\""}, {"agent", "ada"}};
  CHECK(text::fill("{event} {agent}", facts) == "\"{agent}\" ada");
  CHECK(text::fill("{nobody} {Event} { agent} {agent {} }{", facts) == "{nobody} {Event} { agent} {agent {} }{");
  CHECK(text::fill("{{agent}}", facts) == "{ada}");
  CHECK(text::fill("", facts) == "");
  CHECK(text::unknown_placeholder("{event} {agent} {}", facts) == "");
  CHECK(text::unknown_placeholder("{event} {work} {more}", facts) == "work");
}
