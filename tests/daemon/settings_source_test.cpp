#include "daemon/settings/settings_source.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "daemon/settings/config_file.h"
#include "daemon/settings/option_files.h"
#include "daemon/settings/options.h"
#include "daemon/settings/webhook_options.h"

namespace digd::daemon {
namespace {

namespace json = boost::json;

std::string text_of(const std::string& name) {
  std::ifstream file(DIGD_SOURCE_DIR "/config/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// For as long as a test needs it.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

std::string wrong_with(config& c) { return read_settings({.file = {}, .listen = {}, .data_dir = "/d"}, c); }

// Dotted names of the leaves of a schema.
void names_in(const json::object& schema, const std::string& prefix, std::set<std::string>& out) {
  for (const auto& [key, value] : schema.at("properties").as_object()) {
    const json::object& object = value.as_object();
    const std::string name = prefix + std::string(key);
    if (object.contains("items") && object.at("items").as_object().contains("properties")) {  // a list of tables
      names_in(object.at("items").as_object(), name + '.', out);
    } else if (object.contains("properties")) {
      CHECK(object.at("additionalProperties") == false);
      names_in(object, name + '.', out);
    } else {
      CHECK(object.contains("default"));
      CHECK(object.contains("description"));
      out.insert(name);
    }
  }
}

TEST_CASE("the_committed_files_match_the_option_table") {
  INFO("scripts/write-config writes them");
  CHECK(text_of("digd.toml") == commented_config());
  CHECK(text_of("digd.schema.json") == config_schema());
}

TEST_CASE("the_schema_has_every_option_and_no_other") {
  std::set<std::string> found;
  names_in(json::parse(config_schema()).as_object(), {}, found);
  std::set<std::string> expected;
  for (const option& option : options()) expected.insert(option.name);
  for (const option& option : webhook_options()) expected.insert(option.name);
  expected.insert("prices");  // a section for each model that its user names
  CHECK(found == expected);
}

TEST_CASE("every_option_is_explained_and_has_a_default_in_its_range") {
  for (const option& option : options()) {
    INFO(option.name);
    CHECK(option.meaning.size() > 10);
    CHECK(option.meaning.back() == '.');
    if (option.kind != value_kind::whole_number) continue;
    const std::int64_t value = std::stoll(option.get(config{}));
    CHECK(value >= option.min_value);
    CHECK(value <= option.max_value);
  }
}

TEST_CASE("the_effective_configuration_reads_back_unchanged") {
  config c;
  c.listen = "unix:/run/\"x\"";
  c.hosts = {"a:1", "b\\"};
  c.policy.defaults.of(rule_id::deadlock).window_ms = 17;
  config back;
  CHECK(load_config(effective_config(c), "effective", back).empty());
  CHECK(back == c);
}

TEST_CASE("a_reload_shows_no_secret_of_a_url_and_keeps_the_url") {
  config current, read;
  current.otlp_export.url = "https://one.example/v1?key=hush";
  read.otlp_export.url = "https://two.example/v1?key=hush";
  current.fleet.servers = {"nats://ann:hush@one"};
  read.fleet.servers = {"nats://ann:hush@two"};
  const reload_plan plan = plan_reload(current, read);
  CHECK(plan.changed ==
        std::vector<std::string>{R"(otlp_export.url: "https://one.example/…" -> "https://two.example/…" (at once))"});
  CHECK(plan.next.otlp_export.url == read.otlp_export.url);
  CHECK(plan.need_a_restart == std::vector<std::string>{"fleet.servers"});
  CHECK(plan.next.fleet.servers == current.fleet.servers);
}

TEST_CASE("the_environment_goes_before_the_file_and_the_command_line_before_both") {
  const variable a("DIGD_LISTEN", "127.0.0.1:1"), b("DIGD_LOG__LEVEL", "warn"),
      c("DIGD_RULES__DEADLOCK__WINDOW_MS", "77"), d("DIGD_ARCHIVE", "false"), e("DIGD_HOSTS", "a:1,b:2"),
      f("DIGD_RULES__DEADLOCK__TEXT", "\"quoted\"");
  config got;
  CHECK(read_settings({.file = {}, .listen = {}, .data_dir = "/d"}, got).empty());
  CHECK(got.listen == "127.0.0.1:1");
  CHECK(got.log.level == "warn");
  CHECK(got.policy.defaults.of(rule_id::deadlock).window_ms == 77);
  CHECK(got.policy.defaults.of(rule_id::deadlock).text == "\"quoted\"");
  CHECK_FALSE(got.archive);
  CHECK(got.hosts == std::vector<std::string>{"a:1", "b:2"});
  CHECK(read_settings({.file = {}, .listen = "127.0.0.1:2", .data_dir = "/d"}, got).empty());
  CHECK(got.listen == "127.0.0.1:2");
}

TEST_CASE("the_short_name_of_the_log_level_is_taken_and_an_empty_variable_is_none") {
  const variable a("DIGD_LOG_LEVEL", "debug"), b("DIGD_LISTEN", "");
  config got;
  CHECK(wrong_with(got).empty());
  CHECK(got.log.level == "debug");
  CHECK(got.listen == config{}.listen);
}

TEST_CASE("a_wrong_variable_is_named") {
  config got;
  {
    const variable a("DIGD_CREDITS", "many");
    CHECK(wrong_with(got) == "environment: DIGD_CREDITS: must be a whole number from 1 to 65536");
  }
  const variable b("DIGD_LOG__LEVELL", "info"), c("DIGD_BIN", "somebody else's");
  CHECK(wrong_with(got) == "environment: there is no option for \"DIGD_LOG__LEVELL\"");
}

TEST_CASE("every_option_can_be_set_by_its_variable") {
  std::set<std::string> names;
  for (const option& option : options()) {
    if (option.name == "data_dir") continue;
    const std::string name = environment_name(option.name);
    CHECK(names.insert(name).second);
    const variable set(name.c_str(), "\t");
    config got;
    const bool takes_anything = option.kind == value_kind::text || option.kind == value_kind::list;
    CHECK((takes_anything || wrong_with(got).find(name) != std::string::npos));
  }
}

TEST_CASE("a_reload_applies_what_can_change_and_names_options_that_need_a_restart") {
  config holds, read;
  read.credits = 5;
  read.log.level = "debug";
  read.listen = "127.0.0.1:9";
  read.threads = 3;
  const reload_plan plan = plan_reload(holds, read);
  CHECK(plan.changed ==
        std::vector<std::string>{"credits: 1024 -> 5 (to new runs)", "log.level: \"info\" -> \"debug\" (at once)"});
  CHECK(plan.need_a_restart == std::vector<std::string>{"listen", "threads"});
  CHECK(plan.next.credits == 5);
  CHECK(plan.next.listen == holds.listen);
  CHECK(plan.next.threads == holds.threads);
  CHECK(plan_reload(plan.next, plan.next).changed.empty());
}

}  // namespace
}  // namespace digd::daemon
