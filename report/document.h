// The content of a report: sections of text, tables and pictures. `compose` and the attribution methods create it;
// `html.h` and `text.h` write it and know nothing about runs.
//
// Texts are unescaped: the writers escape them. Pictures are SVG from picture/, which is escaped.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace digd::report {

struct column {
  std::string name;
  bool number = false;  // right-aligned
};

struct table {
  std::string caption;
  std::vector<column> columns;
  std::vector<std::vector<std::string>> rows;  // the first cell of each names the row
  std::string left_out;                        // a sentence about omitted rows; empty: none
};

struct figure {
  std::string title;
  std::string caption;  // describes the picture, also for screen readers
  std::string svg;
};

struct block {
  enum class kind { text, note, command, list, picture, table, details } kind = kind::text;
  std::string text;                // text, note, command; of details: the summary
  std::vector<std::string> items;  // list
  report::figure figure;
  report::table table;
  std::vector<block> inside;  // details
  bool ranks = false;         // ranks suspects: left out where section Who ranks them
  std::string badge;          // of details: a rule's code; empty: none
  bool grave = false;         // the badge of a failure, else of a warning

  static block words(std::string text) { return {.text = std::move(text)}; }
  static block remark(std::string text) { return {.kind = kind::note, .text = std::move(text)}; }
  static block typed(std::string command) { return {.kind = kind::command, .text = std::move(command)}; }
  static block of(report::figure figure) { return {.kind = kind::picture, .figure = std::move(figure)}; }
  static block of(report::table table) { return {.kind = kind::table, .table = std::move(table)}; }
};

struct section {
  std::string id;  // [a-z-]+
  std::string title;
  std::vector<block> blocks;
};

struct fact {
  std::string name, value;
};

// One of the answers on top of a report.
struct answer_line {
  std::string question, text;
};

struct document {
  std::string title;
  std::string run;
  std::vector<answer_line> answers;  // what went wrong, who, what now
  bool failed = false;               // the run failed, or a finding is not known to have cleared
  std::vector<fact> facts;
  std::vector<section> sections;
};

// How a number was computed.
struct origin {
  std::string number, text, source;  // source: paper and equation, or the document that defines it
};

// A place in the run that an attribution method holds responsible.
struct blamed {
  std::string activation, event;  // either may be empty
  std::string reason;             // a clause
};

// One candidate for the blame, as a method sees it (report/conclusion.h decides whether it is named).
struct suspicion {
  std::string agent;
  std::string place;              // "step 7", "activation a3"
  std::string activation, event;  // either may be empty
  std::string quote;              // what it said, escaped and cut; empty: the payload was not kept
  std::string evidence;           // a clause; empty: nothing speaks against it, and it is not named
  std::string remedy;             // what to try: a clause; may be empty
  double score = 0;               // a calibrated probability or φ (`part::scale`)
  double error = 0;               // half the width of the score's 95% interval; 0: exact
  double agent_score = 0;         // the score of the agent as a whole; 0: the method compares no agents
  double next_agent_score = 0;    // the score of the next agent in the ranking
  bool proven = false;            // a contradiction in the log itself; no score is needed
};

// The meaning of a suspicion's score.
enum class score_scale {
  none,         // the method ranks nobody
  probability,  // calibrated; the candidates' probabilities sum to 1
  shapley,      // φ
};

// The result of one attribution method, or why it did not run.
struct part {
  std::string id, name, title;  // name: "CHIEF"
  bool ran = false;
  std::string not_run_reason;  // why it did not run; empty: it ran
  std::string command;         // the command that runs it
  std::string answer;          // a clause for the verdict; empty: none
  std::vector<block> blocks;
  std::vector<origin> origins;
  std::vector<report::blamed> blamed;  // the most responsible first
  score_scale scale = score_scale::none;
  std::vector<suspicion> suspects;  // the answer first, then proven ones, then by score
  std::size_t candidates = 0;       // how many competed, also those that are not in `suspects`
  std::string json;                 // the method's own JSON value; empty: null
};

}  // namespace digd::report
