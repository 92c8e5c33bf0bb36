// A report as what stands in it: sections of words, tables and pictures. Made by `compose` and by the passes that
// attribute; written by `html.h` and `markdown.h`, which know nothing of runs.
//
// Texts are as agents chose them; writers escape them. Pictures are SVG made by picture/, escaped already.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace digd::report {

struct column {
  std::string name;
  bool number = false;  // to the right
};

struct table {
  std::string caption;
  std::vector<column> columns;
  std::vector<std::vector<std::string>> rows;  // the first cell of each names the row
  std::string left_out;                        // what is not in it, in words; empty: nothing
};

struct figure {
  std::string title;
  std::string caption;  // what is to be seen, for those too who do not see it
  std::string svg;
};

struct block {
  enum class kind { text, note, command, list, picture, table, details } kind = kind::text;
  std::string text;                // text, note, command; of details: the summary
  std::vector<std::string> items;  // list
  report::figure figure;
  report::table table;
  std::vector<block> inside;  // details
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

struct document {
  std::string title;
  std::string run;
  std::vector<std::string> verdict;  // two sentences
  bool failed = false;               // the run failed, or not all that was found is known to have cleared
  std::vector<fact> facts;
  std::vector<section> sections;
};

// How a number was made.
struct origin {
  std::string number, text, source;  // source: paper and equation, or the document that defines it
};

// A place in the run that a pass holds responsible.
struct blamed {
  std::string activation, event;  // either may be empty
  std::string why;                // a clause
};

// What one pass has to say, or why it has not.
struct part {
  std::string id, title;
  bool ran = false;
  std::string why_not;  // if it did not run
  std::string command;  // that runs it
  std::string answer;   // a clause for the verdict; empty: none
  std::vector<block> blocks;
  std::vector<origin> origins;
  std::vector<report::blamed> blamed;  // most first
  std::string json;                    // the pass's own, one value; empty: null
};

}  // namespace digd::report
