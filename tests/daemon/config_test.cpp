#include "daemon/settings/config_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "daemon/settings/fleet_options.h"
#include "daemon/settings/options.h"

namespace digd::daemon {
namespace {

std::string file_text() {
  std::ifstream file(DIGD_SOURCE_DIR "/config/digd.toml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_wrong(const std::string& text) {
  config c;
  const auto wrong = load_config(text, "digd.toml", c);
  return wrong.empty() ? "" : wrong.front();
}

TEST_CASE("the_commented_config_is_the_defaults") {
  config c;
  CHECK(load_config(file_text(), "digd.toml", c).empty());
  CHECK(c == config{});
  CHECK(check_config(c).empty());
}

TEST_CASE("every_option_is_in_the_commented_config") {
  // Reads the names in the file: reading it as a configuration would not notice an option that it lacks.
  const std::string text = file_text();
  std::string section;
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1) + '.';
    const std::size_t equals = line.find(" = ");
    if (!line.starts_with('#') && !line.starts_with('[') && equals != line.npos) {
      found.push_back(section + line.substr(0, equals));
    }
  }
  std::vector<std::string> expected;
  for (const option& option : options()) expected.push_back(option.name);
  CHECK(found == expected);
}

TEST_CASE("an_unknown_option_is_an_error_with_its_place_and_the_nearest_name") {
  CHECK(first_wrong("creditz = 5\n") == "digd.toml:1:1: there is no option \"creditz\"; did you mean \"credits\"?");
  CHECK(first_wrong("[rules.deadlok]\nmode = \"off\"\n").find("did you mean \"rules.deadlock.mode\"?") !=
        std::string::npos);
  CHECK(first_wrong("\n[rules.deadlock]\nwindow_mz = 5\n") ==
        "digd.toml:3:1: there is no option \"rules.deadlock.window_mz\"; did you mean \"rules.deadlock.window_ms\"?");
  CHECK(first_wrong("[rules.deadlock]\nkinds = []\n").find("there is no option \"rules.deadlock.kinds\"") !=
        std::string::npos);
}

TEST_CASE("a_value_out_of_range_or_of_another_type_is_an_error") {
  CHECK(first_wrong("credits = 0\n") == "digd.toml:1:11: \"credits\" must be a whole number from 1 to 65536");
  CHECK(first_wrong("credits = \"5\"\n").find("must be a whole number") != std::string::npos);
  CHECK(first_wrong("credits = 5.0\n").find("must be a whole number") != std::string::npos);
  CHECK(first_wrong("archive = 1\n").find("must be true or false") != std::string::npos);
  CHECK(first_wrong("hosts = [1]\n").find("must be a list of strings") != std::string::npos);
  CHECK(first_wrong("log = 5\n").find("must be a table") != std::string::npos);
  CHECK(first_wrong("[defaults]\nmode = \"heal\"\n").find("must be one of") != std::string::npos);
  CHECK(first_wrong("credits = \n").starts_with("digd.toml:1:"));
}

TEST_CASE("all_mistakes_are_reported_at_once") {
  config c;
  CHECK(load_config("a = 1\nb = 2\ncredits = -1\n", "f", c).size() == 3);
}

TEST_CASE("a_text_of_ones_own_may_only_name_the_rules_facts") {
  CHECK(first_wrong("[rules.deadlock]\ntext = \"look at {work}, {count}\"\n").empty());
  const std::string wrong = first_wrong("[rules.deadlock]\ntext = \"look at {wrok}\"\n");
  CHECK(wrong.find("names {wrok}") != std::string::npos);
  CHECK(wrong.find("{work}") != std::string::npos);
}

TEST_CASE("every_rule_takes_a_text_without_placeholders") {
  for (const std::string_view name : failure_rule_names) {
    CHECK(first_wrong("[rules." + std::string(name) + "]\ntext = \"plain\"\n").empty());
  }
}

TEST_CASE("rules_limits_and_caps_arrive") {
  config c;
  CHECK(load_config("[rules.deadlock]\nwindow_ms = 7\nmode = \"shadow\"\n[limits]\nagents = 9\n[caps]\nmode = "
                    "\"observe\"\nagents = 11\n",
                    "f", c)
            .empty());
  CHECK(c.policy.defaults.of(rule_id::deadlock).window_ms == 7);
  CHECK(c.policy.defaults.of(rule_id::deadlock).mode == mode::shadow);
  CHECK(c.policy.defaults.limits.agents == 9);
  CHECK(c.policy.strongest_mode == mode::observe);
  CHECK(c.policy.caps.agents == 11);
}

TEST_CASE("nothing_wider_than_this_machine_is_listened_on") {
  config c;
  for (const char* fine : {"127.0.0.1:1", "127.0.0.53:1", "[::1]:0", "localhost:7344", "unix:/run/digd.sock"}) {
    c.listen = fine;
    CHECK(check_config(c).empty());
  }
  for (const char* wide : {"0.0.0.0:7344", "[::]:7344", "10.0.0.1:7344", "192.168.1.5:1", "[::ffff:10.0.0.1]:1"}) {
    c.listen = wide;
    CHECK(check_config(c).find("can be reached from other machines") != std::string::npos);
  }
  for (const char* broken :
       {"7344", "localhost", "localhost:x", "example.org:7344", "unix:relative", "127.0.0.1:70000", ""}) {
    c.listen = broken;
    CHECK(check_config(c).starts_with("listen: "));
  }
}

TEST_CASE("a_fleet_needs_a_digd_with_the_client_of_NATS") {
  config c;
  CHECK(check_fleet(c, false).empty());
  c.fleet.servers = {"nats://127.0.0.1:4222"};
  CHECK(check_fleet(c, true).empty());
  CHECK(check_fleet(c, false).find("built without the client of NATS") != std::string::npos);
  CHECK(check_config(c) == check_fleet(c, has_stream_client()));
}

}  // namespace
}  // namespace digd::daemon
