// [[webhook]] in the configuration: errors name their position, and no output contains a secret.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "daemon/settings/config_file.h"
#include "daemon/settings/option_files.h"
#include "daemon/settings/settings_source.h"
#include "daemon/settings/webhook_options.h"

namespace digd::daemon {
namespace {

const std::string head =
    "[[webhook]]\nname = \"pager\"\nurl = \"https://hooks.example.org/T0/secret\"\nsecret_env = \"S\"\n";

std::vector<std::string> problems_of(const std::string& text) {
  config c;
  return load_config(text, "digd.toml", c);
}

std::string first_problem(const std::string& text) {
  const auto problems = problems_of(text);
  return problems.empty() ? "" : problems.front();
}

TEST_CASE("omitted_options_of_a_webhook_get_their_defaults") {
  config c;
  CHECK(load_config(head + "rules = [\"deadlock\"]\n[[webhook]]\nname = \"chat\"\nurl = \"https://a.example/\"\n"
                           "format = \"slack\"\n",
                    "f", c)
            .empty());
  REQUIRE(c.webhooks.size() == 2);
  CHECK(c.webhooks[0].rules == std::vector<std::string>{"deadlock"});
  CHECK(c.webhooks[0].attempts == 20);
  CHECK(c.webhooks[1].format == "slack");
  CHECK(check_config(c).empty());
}

TEST_CASE("an_error_in_a_webhook_names_its_position") {
  CHECK(first_problem(head + "retires = 3\n") ==
        "digd.toml:5:1: there is no option \"webhook.retires\"; did you mean \"webhook.rules\"?");
  CHECK(first_problem(head + "atempts = 3\n") ==
        "digd.toml:5:1: there is no option \"webhook.atempts\"; did you mean \"webhook.attempts\"?");
  CHECK(first_problem(head + "rules = [\"deadlok\"]\n")
            .starts_with("digd.toml:5:9: \"webhook.rules\" has \"deadlok\"; it takes "));
  CHECK(first_problem(head + "severities = [\"fatal\"]\n").find("\"failure\", \"warning\"") != std::string::npos);
  CHECK(first_problem(head + "send = []\n").find("must name what to send") != std::string::npos);
  CHECK(first_problem(head + "labels = [\"team\"]\n").find("name=value") != std::string::npos);
  CHECK(first_problem(head + "attempts = 0\n") ==
        "digd.toml:5:12: \"webhook.attempts\" must be a whole number from 1 to 1000");
  CHECK(first_problem(head + "format = \"teams\"\n").find("must be one of") != std::string::npos);
  CHECK(first_problem("[webhook]\nname = \"x\"\n").find("must be written [[webhook]]") != std::string::npos);
  CHECK(first_problem("[[webhoks]]\nname = \"x\"\n").find("did you mean \"webhook.name\"?") != std::string::npos);
  CHECK(first_problem("[[webhook]]\nname = \"Not so\"\n").find("1 to 64 of a-z") != std::string::npos);
}

TEST_CASE("an_incomplete_or_contradictory_webhook_is_refused") {
  CHECK(first_problem("[[webhook]]\nurl = \"https://a.example/\"\n") == "digd.toml:1:1: a webhook needs a `name`");
  CHECK(first_problem("[[webhook]]\nname = \"a\"\n").find("needs a `url`") != std::string::npos);
  CHECK(first_problem("[[webhook]]\nname = \"a\"\nurl = \"https://a.example/\"\n")
            .find("needs secret_file or secret_env") != std::string::npos);
  CHECK(first_problem(head + "secret_file = \"/x\"\n").find("set only one") != std::string::npos);
  CHECK(first_problem(head + "retry_ms = 2000\nretry_most_ms = 1000\n").find("retry_most_ms") != std::string::npos);
  CHECK(first_problem("[[webhook]]\nname = \"a\"\nurl = \"http://a.example/\"\nsecret_env = \"S\"\nca_file = \"/x\"\n")
            .find("is not https") != std::string::npos);
}

TEST_CASE("webhooks_need_an_archive_and_distinct_names") {
  config c;
  REQUIRE(load_config("archive = false\n" + head, "f", c).empty());
  CHECK(check_config(c).find("archive = true") != std::string::npos);
  c = {};
  REQUIRE(load_config(head + head, "f", c).empty());
  CHECK(check_config(c).find("\"pager\" is given twice") != std::string::npos);
  c = {};
  for (std::size_t i = 0; i <= max_webhooks; ++i)
    c.webhooks.push_back({.name = "w" + std::to_string(i), .url = "https://a/"});
  CHECK(check_config(c).find("at most") != std::string::npos);
}

TEST_CASE("plain_http_to_another_machine_gets_a_warning_without_secrets") {
  config c;
  REQUIRE(load_config(head, "f", c).empty());
  CHECK(webhook_warnings(c).empty());
  CHECK(effective_config(c).find("url = \"https://hooks.example.org/…\"") != std::string::npos);
  CHECK(effective_config(c).find("T0/secret") == std::string::npos);
  c.webhooks[0].url = "http://hooks.example.org/T0/secret";
  REQUIRE(webhook_warnings(c).size() == 1);
  CHECK(webhook_warnings(c)[0].find("plain HTTP") != std::string::npos);
  CHECK(webhook_warnings(c)[0].find("T0/secret") == std::string::npos);
  c.webhooks[0].url = "http://127.0.0.1:9/";
  CHECK(webhook_warnings(c).empty());
}

TEST_CASE("a_reload_lists_changed_webhooks_without_their_values") {
  config current, read;
  current.webhooks = {
      {.name = "a", .url = "https://a/1"}, {.name = "b", .url = "https://b/1"}, {.name = "c", .url = "https://c/"}};
  read.webhooks = {
      {.name = "b", .url = "https://b/2"}, {.name = "c", .url = "https://c/"}, {.name = "d", .url = "https://d/"}};
  const reload_plan plan = plan_reload(current, read);
  CHECK(plan.changed == std::vector<std::string>{"webhook.a: removed (at once)", "webhook.b: changed (at once)",
                                                 "webhook.d: added (at once)"});
  CHECK(plan.next.webhooks == read.webhooks);
}

TEST_CASE("the_variable_of_a_secret_is_not_taken_for_an_option") {
  ::setenv("DIGD_PAGER__SECRET", "x", 1);
  config c;
  CHECK(read_settings({.file = {}, .listen = {}, .data_dir = "/d"}, c).find("DIGD_PAGER__SECRET") != std::string::npos);
  c = {};
  c.webhooks.push_back({.name = "a", .url = "https://a/", .secret_env = "DIGD_PAGER__SECRET"});
  CHECK(read_settings({.file = {}, .listen = {}, .data_dir = "/d"}, c).empty());
  ::unsetenv("DIGD_PAGER__SECRET");
}

}  // namespace
}  // namespace digd::daemon
