#include "analysis/whowhen/ablation.h"

#include <catch2/catch.hpp>

#include "analysis/whowhen/fallback.h"

using namespace digd::whowhen;
namespace chief = digd::chief;

namespace {

const std::vector<chief::feature_info> two_evaluators{
    {"marks", chief::stage::local, chief::leaning::accuses, chief::bearing::fault, "is marked"},
    {"idle", chief::stage::data_flow, chief::leaning::accuses, chief::bearing::fault, "is like any other"},
};

// Three candidates, of which the true one alone is marked. The second evaluator is the same for all.
std::vector<ablation_case> marked_cases() {
  std::vector<ablation_case> out;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t truth = i % 3;
    ablation_case c{.choice = {.rows = {{0, 1}, {0, 1}, {0, 1}}, .truth = static_cast<std::ptrdiff_t>(truth)},
                    .fold = i % 4};
    c.choice.rows[truth][0] = 1;
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace

TEST_CASE("leaving_out_an_evaluator_changes_the_result_only_if_it_decides_something") {
  const ablation a = ablate("list", marked_cases(), two_evaluators, 1.0);
  CHECK(a.cases == 12);
  CHECK(a.right == 12);
  REQUIRE(a.rows.size() == 2);
  CHECK(a.rows[0].weight > 0);
  CHECK(a.rows[0].right == 4);  // all candidates are equal, and the first one leads
  CHECK(a.rows[0].changed == 8);
  CHECK(a.rows[0].lost > 1);
  CHECK(a.rows[1].weight == Approx(0).margin(1e-9));
  CHECK(a.rows[1].changed == 0);
  CHECK(a.rows[1].lost == Approx(0).margin(1e-9));
  CHECK(as_table({a}).find("list: 12 of 12") != std::string::npos);
}

TEST_CASE("a_case_without_a_true_candidate_is_not_counted_in_an_ablation") {
  std::vector<ablation_case> cases = marked_cases();
  cases.front().choice.truth = -1;
  CHECK(ablate("list", cases, two_evaluators, 1.0).cases == 11);
}

TEST_CASE("each_committed_evaluator_has_a_weight_unless_it_is_diagnostic") {
  const chief::ranker_set& set = chief::committed_rankers();
  const auto check = [](const std::vector<chief::feature_info>& features, const std::vector<double>& weights) {
    for (std::size_t k = 0; k < features.size(); ++k) {
      INFO(features[k].name);
      CHECK((weights[k] != 0 || features[k].name == "discrepant"));
    }
  };
  check(chief::chat_features(), set.chat);
  check(chief::orchestrated_features(), set.orchestrated);
  check(chief::agent_features(), set.agents);
  check(chief::generic_features(), set.generic);
}

TEST_CASE("the_constant_is_kept_unless_the_evidence_is_strong") {
  const answer ranked{.agent = "A", .steps = {4, 2, 1}, .probabilities = {0.6, 0.25, 0.15}};
  const answer constant{.agent = "B", .steps = {2}};
  const answer kept = from_prior(ranked, constant, 3);  // 0.6 is less than three times 0.25
  CHECK(kept.agent == "B");
  CHECK(kept.steps == std::vector<std::size_t>{2, 4, 1});
  CHECK(kept.probabilities == std::vector<double>{0.25, 0.6, 0.15});
  CHECK(from_prior(ranked, constant, 2).steps == ranked.steps);
  CHECK(from_prior(ranked, constant, 0).agent == "A");
  answer proven = ranked;
  proven.proven = true;
  CHECK(from_prior(proven, constant, 30).agent == "A");
}

TEST_CASE("the_truths_of_a_framework_have_no_part_in_the_choice_of_its_prior") {
  transfer t = leave_one_framework_out(simulated_frameworks(8, 1));
  const std::vector<prior_figure> before = weigh_prior(t);
  REQUIRE(before.size() == 3);
  for (labelled_log& l : t.logs) {
    if (l.subset == before[1].framework) l.agent = "nobody", l.step = 0;
  }
  const std::vector<prior_figure> after = weigh_prior(t);
  CHECK(after[1].constant == before[1].constant);
  CHECK(after[1].min_ratio == before[1].min_ratio);
  CHECK(after[1].agent.hits == 0);
}
