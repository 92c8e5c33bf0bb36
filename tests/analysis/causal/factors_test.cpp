// Factors of runs: built-in factors, the language of user factors, reading and writing tables.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/csv.h"
#include "analysis/causal/factors/expression.h"
#include "analysis/causal/factors/factor_table.h"
#include "analysis/causal/factors/run_reader.h"
#include "analysis/causal/worldview.h"

using namespace digd::causal;

namespace {

run_facts facts_of(const std::vector<std::string>& lines, const run_window& window = {}) {
  run_reader reader(window);
  for (const std::string& line : lines) REQUIRE(reader.line(line));
  return reader.take();
}

const std::vector<std::string> small_run{
    R"({"type":"hello","protocol":1,"run":"r","agents":["p","c","t"],"clock":"trace","labels":{"task":"t1","effort":"3"}})",
    R"({"type":"event","seq":1,"ts":0,"event":{"id":"e1","recipients":["p"]}})",
    R"({"type":"activation_started","seq":2,"ts":100,"activation":"v1","agent":"p","inputs":["e1"]})",
    R"({"type":"activation_ended","seq":3,"ts":200,"activation":"v1","outputs":[{"id":"e2","recipients":["c","t"]},{"id":"e3","recipients":["c"]}]})",
    R"({"type":"activation_started","seq":4,"ts":300,"activation":"v2","agent":"c","inputs":["e2","e3"]})",
    R"({"type":"activation_ended","seq":5,"ts":500,"activation":"v2","reactions":{"e3":"wait"},"outputs":[{"id":"e4","recipients":["t"]}]})",
    R"({"type":"activation_started","seq":6,"ts":500,"activation":"v3","agent":"t","inputs":["e2","e4"]})",
    R"({"type":"activation_ended","seq":7,"ts":900,"activation":"v3","reactions":{"e2":"discard"},"outputs":[]})",
    R"({"type":"run_ended","seq":8,"ts":1000,"outcome":"failure","metrics":{"rmse":0.25,"ok":true}})"};

double value(const std::string& text, const run_facts& of) {
  std::string problem;
  const auto e = expression::parse(text, problem);
  INFO(text << ": " << problem);
  REQUIRE(e);
  return e->value(of).value_or(-1e9);
}

}  // namespace

TEST_CASE("built_in_factors_measure_the_run") {
  const run_facts f = facts_of(small_run);
  CHECK(f.ended);
  CHECK(f.outcome == digd::run_outcome::failure);
  CHECK(f.metrics.at("rmse") == 0.25);
  CHECK(f.labels.at("task") == "t1");
  CHECK(value("activations", f) == 3);
  CHECK(value("events", f) == 4);
  CHECK(value("agents", f) == 3);
  CHECK(value("fan_out", f) == Approx(5.0 / 4));
  CHECK(value("consume_ratio", f) == Approx(3.0 / 5));
  CHECK(value("wait_ratio", f) == Approx(1.0 / 5));
  CHECK(value("discard_ratio", f) == Approx(1.0 / 5));
  CHECK(value("lineage_depth", f) == 2);
  CHECK(value("lineage_width", f) == 2);
  CHECK(value("load_gini", f) == 0);
  CHECK(value("overlap", f) == 0);
  CHECK(value("time_to_first_consume_ms", f) == Approx((200.0 + 300 + 400) / 3));
  CHECK(value("duration_ms", f) == 1000);
  CHECK(value("idle_ms", f) == 300);
  CHECK(gini({0, 0, 4}) == Approx(2.0 / 3));
}

TEST_CASE("a_window_covers_the_beginning_but_the_outcome_is_of_the_whole_run") {
  const run_facts f = facts_of(small_run, {0, 3});
  CHECK(f.activations.size() == 1);
  CHECK(f.outcome == digd::run_outcome::failure);
  CHECK(facts_of(small_run, {250, 0}).activations.size() == 1);
  CHECK(f.in_full().activations.size() == 3);
  CHECK(f.in_full().labels.at("task") == "t1");
  CHECK_FALSE(facts_of(small_run).whole);
}

TEST_CASE("a_table_of_lines_is_the_table_of_the_runs") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "digd-factor-lines-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::vector<std::string> paths;
  for (int i = 0; i < 7; ++i) {
    paths.push_back((folder / (std::to_string(i) + ".jsonl")).string());
    std::ofstream to(paths.back());
    for (std::string line : small_run) {
      if (const auto at = line.find(R"("run":"r")"); at != std::string::npos)
        line.replace(at, 9, R"("run":"r)" + std::to_string(i) + '"');
      if (const auto at = line.find("0.25"); at != std::string::npos)
        line.replace(at, 4, "0." + std::to_string(3 * i + 1) + "7");
      if (const auto at = line.find("failure"); at != std::string::npos && i % 2 == 0) line.replace(at, 7, "success");
      if (const auto at = line.find(R"("ts":900)"); at != std::string::npos)
        line.replace(at, 8, R"("ts":9)" + std::to_string(10 + i));
      if (i == 5 && line.find("run_ended") != std::string::npos) continue;  // it has not ended
      if (i == 6) line = "no message";
      to << line << '\n';
    }
  }
  factor_request request;
  request.user = {{"twice", "2 * duration_ms"}, {"rate", R"(metric."rmse" / 3)"}};
  request.metrics = {"*"};
  request.rates = true;
  request.outcome = "failures";
  const factor_rows whole = factor_table_of(paths, request);
  REQUIRE(whole.problem.empty());
  REQUIRE(whole.runs.size() == 5);
  REQUIRE(whole.notes.size() > 2);
  std::string lines;
  for (std::size_t at = 0; at < paths.size(); at += 2) {  // as several machines
    const std::vector<std::string> share(paths.begin() + at, paths.begin() + std::min(at + 2, paths.size()));
    REQUIRE(factor_lines_of(share, request, lines).empty());
  }
  const factor_rows merged = factor_table_of_lines(lines, request);
  CHECK(merged.problem.empty());
  CHECK(factor_csv(merged) == factor_csv(whole));
  CHECK(merged.runs == whole.runs);
  CHECK(merged.labels == whole.labels);
  CHECK(merged.notes == whole.notes);
  for (std::size_t v = 0; v < whole.data.size(); ++v) CHECK(merged.data[v].values == whole.data[v].values);
  factor_request other = request;
  other.user.pop_back();
  CHECK_THAT(factor_table_of_lines(lines, other).problem, Catch::Contains("other factors"));
  CHECK_THAT(factor_table_of_lines("{}\n", request).problem, Catch::Contains("expected the factors of a run"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("factors_bound_to_the_outcome_by_definition_are_recognised") {
  CHECK(is_bound_by_definition("failures", "fired_deadlock"));
  CHECK(is_bound_by_definition("failures", "injections_per_activation"));
  CHECK(is_bound_by_definition("duration_ms", "idle_ms"));
  CHECK_FALSE(is_bound_by_definition("fired_deadlock", "fired_excessive_rerouting"));
  CHECK_FALSE(is_bound_by_definition("success", "failures"));
  CHECK_FALSE(is_bound_by_definition("duration_ms", "wait_ratio"));
}

TEST_CASE("the_factor_language_computes") {
  const run_facts f = facts_of(small_run);
  CHECK(value("1 + 2 * 3 ^ 2 ^ 0 - -1", f) == 8);
  CHECK(value("(1 + 2) * 3 / 0", f) == 0);
  CHECK(value("if(wait_ratio > 0.1, 5, 6)", f) == 5);
  CHECK(value("events / activations", f) == Approx(4.0 / 3));
  CHECK(value("label.effort * metric.\"rmse\"", f) == Approx(0.75));
  CHECK(value("mean(durations)", f) == Approx((100.0 + 200 + 400) / 3));
  CHECK(value("rolling_max(durations, 2)", f) == 300);
  CHECK(value("slope(durations)", f) == 150);
  CHECK(value("quantile(durations, 0.5)", f) == 200);
  CHECK(value("max(max(fan_outs), 7)", f) == 7);
  CHECK(value("sum(waits)", f) == 1);
  CHECK(value("density()", f) == Approx(3.0 / 6));
  CHECK(value("components()", f) == 1);
  CHECK(value("share(\"p\")", f) == Approx(1.0 / 3));
  CHECK(value("metric.absent", f) == -1e9);
}

TEST_CASE("an_invalid_expression_is_refused_with_its_place") {
  for (const char* text :
       {"", "1 +", "durations", "nothing", "mean(1, 2)", "log(1, 2)", "(1", "1 2", "quantile(durations)", "share(p)"}) {
    std::string problem;
    INFO(text);
    CHECK_FALSE(expression::parse(text, problem));
    CHECK_FALSE(problem.empty());
  }
  std::string problem;
  CHECK_FALSE(expression::parse(std::string(3000, '('), problem));
  CHECK_FALSE(expression::parse(std::string(3000, '-') + "1", problem));
}

TEST_CASE("a_table_written_as_csv_reads_back") {
  table t;
  t.add_continuous("a,b", {0.1, 2, -3.5});
  t.add_discrete("k", {0, 1, 2}, {"x", "say \"y\"", "=1+1"});
  const std::string text = write_csv(t);
  CHECK(text.find("'=1+1") != std::string::npos);
  const csv_result back = read_csv(text);
  REQUIRE(back.problem.empty());
  CHECK(back.data[0].values == t[0].values);
  CHECK(back.data[1].codes.size() == 3);
  CHECK(back.data[1].discrete);
  CHECK_FALSE(read_csv("a,b\n1\n").problem.empty());
  CHECK(read_csv("a,b\n1,2\n,3\n4,5\n7,9\n").kept == std::vector<std::size_t>{0, 2, 3});
}

TEST_CASE("a_column_of_codes_has_a_bounded_number_of_categories") {
  std::string text;
  for (std::size_t i = 0; i < column::max_levels; ++i) text += std::to_string(i) + " 1\n";
  CHECK(read_codes(text).problem.empty());
  CHECK(read_codes(text + "300 1\n").problem == "column 1 has more than 64 different codes");
}

TEST_CASE("a_rate_s_name_is_taken") {
  factor_request request;
  request.user = {{"events_per_activation", "events"}};
  CHECK(factor_table_of_lines("", request).problem.find("events_per_activation") != std::string::npos);
}

TEST_CASE("a_line_that_is_not_of_factors_is_named") {
  CHECK(factor_table_of_lines("x\n", {}).problem ==
        "line 1: expected the factors of a run, as factors --lines writes them");
}

TEST_CASE("worldviews_are_read_and_refuted_by_experiments") {
  const worldviews worldviews = read_worldviews(R"(
name: waiting
variables:
  - {name: wait_ratio, scale: micro, root: true}
  - {name: success, scale: macro, tier: 2}
edges:
  - {from: wait_ratio, to: success, sign: "-"}
  - {from: fan_out, to: success}
forbidden:
  - {from: success, to: fan_out}
  - {from: success, to: wait_ratio}
alternatives:
  - name: the other way
    edges:
      - {from: success, to: wait_ratio}
)");
  REQUIRE(worldviews.problem == "");
  REQUIRE(worldviews.worldviews.size() == 2);
  CHECK(worldviews.worldviews[0].variables[0].at == scale::micro);
  CHECK(worldviews.worldviews[1].edges.size() == 2);  // its own, and the one it is not about
  CHECK(worldviews.worldviews[1].forbidden.size() == 1);
  std::vector<experiment> found{{"wait_ratio", "success", finding_kind::confirmed, -1, 0.01, 20}};
  CHECK(contradiction_of(worldviews.worldviews[0], found).empty());
  CHECK_FALSE(contradiction_of(worldviews.worldviews[1], found).empty());
  found[0].sign = 1;
  CHECK_FALSE(contradiction_of(worldviews.worldviews[0], found).empty());
  const experiments back = read_experiments(write_experiments(found));
  REQUIRE(back.problem == "");
  REQUIRE(back.experiments.size() == 1);
  CHECK(back.experiments[0].sign == 1);
  CHECK(back.experiments[0].p == 0.01);
  const std::string wrong_sign = "- {from: a, to: b, result: confirmed, sign: plus}\n";
  CHECK(read_experiments(wrong_sign).problem.find("sign has to be") != std::string::npos);
  CHECK(read_worldviews("name: x\nedge: []\n").problem.find("edge") != std::string::npos);
  CHECK_FALSE(read_worldviews("[").problem.empty());
}
