// The body and signature of a callback, the filters, and the wait before a retry.
#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "daemon/webhook/alert_limits.h"
#include "daemon/webhook/backoff.h"
#include "daemon/webhook/filter.h"
#include "daemon/webhook/signature.h"
#include "healing/callback_body.h"
#include "net/http_url.h"

namespace digd::daemon {
namespace {

using archive::callback_kind;

constexpr std::string_view zero_width_space = "\xe2\x80\x8b";

// The text that Slack gets.
std::string slack_text(callback_kind kind, const archive::callback_text& callback) {
  const boost::json::value body = boost::json::parse(slack_body(kind, callback));
  CHECK(body.as_object().size() == 1);
  const auto& text = body.at("text").as_string();
  return {text.data(), text.size()};
}

// The text without its code spans: only digd's own words. Fails if a span is still open at the end of a line.
std::string outside_spans(const std::string& text) {
  std::string out;
  bool in_span = false;
  for (const char c : text) {
    if (c == '`') {
      in_span = !in_span;
    } else if (!in_span) {
      out += c;
    } else {
      CHECK(c != '\n');
    }
  }
  CHECK_FALSE(in_span);
  return out;
}

std::string detection_json(const std::string& reason) {
  boost::json::object o{{"rule", "deadlock"},  {"severity", "failure"}, {"healed", true},
                        {"healing", "create"}, {"cause", nullptr},      {"reason", reason}};
  return boost::json::serialize(o);
}

// ---- the signature

TEST_CASE("a_signature_equals_that_of_openssl") {
  // From `printf '%s' '1700000000.{"id":"x"}' | openssl dgst -sha256 -hmac 'a secret of 18 b..'`.
  CHECK(signature_of("a secret of 18 b..", 1'700'000'000, R"({"id":"x"})") ==
        "v1=8dd58178d7b0e2271000e9ce5f50b3fd3bf88929fbea3de82b65d0e3bb912a11");
  CHECK(signature_of("a secret of 18 b..", 1'700'000'001, R"({"id":"x"})") !=
        signature_of("a secret of 18 b..", 1'700'000'000, R"({"id":"x"})"));
}

TEST_CASE("a_secret_comes_from_a_file_or_a_variable_and_no_error_repeats_it") {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("digd-secret-" + std::to_string(::getpid()))).string();
  webhook_settings of;
  of.secret_file = file;
  std::string secret;
  CHECK(read_secret(of, secret) ==
        "the file \"" + file + "\", which must hold the secret, cannot be read: No such file or directory");
  std::ofstream(file) << "0123456789abcdef\r\n";
  CHECK(read_secret(of, secret).empty());
  CHECK(secret == "0123456789abcdef");
  for (const std::string& bad : {std::string("tooshort"), std::string(5'000, 'x')}) {
    std::ofstream(file) << bad;
    const std::string wrong = read_secret(of, secret);
    CHECK(wrong == "the file \"" + file + "\" must hold the secret: 16 to 4096 bytes");
    of.format = "otlp";
    CHECK(read_secret(of, secret) == "the file \"" + file + "\" must hold the headers: 16 to 4096 bytes");
    of.format = "generic";
    CHECK(wrong.find(bad) == std::string::npos);
    CHECK(secret.empty());
  }
  std::filesystem::remove(file);
  of = {};
  of.secret_env = "WEBHOOK_TEST_SECRET";
  CHECK(read_secret(of, secret).find("is not set") != std::string::npos);
  ::setenv("WEBHOOK_TEST_SECRET", "another secret that is long enough", 1);
  CHECK(read_secret(of, secret).empty());
  CHECK(secret == "another secret that is long enough");
  ::unsetenv("WEBHOOK_TEST_SECRET");
}

// ---- backoff

TEST_CASE("a_wait_doubles_up_to_its_limit") {
  CHECK(backoff_ms(1, 1'000, 300'000, 0) == 1'000);
  CHECK(backoff_ms(2, 1'000, 300'000, 0) == 2'000);
  CHECK(backoff_ms(9, 1'000, 300'000, 0) == 256'000);
  CHECK(backoff_ms(10, 1'000, 300'000, 0) == 300'000);
  CHECK(backoff_ms(1'000, 1'000, 300'000, 0) == 300'000);
  CHECK(backoff_ms(1, 500, 100, 0) == 100);
  CHECK(backoff_ms(1'000'000, 1, INT64_MAX, 0) == INT64_MAX);
}

TEST_CASE("jitter_takes_off_up_to_half") {
  CHECK(backoff_ms(3, 1'000, 300'000, 1) == 2'000);
  CHECK(backoff_ms(3, 1'000, 300'000, 0.5) == 3'000);
  CHECK(backoff_ms(3, 1'000, 300'000, 7) == 2'000);
  CHECK(backoff_ms(1, 1, 1, 1) == 1);  // never zero
}

// ---- the URL

TEST_CASE("a_url_is_split_into_its_parts") {
  net::http_url e;
  REQUIRE(net::parse_http_url("https://hooks.example.org/services/T0/B0/x?y=%20z", e).empty());
  CHECK(e.tls);
  CHECK(e.host == "hooks.example.org");
  CHECK(e.port == 443);
  CHECK(e.host_header == "hooks.example.org");
  CHECK(e.target == "/services/T0/B0/x?y=%20z");
  CHECK_FALSE(e.is_loopback());
  REQUIRE(net::parse_http_url("http://[::1]:8080", e).empty());
  CHECK_FALSE(e.tls);
  CHECK(e.host == "::1");
  CHECK(e.host_header == "[::1]:8080");
  CHECK(e.target == "/");
  CHECK(e.is_loopback());
  CHECK(e.is_address);
  REQUIRE(net::parse_http_url("HTTP://127.0.0.1:80/", e).empty());
  CHECK(e.host_header == "127.0.0.1");
  CHECK(e.is_loopback());
  REQUIRE(net::parse_http_url("http://127.example.org/", e).empty());
  CHECK_FALSE(e.is_loopback());
}

TEST_CASE("only_the_host_of_a_url_is_shown") {
  net::http_url e;
  REQUIRE(net::parse_http_url("https://hooks.slack.com/services/T0/B0/secret?token=secret", e).empty());
  CHECK(e.shown() == "https://hooks.slack.com/…");
}

TEST_CASE("a_misleading_or_invalid_url_is_refused_and_not_repeated") {
  net::http_url e;
  for (const char* wrong :
       {"", "hooks.example.org", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///path",
        "http://user:password@example.org/", "https://example.org/#secret", "http://example.org:0/",
        "http://example.org:70000/", "http://exa mple.org/", "http://example.org/a b",
        "http://example.org/\r\nHost: evil", "http://ex%0aample.org/", "javascript:alert(1)"}) {
    INFO(wrong);
    const std::string message = net::parse_http_url(wrong, e);
    CHECK(message.starts_with("must "));
    CHECK(message.find("secret") == std::string::npos);
    CHECK(message.find("password@") == std::string::npos);
  }
  CHECK(net::parse_http_url("http://example.org/" + std::string(3'000, 'x'), e).starts_with("must be at most"));
}

// ---- filters

archive::callback_row row(callback_kind kind, const std::string& symptoms) {
  return {.kind = kind, .symptoms = symptoms};
}

TEST_CASE("a_webhook_without_filters_gets_everything") {
  const callback_filter filter{webhook_settings{}};
  CHECK(filter.matches(row(callback_kind::detection, "deadlock failure")));
  CHECK(filter.matches(row(callback_kind::intervention, "deadlock failure")));
  CHECK_FALSE(filter.needs_labels());
}

TEST_CASE("filters_select_by_kind_rule_and_severity") {
  webhook_settings s;
  s.send = {"interventions"};
  CHECK_FALSE(callback_filter(s).matches(row(callback_kind::detection, "deadlock failure")));
  s = {};
  s.rules = {"deadlock", "orphaned_event"};
  CHECK(callback_filter(s).matches(row(callback_kind::detection, "orphaned_event failure")));
  CHECK_FALSE(callback_filter(s).matches(row(callback_kind::detection, "excessive_rerouting warning")));
  s.severities = {"warning"};
  CHECK_FALSE(callback_filter(s).matches(row(callback_kind::detection, "deadlock failure")));
  s.rules.clear();
  CHECK(callback_filter(s).matches(row(callback_kind::detection, "excessive_rerouting warning")));
}

TEST_CASE("one_detection_of_an_intervention_must_match_rule_and_severity") {
  webhook_settings s;
  s.rules = {"deadlock"};
  s.severities = {"failure"};
  const auto intervention = [](const char* symptoms) { return row(callback_kind::intervention, symptoms); };
  CHECK(callback_filter(s).matches(intervention("excessive_rerouting warning,deadlock failure")));
  CHECK_FALSE(callback_filter(s).matches(intervention("deadlock warning,orphaned_event failure")));
  CHECK_FALSE(callback_filter(s).matches(intervention("")));
  CHECK(first_rule("deadlock failure,orphaned_event failure") == "deadlock");
}

TEST_CASE("a_run_needs_every_required_label") {
  webhook_settings s;
  s.labels = {"team=search", "note=a=b"};
  const callback_filter f(s);
  CHECK(f.needs_labels());
  CHECK(f.matches_labels({{"note", "a=b"}, {"other", "x"}, {"team", "search"}}));
  CHECK_FALSE(f.matches_labels({{"team", "search"}}));
  CHECK_FALSE(f.matches_labels({{"team", "searching"}, {"note", "a=b"}}));
}

// ---- bodies

TEST_CASE("a_generic_body_has_the_id_the_run_and_the_whole_callback") {
  const archive::callback_text callback{"r\"1\n", R"({"type":"intervention","id":"sys:1"})"};
  const std::string id = callback_id("0123456789abcdef", callback_kind::intervention, 17);
  CHECK(id == "0123456789abcdef-intervention-17");
  const boost::json::value body = boost::json::parse(generic_body(id, callback_kind::intervention, callback));
  CHECK(body.as_object().size() == 3);
  CHECK(body.at("id").as_string() == id.c_str());
  CHECK(body.at("run").as_string() == "r\"1\n");
  CHECK(body.at("intervention").at("id").as_string() == "sys:1");
  const boost::json::value other = boost::json::parse(generic_body(id, callback_kind::detection, callback));
  CHECK(other.as_object().contains("detection"));
}

TEST_CASE("slack_gets_a_sentence") {
  CHECK(slack_text(callback_kind::detection, {"r1", detection_json("nobody moves")}) ==
        "*deadlock* (failure) in run `r1`, healed: create\n`nobody moves`");
  const std::string made =
      R"({"action":"create","recipients":["a","b","c","d","e","f","g"],"detections":[{"rule":"deadlock","reason":"stuck"}]})";
  CHECK(slack_text(callback_kind::intervention, {"r1", made}) ==
        "digd intervened in run `r1`: create for `a`, `b`, `c`, `d`, `e` and 2 more, because of *deadlock*\n`stuck`");
  CHECK(slack_text(callback_kind::detection, {"r1", "no JSON"}) == "digd reports on run `r1`");
}

TEST_CASE("alerts_of_a_group_are_joined_for_a_period") {
  alert_limits limits;
  std::uint64_t joined = 0;
  CHECK_FALSE(limits.joins("deadlock a", 1'000, 60, joined));
  CHECK(limits.joins("deadlock a", 1'059, 60, joined));
  CHECK(limits.joins("deadlock a", 1'000, 60, joined));  // engine threads may be written out of order
  CHECK_FALSE(limits.joins("deadlock b", 1'001, 60, joined));
  CHECK_FALSE(limits.joins("deadlock a", 1'060, 60, joined));
  CHECK(joined == 2);
  CHECK_FALSE(limits.joins("deadlock a", 2'000, 60, joined));
  CHECK(joined == 0);
  CHECK_FALSE(limits.joins("deadlock a", 2'000, 0, joined));
}

TEST_CASE("a_clock_that_is_set_back_ends_the_period_of_a_group") {
  alert_limits limits;
  std::uint64_t joined = 0;
  CHECK_FALSE(limits.joins("deadlock a", 9'000, 60, joined));
  CHECK(limits.joins("deadlock a", 9'001, 60, joined));
  CHECK_FALSE(limits.joins("deadlock a", 1'000, 60, joined));
  CHECK(joined == 1);
  CHECK(limits.joins("deadlock a", 1'001, 60, joined));
}

TEST_CASE("alerts_beyond_the_most_groups_are_not_joined") {
  alert_limits limits;
  std::uint64_t joined = 0;
  for (std::size_t i = 0; i < alert_limits::max_groups; ++i) limits.joins(std::to_string(i), 0, 60, joined);
  CHECK_FALSE(limits.joins("further", 1, 60, joined));
  CHECK_FALSE(limits.joins("further", 1, 60, joined));
  CHECK(limits.joins("0", 1, 60, joined));
  CHECK_FALSE(limits.joins("further", 60, 60, joined));  // the others' periods have ended
  CHECK(limits.joins("further", 61, 60, joined));
}

TEST_CASE("posts_of_a_minute_are_limited") {
  alert_limits limits;
  const alert_limits::clock::time_point begin{};
  for (int i = 0; i < 2; ++i) {
    CHECK(limits.next_post(begin + std::chrono::seconds(i), 2) == begin + std::chrono::seconds(i));
    limits.count_post(begin + std::chrono::seconds(i), 2);
  }
  CHECK(limits.next_post(begin + std::chrono::seconds(3), 2) == begin + std::chrono::seconds(60));
  CHECK(limits.next_post(begin + std::chrono::seconds(60), 2) == begin + std::chrono::seconds(60));
  CHECK(limits.next_post(begin, 0) == begin);
}

TEST_CASE("alerts_link_to_the_run_with_its_name_encoded") {
  CHECK(link_to_run("https://digd.example.org/", "a b/<|>\"") == "https://digd.example.org/#/run/a%20b%2F%3C%7C%3E%22");
  const boost::json::value body = boost::json::parse(
      slack_body(callback_kind::detection, {"r 1", detection_json("stuck")}, "https://digd.example.org"));
  const std::string text(body.at("text").as_string());
  CHECK(text.ends_with("\n<https://digd.example.org/#/run/r%201|Open the run>"));
}

// The members, limits and severities of PagerDuty's Events API v2, as its documentation lists them ("Send an alert
// event", developer.pagerduty.com).
void check_against_events_v2(const boost::json::object& event) {
  const std::set<std::string> top{"routing_key", "event_action", "dedup_key", "client",
                                  "client_url",  "links",        "payload"};
  for (const auto& [name, value] : event) CHECK(top.contains(std::string(name)));
  CHECK(event.at("routing_key").as_string().size() == 32);
  CHECK(event.at("event_action").as_string() == "trigger");
  CHECK(event.at("dedup_key").as_string().size() <= 255);
  const boost::json::object& payload = event.at("payload").as_object();
  const std::set<std::string> inside{"summary", "source", "severity", "component", "group", "class", "custom_details"};
  for (const auto& [name, value] : payload) CHECK(inside.contains(std::string(name)));
  CHECK_FALSE(payload.at("summary").as_string().empty());
  CHECK(payload.at("summary").as_string().size() <= 1024);
  CHECK_FALSE(payload.at("source").as_string().empty());
  const std::set<std::string> severities{"critical", "error", "warning", "info"};
  CHECK(severities.contains(std::string(payload.at("severity").as_string())));
  for (const boost::json::value& link : event.at("links").as_array())
    CHECK((link.as_object().contains("href") && link.as_object().contains("text")));
}

TEST_CASE("pagerduty_gets_alerts_of_its_schema_joined_by_rule_and_agent") {
  const std::string key(32, 'k');
  const auto alert_of = [&](const std::string& run, const std::string& agent, bool healed,
                            const std::string& severity) {
    const boost::json::object d{{"rule", "deadlock"}, {"severity", severity}, {"healed", healed},
                                {"agent", agent},     {"healing", "create"},  {"cause", healed ? "" : "mode"},
                                {"reason", "stuck"}};
    const boost::json::object event =
        boost::json::parse(pagerduty_body("id-1", callback_kind::detection, {run, boost::json::serialize(d)}, key,
                                          "https://digd.example.org"))
            .as_object();
    check_against_events_v2(event);
    return event;
  };
  const auto severity_of = [](const boost::json::object& e) { return e.at("payload").at("severity").as_string(); };
  const boost::json::object first = alert_of("r1", "coder", false, "failure");
  CHECK(severity_of(first) == "error");
  CHECK(severity_of(alert_of("r1", "coder", false, "warning")) == "warning");
  CHECK(severity_of(alert_of("r1", "coder", true, "failure")) == "info");
  CHECK(first.at("dedup_key") == alert_of("r2", "coder", false, "failure").at("dedup_key"));
  CHECK(first.at("dedup_key") != alert_of("r1", "tester", false, "failure").at("dedup_key"));
  CHECK(first.at("client_url").as_string() == "https://digd.example.org/#/run/r1");
  alert_of(std::string(3'000, 'r'), std::string(3'000, 'a'), false, "failure");
  const std::string made =
      R"({"action":"create","recipients":["a"],"detections":[{"rule":"deadlock","reason":"stuck"}]})";
  for (const std::string& json : {made, std::string("no JSON"), std::string("{}")}) {
    check_against_events_v2(
        boost::json::parse(pagerduty_body("id-2", callback_kind::intervention, {"r", json}, key, "https://d"))
            .as_object());
  }
}

TEST_CASE("untrusted_text_stays_in_its_code_span") {
  const std::string nasty[] = {"<!channel> <!here> <@U012345> <#C012345>",
                               "`*bold*` ```block``` `",
                               "<https://evil.example|click here>",
                               "https://evil.example/x www.evil.example mailto:a@b.c",
                               "@channel @here @all #general",
                               "line\nbreak\r\n> quote",
                               "\u202eright to left\u2066",
                               "&lt;!channel&gt; &amp;",
                               "\\` \\",
                               "tel:+123 slack://x"};
  for (const std::string& text : nasty) {
    INFO(text);
    const std::string made = boost::json::serialize(boost::json::object{
        {"action", "create"}, {"recipients", {text}}, {"detections", {{{"rule", "deadlock"}, {"reason", text}}}}});
    for (const std::string& message : {slack_text(callback_kind::detection, {text, detection_json(text)}),
                                       slack_text(callback_kind::intervention, {text, made})}) {
      CHECK(message.find('<') == std::string::npos);
      CHECK(message.find('>') == std::string::npos);
      for (std::size_t at = message.find('&'); at != std::string::npos; at = message.find('&', at + 1)) {
        const std::string_view rest = std::string_view(message).substr(at);
        CHECK((rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;")));
      }
      CHECK(message.find("\u202e") == std::string::npos);
      CHECK(message.find('\r') == std::string::npos);
      // Outside of the spans there are only digd's own words.
      const std::string outside = outside_spans(message);
      for (const char* word : {"evil", "channel", "@", "U012345", "www", "//", "bold", "quote"}) {
        CHECK(outside.find(word) == std::string::npos);
      }
      // Inside, nothing that Slack takes for a mention or a link.
      for (const char* live :
           {"@channel", "@here", "@all", "#general", "://", "www.e", "evil.e", "mailto:a", "tel:+"}) {
        CHECK(message.find(live) == std::string::npos);
      }
    }
  }
}

TEST_CASE("a_long_text_is_cut_between_characters_and_an_empty_one_is_marked") {
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "ü";
  const std::string span = slack_code(text);
  CHECK(span.size() > max_span_bytes - 5);
  CHECK(span.size() <= max_span_bytes);
  CHECK(span.ends_with("…`"));
  CHECK(boost::json::parse(slack_body(callback_kind::detection, {text, detection_json(text)})).is_object());
  CHECK(slack_code("") == "`(nothing)`");
  CHECK(slack_code("a.b") == "`a." + std::string(zero_width_space) + "b`");
  CHECK(slack_code("`") == "`'`");
  CHECK(slack_code("1 event waits: \"e1\".") == "`1 event waits: \"e1\".`");  // a sentence stays unchanged
  CHECK(slack_code("abcd", 6) == "`abcd`");
  CHECK(slack_code("abcde", 6) == "`a…`");
  CHECK(slack_code("ü<", 7) == "`ü…`");
}

TEST_CASE("escapes_make_no_text_longer_than_slack_shows_in_one_piece") {
  for (const std::string unit : {"x", "&", "<", ".", "`", "\x01", "ü", "\u202e"}) {
    std::string name, reason;
    while (name.size() + unit.size() <= 256) name += unit;
    while (reason.size() < 20'000) reason += unit;
    INFO(unit);
    CHECK(slack_code(reason, 200).size() <= 200);
    archive::callback_text alert{.run = name, .json = detection_json(reason), .joined = 1'000'000};
    std::string text = slack_text(callback_kind::detection, alert);
    CHECK(text.size() <= max_slack_text_bytes);
    outside_spans(text);
    boost::json::object made{{"action", "create"}, {"recipients", boost::json::array(6, name.c_str())}};
    made["detections"] = boost::json::array{boost::json::parse(alert.json)};
    alert.json = boost::json::serialize(made);
    text = slack_text(callback_kind::intervention, alert);
    CHECK(text.size() <= max_slack_text_bytes);
    CHECK(text.find("and 1 more") != std::string::npos);
    outside_spans(text);
  }
}

}  // namespace
}  // namespace digd::daemon
