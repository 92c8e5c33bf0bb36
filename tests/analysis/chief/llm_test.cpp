#include <catch2/catch.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include "analysis/chief/llm/chief_stages.h"
#include "tests/analysis/chief/logs.h"
#include "tests/analysis/chief/scripted_server.h"

using namespace digd::chief;
using namespace digd::chief::llm;
using digd::tests::completion;
using digd::tests::log_of;
using digd::tests::scripted_reply;
using digd::tests::scripted_server;

namespace {

flat_log small() {
  return log_of("How old is the mill?", {{"user", "How old is the mill?"},
                                         {"Reader", "It was built in 1801."},
                                         {"Clerk", "So it is 20 years old."},
                                         {"Checker", "I agree."}});
}

struct fixture {
  explicit fixture(std::deque<scripted_reply> script) : server(std::move(script)) {
    options.url = server.url();
    options.model = "test-model";
    options.key = "secret-key";
    options.sleep = [this](std::int64_t ms) { waits.push_back(ms); };
  }
  scripted_server server;
  endpoint_options options;
  std::vector<std::int64_t> waits;
};

const std::string guilty = completion(R"({"agent": "Clerk", "step": 2, "others": [1, 99], "reason": "wrong age"})");

}  // namespace

TEST_CASE("the_method_all_at_once_sends_the_whole_log_and_reads_the_verdict") {
  fixture f({{guilty}});
  endpoint model(f.options);
  const ruling r = all_at_once(model, small());
  REQUIRE_FALSE(r.error);
  CHECK(r.agent == "Clerk");
  CHECK(r.steps == std::vector<std::size_t>{2, 1});  // a step that the log does not have is dropped
  CHECK(f.server.head(0).starts_with("POST /v1/chat/completions"));
  CHECK(f.server.head(0).find("Authorization: Bearer secret-key") != std::string::npos);
  CHECK(f.server.body(0).at("model").as_string() == "test-model");
  const std::string prompt = f.server.prompt(0);
  for (const char* part : {"How old is the mill?", "[1] Reader: It was built in 1801.", "[3] Checker: I agree."}) {
    CHECK(prompt.find(part) != std::string::npos);
  }
  CHECK(prompt.find("The right answer") == std::string::npos);
  CHECK(model.used().tokens_in == 100);
  CHECK(model.used().tokens_out == 10);
}

TEST_CASE("the_prompt_has_the_right_answer_only_with_ground_truth") {
  fixture f({{guilty}});
  endpoint model(f.options);
  judge_options with;
  with.right_answer = "225 years";
  all_at_once(model, small(), with);
  CHECK(f.server.prompt(0).find("The right answer:\n225 years") != std::string::npos);
}

TEST_CASE("step_by_step_shows_the_steps_so_far_and_stops_at_the_decisive_one") {
  fixture f({{completion(R"({"decisive": false})")}, {completion(R"({"decisive": true, "reason": "wrong"})")}});
  endpoint model(f.options);
  const ruling r = step_by_step(model, small());
  CHECK(r.steps == std::vector<std::size_t>{2});
  CHECK(f.server.requests() == 2);
  CHECK(f.server.prompt(0).find("[1]") != std::string::npos);
  CHECK(f.server.prompt(0).find("[2]") == std::string::npos);
}

TEST_CASE("step_by_step_that_finds_nothing_has_no_ruling") {
  const std::string no = completion(R"({"decisive": false})");
  fixture f({{no}, {no}, {no}});
  endpoint model(f.options);
  CHECK(step_by_step(model, small()).error == make_error_code(llm_errc::undecided));
}

TEST_CASE("binary_search_halves_the_log_until_one_step_is_left") {
  fixture f({{completion(R"({"half": "second"})")}, {completion(R"({"half": "first"})")}});
  endpoint model(f.options);
  const ruling r = binary_search(model, small());
  CHECK(r.steps == std::vector<std::size_t>{2});
  CHECK(r.agent == "Clerk");
  CHECK(f.server.prompt(1).find("[1]") == std::string::npos);
}

TEST_CASE("a_shortlist_shows_the_suspects_and_the_last_step_in_the_order_of_the_log") {
  fixture f({{completion(R"({"step": 1, "reason": "wrong year"})")}});
  endpoint model(f.options);
  judge_options options;
  options.suspects = {2, 1};
  const ruling r = shortlist(model, small(), options);
  REQUIRE_FALSE(r.error);
  CHECK(r.agent == "Reader");
  CHECK(r.steps == std::vector<std::size_t>{1, 2});  // the choice, then the others as they were ranked
  const std::string prompt = f.server.prompt(0);
  CHECK(prompt.find("[1] Reader") < prompt.find("[2] Clerk"));
  CHECK(prompt.find("[2] Clerk") < prompt.find("[3] Checker"));
  CHECK(prompt.find("[0]") == std::string::npos);
  CHECK(prompt.find("suspected: 1, 2.") != std::string::npos);
}

TEST_CASE("a_shortlist_without_suspects_has_those_of_the_default_method") {
  fixture f({{completion(R"({"step": 2})")}});
  endpoint model(f.options);
  CHECK(shortlist(model, small()).agent == "Clerk");
  CHECK(f.server.prompt(0).find("suspected: 1, 2, 3.") != std::string::npos);
}

TEST_CASE("a_step_outside_the_shortlist_is_no_ruling") {
  fixture f({{completion(R"({"step": 3})")}});
  endpoint model(f.options);
  judge_options options;
  options.suspects = {2, 1};
  CHECK(shortlist(model, small(), options).error == make_error_code(llm_errc::undecided));
}

TEST_CASE("the_hybrid_looks_only_at_the_steps_of_the_agent_found_first") {
  fixture f({{guilty}, {completion(R"({"decisive": true, "reason": "yes"})")}});
  endpoint model(f.options);
  const ruling r = hybrid(model, small());
  CHECK(r.agent == "Clerk");
  CHECK(r.steps.front() == 2);
  CHECK(f.server.requests() == 2);
  CHECK(f.server.prompt(1).find("step 2, by Clerk") != std::string::npos);
}

TEST_CASE("chief_asks_its_stages_in_order_and_passes_results_on") {
  const std::string subtasks =
      completion(R"({"subtasks": [{"name": "read", "from": 0, "to": 1}, {"name": "work out", "from": 2, "to": 3}]})");
  const std::string empty = completion("{}");
  fixture f({{subtasks},
             {empty},
             {empty},
             {empty},
             {empty},
             {completion(R"({"steps": [2]})")},
             {completion(R"({"agent": "Clerk", "step": 2, "stage": "local", "reason": "its own"})")}});
  endpoint model(f.options);
  attribution graph;
  const ruling r = chief_stages(model, small(), {}, &graph);
  CHECK(r.agent == "Clerk");
  CHECK(r.steps.front() == 2);
  CHECK(f.server.requests() == 7);
  CHECK(f.server.prompt(1).find("work out") != std::string::npos);
  REQUIRE(graph.graph.subtasks.size() == 2);
  CHECK(graph.graph.subtasks[1].steps == std::vector<std::size_t>{2, 3});
  CHECK(r.notes.back() == "decided by: local");
  CHECK_FALSE(r.is_deterministic);
}

TEST_CASE("chief_uses_deterministic_results_where_the_model_fails") {
  fixture f({});  // every request: 500
  f.options.tries = 1;
  endpoint model(f.options);
  const ruling r = chief_stages(model, small());
  REQUIRE_FALSE(r.steps.empty());
  CHECK(r.agent == attribute(small()).ranking.front().agent);
  CHECK(r.notes.size() == 7);
  CHECK(r.is_deterministic);  // marked, so that it does not pass for a ruling of the model
}

TEST_CASE("chief_refuses_subtasks_with_gaps") {
  const std::string gap =
      completion(R"({"subtasks": [{"name": "a", "from": 0, "to": 1}, {"name": "b", "from": 3, "to": 3}]})");
  const std::string empty = completion("{}");
  fixture f({{gap}, {empty}, {empty}, {empty}, {empty}, {empty}, {guilty}});
  endpoint model(f.options);
  const ruling r = chief_stages(model, small());
  CHECK(r.steps.front() == 2);
  CHECK(r.notes.front().find("decomposition") == 0);
}

TEST_CASE("prose_is_asked_for_again_as_json") {
  fixture f({{completion("The Clerk did it.")}, {guilty}});
  endpoint model(f.options);
  CHECK(all_at_once(model, small()).agent == "Clerk");
  CHECK(f.server.body(1).at("messages").as_array().size() == 4);
  fixture twice({{completion("no")}, {completion("no")}});
  endpoint other(twice.options);
  CHECK(all_at_once(other, small()).error == make_error_code(llm_errc::malformed));
}

TEST_CASE("a_rate_limit_is_waited_out_as_long_as_the_server_says") {
  fixture f({{"", 429, "Retry-After: 7\r\n"}, {"", 503}, {guilty}});
  f.options.backoff_ms = 100;
  endpoint model(f.options);
  CHECK_FALSE(all_at_once(model, small()).error);
  REQUIRE(f.waits.size() == 2);
  CHECK(f.waits[0] == 7000);
  CHECK(f.waits[1] == 200);
  CHECK(model.used().retried == 2);
}

TEST_CASE("a_wrong_key_is_not_retried_and_never_printed") {
  fixture f({{R"({"error": "bad key"})", 401}});
  endpoint model(f.options);
  const ruling r = all_at_once(model, small());
  CHECK(r.error == make_error_code(llm_errc::rejected));
  CHECK(f.server.requests() == 1);
  CHECK(r.detail == "status 401");
}

TEST_CASE("every_kind_of_broken_answer_is_a_named_error") {
  const auto error_of = [](scripted_reply reply) {
    fixture f({std::move(reply)});
    f.options.tries = 1;
    f.options.timeout_ms = 200;
    f.options.max_response_bytes = 10'000;
    endpoint model(f.options);
    return all_at_once(model, small()).error;
  };
  CHECK(error_of({"{\"choices\": [", 200}) == make_error_code(llm_errc::malformed));
  CHECK(error_of({"{}", 200}) == make_error_code(llm_errc::malformed));
  CHECK(error_of({guilty, 200, "", true}) == make_error_code(llm_errc::timed_out));
  CHECK(error_of({guilty, 200, "", false, true}) == make_error_code(llm_errc::unreachable));
  CHECK(error_of({completion("{\"agent\": \"Cl", "length")}) == make_error_code(llm_errc::cut_off));
  CHECK(error_of({completion("", "content_filter")}) == make_error_code(llm_errc::declined));
  CHECK(error_of({R"({"choices":[{"message":{"refusal":"I will not","content":null},"finish_reason":"stop"}]})"}) ==
        make_error_code(llm_errc::declined));
  CHECK(error_of({std::string(20'000, 'x')}) == make_error_code(llm_errc::too_large));
  CHECK(error_of({completion(R"({"agent": "Nobody", "step": 77})")}) == make_error_code(llm_errc::undecided));
}

TEST_CASE("a_closed_port_is_an_error_not_a_hang") {
  endpoint_options options;
  options.url = "http://127.0.0.1:1/v1";
  options.tries = 2;
  options.sleep = [](std::int64_t) {};
  endpoint model(options);
  CHECK(all_at_once(model, small()).error == make_error_code(llm_errc::unreachable));
  CHECK(model.used().requests == 2);
}

TEST_CASE("a_repeated_prompt_comes_from_the_cache_which_has_no_key") {
  const auto folder = std::filesystem::temp_directory_path() / ("digd-llm-" + std::to_string(getpid()));
  fixture f({{guilty}});
  f.options.cache = folder.string();
  f.options.price_in = 10;
  endpoint first(f.options);
  CHECK(all_at_once(first, small()).agent == "Clerk");
  CHECK(first.used().cost == Approx(0.001));
  endpoint second(f.options);
  CHECK(all_at_once(second, small()).agent == "Clerk");
  CHECK(f.server.requests() == 1);
  CHECK(second.used().cached == 1);
  CHECK(second.used().cost == 0);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK(text.find("secret-key") == std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("requests_per_minute_spaces_requests") {
  fixture f({{guilty}, {guilty}});
  f.options.requests_per_minute = 1;
  endpoint model(f.options);
  all_at_once(model, small());
  CHECK(f.waits.empty());
  all_at_once(model, small());
  REQUIRE(f.waits.size() == 1);
  CHECK(f.waits[0] > 50'000);
}

TEST_CASE("a_used_up_budget_stops_requests") {
  fixture f({{guilty}, {guilty}});
  f.options.max_requests = 1;
  endpoint model(f.options);
  CHECK_FALSE(all_at_once(model, small()).error);
  CHECK(all_at_once(model, small()).error == make_error_code(llm_errc::over_budget));
}

TEST_CASE("a_dry_run_sends_nothing_and_estimates") {
  fixture f({{guilty}});
  std::vector<std::string> prompts;
  f.options.dry_run = true;
  f.options.price_in = 1'000'000;
  f.options.on_dry_run = [&](const std::string& p) { prompts.push_back(p); };
  endpoint model(f.options);
  all_at_once(model, small());
  step_by_step(model, small());
  binary_search(model, small());
  chief_stages(model, small());
  CHECK(f.server.requests() == 0);
  CHECK(prompts.size() == 1 + 3 + 2 + 7);
  CHECK(model.used().tokens_in > 500);
  CHECK(model.used().cost > 0);
}

TEST_CASE("an_answer_without_a_token_count_is_estimated_and_counted_as_such") {
  fixture f(
      {{R"({"choices":[{"message":{"content":"{\"agent\": \"Clerk\", \"step\": 2}"},"finish_reason":"stop"}]})"}});
  endpoint model(f.options);
  CHECK(all_at_once(model, small()).agent == "Clerk");
  CHECK(model.used().estimated == 1);
  CHECK(model.used().tokens_in > 100);
  CHECK(model.used().tokens_out > 3);
}

TEST_CASE("long_steps_are_shortened_and_short_ones_kept") {
  auto log = small();
  log.steps[1].text = std::string(100'000, 'x');
  const std::string shown = shown_steps(log, 0, 3, 2'000);
  CHECK(shown.size() < 3'000);
  CHECK(shown.find("[…]") != std::string::npos);
  CHECK(shown.find("So it is 20 years old.") != std::string::npos);
}

TEST_CASE("an_object_is_found_in_prose_and_fences") {
  CHECK(object_in("Sure:\n```json\n{\"a\": {\"b\": 1}}\n``` done {")->contains("a"));
  CHECK_FALSE(object_in("no { object"));
  CHECK_FALSE(object_in(""));
}
