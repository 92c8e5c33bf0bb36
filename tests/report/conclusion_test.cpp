#include "report/conclusion.h"

#include <catch2/catch.hpp>

using namespace digd;
using namespace digd::report;

namespace {

part by_probability(std::vector<double> scores, std::size_t candidates,
                    const std::string& evidence = "its code fails") {
  part out{.id = "decisive-error", .name = "CHIEF", .ran = true};
  out.scale = score_scale::probability;
  out.candidates = candidates;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    suspicion s;
    s.agent = "Agent" + std::to_string(i);
    s.place = "step " + std::to_string(10 + i);
    s.quote = "so x=7";
    s.evidence = evidence;
    s.remedy = "run it again";
    s.score = scores[i];
    out.suspects.push_back(s);
  }
  return out;
}

part by_shapley(std::vector<double> scores, double error = 0) {
  part out = by_probability(std::move(scores), 5);
  out.scale = score_scale::shapley;
  out.name = "Shapley values";
  for (suspicion& s : out.suspects) s.error = error;
  return out;
}

const run_facts failed{.ended = run_outcome::failure, .found = 1, .healed = 0, .healed_rules = {}};

bool names_nobody(const conclusion& c) {
  return c.verdict == conclusion::kind::nobody && c.words.rfind("Nobody stands out", 0) == 0 && c.suspect.agent.empty();
}

}  // namespace

TEST_CASE("the_conclusion_names_suspect_quote_confidence_and_what_to_try") {
  const conclusion c = conclude(failed, {by_probability({0.07, 0.05}, 40)});
  CHECK(c.verdict == conclusion::kind::suspect);
  CHECK(c.sure == conclusion::confidence::low);
  CHECK(c.words ==
        "Most likely Agent0, step 10: “so x=7”. Evidence: its code fails. Confidence: low (7 %; next 5 %). "
        "Try: run it again.");
  CHECK(conclude(failed, {by_probability({0.8, 0.1}, 40)}).sure == conclusion::confidence::high);
  CHECK(conclude(failed, {by_probability({0.5, 0.1}, 40)}).sure == conclusion::confidence::medium);
}

TEST_CASE("nobody_is_named_without_supporting_evidence") {
  CHECK(names_nobody(conclude(failed, {by_probability({0.6, 0.1}, 40, "")})));
}

TEST_CASE("nobody_is_named_near_chance_or_in_a_tie_of_the_displayed_numbers") {
  CHECK(names_nobody(conclude(failed, {by_probability({0.3, 0.2}, 4)})));
  CHECK(names_nobody(conclude(failed, {by_probability({0.0712, 0.0689}, 40)})));
}

TEST_CASE("nobody_is_named_by_a_shapley_value_that_is_not_positive_or_within_its_noise") {
  CHECK(names_nobody(conclude(failed, {by_shapley({0.0, -0.5})})));
  CHECK(names_nobody(conclude(failed, {by_shapley({1e-12, 0.0})})));
  CHECK(names_nobody(conclude(failed, {by_shapley({0.5, 0.1}, 0.6)})));
  CHECK(names_nobody(conclude(failed, {by_shapley({0.5, 0.5})})));
  CHECK(conclude(failed, {by_shapley({0.5, 0.1}, 0.1)}).words.find("(φ = 0.5; next 0.1)") != std::string::npos);
}

TEST_CASE("an_uncalibrated_score_names_nobody") {
  part p = by_probability({0.9, 0.1}, 40);
  p.scale = score_scale::none;
  const conclusion c = conclude(failed, {p});
  CHECK(names_nobody(c));
  CHECK(c.words == "Nobody stands out; no method that ran has a calibrated score for this run.");
}

TEST_CASE("a_proof_goes_before_scores_and_needs_none") {
  part proof = by_probability({0.01, 0.2}, 4);
  proof.suspects.front().proven = true;
  const conclusion c = conclude(failed, {by_shapley({0.9, 0.1}), proof});
  CHECK(c.sure == conclusion::confidence::proven);
  CHECK(c.words == "Proven: Agent0, step 10: “so x=7”. Evidence: its code fails. Try: run it again.");
}

TEST_CASE("a_run_that_succeeded_names_what_was_healed_and_no_culprit") {
  run_facts run{.ended = run_outcome::success, .found = 3, .healed = 3, .healed_rules = {"2 × orphaned event"}};
  conclusion c = conclude(run, {by_probability({0.9, 0.1}, 40)});
  CHECK(c.verdict == conclusion::kind::healed);
  CHECK(c.words == "The run succeeded; nobody is blamed. digd healed 2 × orphaned event.");
  run = {.ended = run_outcome::success};
  c = conclude(run, {by_probability({0.9, 0.1}, 40)});
  CHECK(c.verdict == conclusion::kind::healthy);
  CHECK(c.suspect.agent.empty());
}

TEST_CASE("a_method_that_ran_and_ranks_nobody_is_not_called_missing") {
  CHECK(names_nobody(conclude(failed, {part{.id = "decisive-error", .ran = true}})));
  CHECK(conclude(failed, {part{.id = "decisive-error"}}).words == "No attribution method ran; nobody is blamed.");
}

TEST_CASE("a_run_without_risk_says_that_nobody_added_any") {
  const conclusion c = conclude(failed, {by_shapley({})});
  CHECK(c.words == "Nobody stands out; what the agents did added no risk.");
}

TEST_CASE("nobody_stands_out_by_the_scores_in_their_order") {
  part p = by_probability({0.24, 0.29}, 7, "");
  CHECK(conclude(failed, {p}).words ==
        "Nobody stands out; the most suspect step has 29 % and the next 24 %, out of 7 steps.");
}
