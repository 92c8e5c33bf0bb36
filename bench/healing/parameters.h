// The parameters of the simulated agents. Each comment names a number's source: a passage of the paper (DIG to Heal,
// arXiv 2603.00309), the fit, or plain judgement.
//
// *Fitted* numbers were chosen by fit.py, and rounded, so that the unmonitored arm resembles the paper's Table 2. The
// fit has seeds of its own and plays no other arm. All numbers were committed before the first comparison of arms
// (docs/study/simulated-plan.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace digd::bench {

struct parameters {
  // ---- the task and the clock

  // Distinct integers in the array. Judgement: few, so that the answer is a short table.
  static constexpr int values = 10;
  // A run without an answer by this time has failed. Paper, 7.2: the unmonitored case study produced nothing within 120
  // s.
  std::int64_t time_limit_ms = 120'000;
  // The problem goes to one agent. Two more get it too, each with this chance. Fitted; in Tables 3 to 5 unmonitored
  // teams show no cross-lineage aggregation, so few divisions of the problem compete.
  double second_root = 0.045;
  // Duration of one model call: median, and spread of the logarithm. Fitted; paper, 7.2: 92 calls of 20 agents within
  // 70 s.
  double call_median_ms = 4'100;
  double call_spread = 0.5;
  // Additional duration for each thousand raw integers read. Judgement; in Table 2 runtime hardly grows with the array.
  double call_ms_per_thousand = 100;
  // Time from a delivery to the start of the call that reads it. Judgement: a queue, building a prompt.
  std::int64_t pickup_least_ms = 100;
  std::int64_t pickup_most_ms = 400;
  // An open activation counts as stalled after this much silence (`limits.stalled_ms` of the hello, in every arm).
  // Judgement: eight times the usual call. It is the one setting of digd that is not its default: the default is five
  // minutes, longer than these runs last.
  std::int64_t stalled_ms = 20'000;

  // ---- computing

  // Relative error of each count read off m raw integers: most * m / (m + half), normally distributed. Fitted to the
  // RMSE of one agent in Table 2: 41, 202, 432 for 1,000, 5,000, 10,000 integers.
  double error_most = 0.55;
  double error_half = 125;
  // Raw integers that fit into one call; a call with more fails. Judgement: a 128k-token context, and room to think.
  double context = 20'000;

  // ---- taking up a problem: chances of these choices; otherwise the agent gets the raw data and solves it

  // The whole problem. Paper, appendix B: split it, fetch its raw data, forward it if busy, keep it, or drop it; the
  // agents are told to work with their collaborators. Dropping and keeping are judgement.
  double split_whole = 0.70;
  double reroute_whole = 0.06;
  double discard_whole = 0.02;
  double wait_whole = 0.03;
  // A part of the problem. Judgement: most are solved; some are split again, passed on, left or dropped.
  double split_part = 0.04;
  double reroute_part = 0.06;
  double discard_part = 0.015;
  double wait_part = 0.03;
  // No split makes a part smaller than this. Judgement.
  std::int64_t smallest_split = 200;
  // The number of parts is that of the agents (at most `most_parts`) or else one of 2 to 5. Judgement; paper, 3: the
  // decomposition emerges.
  double parts_as_agents = 0.6;
  int most_parts = 20;

  // ---- what an agent knows of its results

  // A result has a label that says which elements it counts, and readers know no more. The chance that a result comes
  // without one: a count of a part, and a sum of several results. Judgement; paper, appendix B: messages are brief and
  // contain what their author finds important.
  double vague_part = 0.05;
  double vague_sum = 0.25;
  // The chance that an agent overlooks a gap between labels when it judges whether its results are complete. Fitted,
  // at most 0.5.
  double overlook = 0.25;
  // The chance that an agent takes results without a label for what it lacks. Judgement.
  double trust_vague = 0.5;
  // The chance that an agent sees the overlap of two labelled results and does not count it twice: if a result adds
  // nothing new; if they overlap in part, as different divisions do. Judgement; paper, Table 1: cross-lineage
  // aggregation and repeated subproblems make answers wrong.
  double see_same = 0.90;
  double see_mixed = 0.70;
  // The chance that a result that adds nothing new is dropped, else kept. Paper, appendix B: duplicates are to be
  // discarded.
  double drop_duplicate = 0.5;

  // ---- failure tendencies

  // Early submits: an agent that sees gaps submits nevertheless, with this chance times the share that it believes to
  // have. Fitted, at most 0.5; paper, appendix B: "good enough" and "reasonable" answers are to be
  // submitted.
  double early_submit = 0.50;
  // Forgotten submits: the chance that an agent never submits by itself and leaves it to others. Fitted; paper, Tables
  // 3 to 5: missing terminations in nearly all configurations.
  double forgetful = 0.04;
  // The chance that an event goes to nobody, or to a name that does not exist. Paper, 7.2: 1 orphaned event in a run of
  // 92 calls.
  double lost_recipient = 0.010;
  // Ping-pong: the chance that no agent feels responsible for a problem, and that an agent passes such a problem on.
  // Judgement; unmonitored teams in Tables 3 to 5 show no excessive rerouting, monitored ones 1 to 6.
  double hot_potato = 0.02;
  double pass_potato = 0.9;
  // Duplicate work: the chance that a part goes to two agents. Paper, 7.2: 8 repeated-effort incidents in a run.
  double given_twice = 0.08;
  // Hanging: the chance that a call, and with it the agent, never returns. Judgement: rare.
  double hang = 0.002;

  // ---- sharing and asking

  // A result goes to the author of the problem alone, to some others too (at most `share_with`), or to one agent other
  // than the author. Paper, appendix B: results are shared to speed things up; appendix D, figure 13: agents route
  // results to each other and miss the aggregation.
  double share_author = 0.70;
  double share_widely = 0.20;
  int share_with = 4;
  // With several results that are not the whole: combine them and pass the sum on to another agent. Judgement.
  double combine_and_pass = 0.10;
  // The chance that an agent with gaps asks a team mate that got a part and has not reported. Judgement.
  double ask_late = 0.15;
  // The chance that an asked agent sends its results. Judgement.
  double answer_request = 0.8;

  // ---- reading an intervention

  // The chance that an agent follows the first text that it reads. Judgement, and therefore varied: 0, 0.25, 0.5,
  // 0.75, 1.
  double follow = 0.75;
  // Each further text in the same call, and each text of the same form read before, multiplies the chance. Judgement:
  // attention is shared, and wears off.
  double share_attention = 0.9;
  double wear = 0.9;
  // An agent that follows a text looks again: its chance of an oversight is multiplied by this. Judgement.
  double care = 0.4;
  // What an agent does that follows a returned answer and sees that something is open: wait, or ask an agent; else it
  // hands the gaps that it sees out. Judgement.
  double patience = 0.35;
  double ask_named = 0.5;
  // The chance that an agent sends an event of its own that came back again, without following a text. Judgement.
  double resend = 0.5;

  // ---- the stand-in for a language model as judge. It reads the log at each answer and at rest, as in the study with
  // real agents.

  double judge_median_ms = 8'000;  // everybody waits. Paper, figures 5 and 10: progress pauses while it judges
  double judge_spread = 0.4;
  double judge_overlook = 0.4;     // the chance that it overlooks a gap in the labels of an answer. Judgement
  double judge_false_alarm = 0.3;  // it objects to an answer without a gap that it sees. Judgement; paper, 7.1: not
                                   // every intervention of the judge improves the system
  double judge_hit = 0.6;          // at rest it names the agent that holds most work, else any. Judgement

  // ---- the stand-in for tokens. Paper, 7.2: 92 calls used 435,105 prompt tokens and 10,567 completion tokens.

  double tokens_of_call = 3'500;  // instructions and examples, each call
  double tokens_of_input = 60;    // for each event that the call reads, and for each entry of a log
  double tokens_of_integer = 2;   // of raw data
  double tokens_of_text = 120;    // of an intervention
  double tokens_of_completion = 115;
};

// A parameter that an option can set by its name.
struct named_parameter {
  std::string_view name;
  double parameters::*value;
};
std::span<const named_parameter> named_parameters();

}  // namespace digd::bench
