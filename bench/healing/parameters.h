// What the simulated agents are like. Every number here is a guess: each says what it stands on, a passage of the paper
// (DIG to Heal, arXiv 2603.00309) or plain judgement.
//
// The rule of this bench: these numbers were committed before the first comparison of arms was run, and have not been
// changed since (git log bench/healing/parameters.h). While they were chosen only runs without a monitor were looked
// at.
#pragma once

#include <cstdint>

namespace digd::bench {

struct parameters {
  // ---- the task and the clock

  // Distinct integers in the array. Judgement: few, so that the answer is a short table.
  static constexpr int values = 10;
  // A run without an answer by then has failed. Paper, 7.2: the unmonitored case study produced nothing within 120 s.
  std::int64_t time_limit_ms = 120'000;
  // Agents that are given the problem. Paper, 3: the initial event goes to a subset of the agents. Judgement: a few
  // members of a team are told, not one coordinator (there are no roles) and not everybody.
  int root_recipients = 3;
  // One model call: median and spread (of the logarithm). Paper, 7.2 and Table 2: 92 calls of 20 agents within 70 s,
  // and 12 to 21 s for the few calls of one agent.
  double call_median_ms = 2'500;
  double call_spread = 0.5;
  // Longer by this for each thousand raw integers read. Judgement; in Table 2 runtime hardly grows with the array.
  double call_ms_per_thousand = 100;
  // From a delivery to the start of the call that reads it: at least, at most. Judgement: a queue, a prompt being
  // built.
  std::int64_t pickup_least_ms = 100;
  std::int64_t pickup_most_ms = 400;
  // After this much silence of an open activation it counts as stalled (`limits.stalled_ms` of the hello, in every
  // arm). Judgement: eight times the usual call. It is the one setting of digd that is not its default: the default is
  // five minutes, longer than these runs last.
  std::int64_t stalled_ms = 20'000;

  // ---- computing

  // Relative error of each count read off m raw integers: most * m / (m + half), normally distributed. Paper, Table 2:
  // one agent's RMSE is 41, 202, 432 for 1,000, 5,000, 10,000 integers; with ten values this gives 36, 214, 439.
  double error_most = 0.45;
  double error_half = 250;
  // Raw integers that fit one call; with more it fails. Judgement: a 128k-token context, and room to think.
  std::int64_t context = 20'000;

  // ---- taking up a problem (one of these; the rest: get the raw data and solve it)

  // The whole problem. Paper, appendix B: split it, fetch its raw data, forward it if busy, keep it, or drop it; the
  // agents are told to work with their collaborators.
  double split_whole = 0.70;
  double reroute_whole = 0.06;
  double discard_whole = 0.05;  // judgement: several were told, so another will see to it
  double wait_whole = 0.05;
  // A part of it. Judgement: mostly solved; some are split again, passed on, left, dropped.
  double split_part = 0.04;
  double reroute_part = 0.06;
  double discard_part = 0.015;
  double wait_part = 0.03;
  // Parts are not split below this size. Judgement.
  std::int64_t smallest_split = 200;
  // The number of parts is that of the agents (at most `most_parts`) or else one of 2 to 5. Judgement: no convention is
  // agreed on; paper, 3: the decomposition emerges.
  double parts_as_agents = 0.6;
  int most_parts = 20;

  // ---- failure tendencies

  // Early submits: an agent that puts results together and knows the table to be incomplete submits it nevertheless,
  // with this chance times the share it has. Paper, appendix B: "good enough" and "reasonable" answers are to be
  // submitted; 7.2: 4 early terminations in one run of 20 agents.
  double early_submit = 0.15;
  // Forgotten submits: an agent that never submits in this run and leaves it to others. Paper, Tables 3 to 5: missing
  // terminations in nearly all configurations.
  double forgetful = 0.15;
  // An event goes to nobody, or to a name that does not exist. Paper, 7.2: 1 orphaned event in a run of 92 calls.
  double lost_recipient = 0.015;
  // Ping-pong: a problem that nobody feels is theirs, and the chance that whoever gets it passes it on. Paper, Tables 3
  // to 5: excessive rerouting in multi-agent runs.
  double hot_potato = 0.02;
  double pass_potato = 0.9;
  // Duplicate work: a part given to two agents. Paper, 7.2: 8 repeated-effort incidents in a run.
  double given_twice = 0.08;
  // Hanging: a call that never returns, and with it the agent. Judgement: rare; with 92 calls a third of the runs.
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
  // Overlap of two results is seen, and not counted twice: where one brings nothing new; where they overlap in part, as
  // different decompositions do; where the table is complete already. Judgement; paper, Table 1 and appendix D: cross-
  // lineage aggregation and repeated subproblems make answers wrong. In Table 2 six agents err three times as much as
  // six independent parts would: something is left out or counted twice in many runs.
  double see_same = 0.90;
  double see_mixed = 0.70;
  double see_complete = 0.95;
  // A result that brings nothing new is dropped (else kept). Paper, appendix B: duplicates are to be discarded.
  double drop_duplicate = 0.5;

  // ---- hints

  // An injected hint is followed. Judgement, and therefore varied: 0, 0.25, 0.5, 0.75, 1 (docs/healing.md).
  double follow = 0.75;
  // An agent told that its answer is early, and that the missing work is in somebody's hands, waits for it; else it
  // hands out the missing part again. Judgement.
  double wait_when_early = 0.5;

  // ---- the stand-in for a language model as judge. Paper, appendix C and section 6: it reads the log every n
  // activations.

  int judge_every = 10;
  double judge_median_ms = 8'000;  // everybody waits. Paper, figures 5 and 10: progress pauses while it judges
  double judge_spread = 0.4;
  double judge_hit = 0.6;          // a real symptom since the last time is named. Judgement
  double judge_false_alarm = 0.3;  // it names one that is none, once a judgement. Judgement; paper, 7.1: not every
                                   // intervention of the judge improves the system
};

}  // namespace digd::bench
