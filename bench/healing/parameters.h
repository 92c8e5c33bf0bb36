// The parameters of the simulated agents. Every number is a guess. Each comment names its source: a passage of the
// paper (DIG to Heal, arXiv 2603.00309) or plain judgement.
//
// The numbers were committed before the first comparison of arms was run and have not changed since (git log
// bench/healing/parameters.h). While they were chosen, only runs without a monitor were looked at.
#pragma once

#include <cstdint>

namespace digd::bench {

struct parameters {
  // ---- the task and the clock

  // Distinct integers in the array. Judgement: few, so that the answer is a short table.
  static constexpr int values = 10;
  // A run without an answer by this time has failed. Paper, 7.2: the unmonitored case study produced nothing within 120
  // s.
  std::int64_t time_limit_ms = 120'000;
  // Number of agents that get the problem. Paper, 3: the initial event goes to a subset of the agents. Judgement: a few
  // members of a team, neither one coordinator (there are no roles) nor everybody.
  int root_recipients = 3;
  // Duration of one model call: median, and spread of the logarithm. Paper, 7.2 and Table 2: 92 calls of 20 agents
  // within 70 s, and 12 to 21 s for the few calls of one agent.
  double call_median_ms = 2'500;
  double call_spread = 0.5;
  // Additional duration for each thousand raw integers read. Judgement; in Table 2 runtime hardly grows with the array.
  double call_ms_per_thousand = 100;
  // Time from a delivery to the start of the call that reads it, minimum and maximum. Judgement: a queue, building a
  // prompt.
  std::int64_t pickup_least_ms = 100;
  std::int64_t pickup_most_ms = 400;
  // An open activation counts as stalled after this much silence (`limits.stalled_ms` of the hello, in every
  // arm). Judgement: eight times the usual call. It is the one setting of digd that is not its default: the default is
  // five minutes, longer than these runs last.
  std::int64_t stalled_ms = 20'000;

  // ---- computing

  // Relative error of each count read off m raw integers: most * m / (m + half), normally distributed. Paper, Table 2:
  // one agent's RMSE is 41, 202, 432 for 1,000, 5,000, 10,000 integers; with ten values this gives 36, 214, 439.
  double error_most = 0.45;
  double error_half = 250;
  // Raw integers that fit into one call; a call with more fails. Judgement: a 128k-token context, and room to think.
  std::int64_t context = 20'000;

  // ---- taking up a problem: probabilities of these choices; otherwise the agent gets the raw data and solves it

  // The whole problem. Paper, appendix B: split it, fetch its raw data, forward it if busy, keep it, or drop it; the
  // agents are told to work with their collaborators.
  double split_whole = 0.70;
  double reroute_whole = 0.06;
  double discard_whole = 0.05;  // judgement: several got it, so another will solve it
  double wait_whole = 0.05;
  // A part of the problem. Judgement: most are solved; some are split again, passed on, left or dropped.
  double split_part = 0.04;
  double reroute_part = 0.06;
  double discard_part = 0.015;
  double wait_part = 0.03;
  // No split makes a part smaller than this. Judgement.
  std::int64_t smallest_split = 200;
  // The number of parts is that of the agents (at most `most_parts`) or else one of 2 to 5. Judgement: no convention is
  // agreed on; paper, 3: the decomposition emerges.
  double parts_as_agents = 0.6;
  int most_parts = 20;

  // ---- failure tendencies

  // Early submits: an agent that combines results and knows that the table is incomplete submits it nevertheless, with
  // this probability times the share it has. Paper, appendix B: "good enough" and "reasonable" answers are to be
  // submitted; 7.2: 4 early terminations in one run of 20 agents.
  double early_submit = 0.15;
  // Forgotten submits: the probability that an agent never submits in a run and leaves it to others. Paper, Tables 3 to
  // 5: missing terminations in nearly all configurations.
  double forgetful = 0.15;
  // The probability that an event goes to nobody, or to a name that does not exist. Paper, 7.2: 1 orphaned event in a
  // run of 92 calls.
  double lost_recipient = 0.015;
  // Ping-pong: the probability that no agent feels responsible for a problem, and that an agent passes such a problem
  // on. Paper, Tables 3 to 5: excessive rerouting in multi-agent runs.
  double hot_potato = 0.02;
  double pass_potato = 0.9;
  // Duplicate work: the probability that a part goes to two agents. Paper, 7.2: 8 repeated-effort incidents in a run.
  double given_twice = 0.08;
  // Hanging: the probability that a call, and with it the agent, never returns. Judgement: rare; in 92 calls it happens
  // in a third of the runs.
  double hang = 0.004;

  // ---- sharing results

  // A result goes to the author of the problem alone, to some others too (at most `share_with`), or to one agent
  // other than the author. Paper, appendix B: results are shared to speed things up; appendix D, figure 13: agents
  // route results to each other and miss the aggregation.
  double share_author = 0.60;
  double share_widely = 0.30;
  int share_with = 4;

  // ---- putting results together

  // With several results that do not make up the whole: combine them and pass the sum on to another agent. Judgement.
  double combine_and_pass = 0.10;
  // The probability that an agent sees the overlap of two results and does not count it twice: if one adds nothing new;
  // if they overlap in part, as different decompositions do; if the table is already complete. Judgement; paper, Table
  // 1 and appendix D: cross- lineage aggregation and repeated subproblems make answers wrong. In Table 2 six agents err
  // three times as much as six independent parts would: something is left out or counted twice in many runs.
  double see_same = 0.90;
  double see_mixed = 0.70;
  double see_complete = 0.95;
  // The probability that a result that adds nothing new is dropped, else kept. Paper, appendix B: duplicates are to be
  // discarded.
  double drop_duplicate = 0.5;

  // ---- hints

  // The probability that an injected hint is followed. Judgement, and therefore varied: 0, 0.25, 0.5, 0.75, 1
  // (docs/healing.md).
  double follow = 0.75;
  // The probability that an agent waits when it learns that its answer is early and that others have the missing work;
  // else it hands the missing part out again. Judgement.
  double wait_when_early = 0.5;

  // ---- the stand-in for a language model as judge. Paper, appendix C and section 6: it reads the log every n
  // activations.

  int judge_every = 10;
  double judge_median_ms = 8'000;  // everybody waits. Paper, figures 5 and 10: progress pauses while it judges
  double judge_spread = 0.4;
  double judge_hit = 0.6;          // a real symptom since the last time is named. Judgement
  double judge_false_alarm = 0.3;  // it names a false one, once a judgement. Judgement; paper, 7.1: not every
                                   // intervention of the judge improves the system
};

}  // namespace digd::bench
