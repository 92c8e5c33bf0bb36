#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "report/compose.h"
#include "report/html.h"
#include "report/text.h"
#include "report/words.h"
#include "tests/report/picture/support.h"

namespace digd::report {

namespace {

struct whole {
  gathered from;
  std::vector<part> parts;
  digd::report::document document;
};

whole report_of(const std::vector<std::string>& lines,
                std::vector<part> parts = not_run("trace.jsonl", "told not to.")) {
  whole out{.from = gather([&](const std::function<bool(std::string_view)>& each) {
              for (const std::string& line : lines) each(line);
              return std::string();
            }),
            .parts = std::move(parts),
            .document = {}};
  REQUIRE(out.from.problem.empty());
  out.document = compose(out.from, out.parts, "trace.jsonl");
  return out;
}

bool has(std::string_view text, std::string_view given_text) { return text.find(given_text) != std::string_view::npos; }

// Tags as they open and close; void ones are left out.
bool balanced(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    if (html.substr(at, 2) == "<!") continue;
    const std::size_t end = html.find('>', at);
    const bool closes = html[at + 1] == '/';
    const std::size_t begin = at + 1 + closes;
    const std::string name(html.substr(begin, html.find_first_of(" />\n", begin) - begin));
    if (name == "meta" || name == "br" || html[end - 1] == '/') continue;
    if (name == "script" || name == "style") {
      at = html.find("</" + name + ">", at);
      continue;
    }
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace

std::string answer_to(const whole& r, std::string_view question) {
  for (const answer_line& line : r.document.answers) {
    if (line.question == question) return line.text;
  }
  FAIL("no answer to " << question);
  return {};
}

part naming_the_coder() {
  part out{.id = "responsibility", .name = "Shapley values", .ran = true, .command = "x", .answer = "the coder did it"};
  out.scale = score_scale::shapley;
  out.candidates = 2;
  out.suspects.resize(1);
  out.suspects[0].agent = "coder";
  out.suspects[0].place = "activation c1";
  out.suspects[0].activation = "c1";
  out.suspects[0].quote = "Done. All tests pass.";
  out.suspects[0].evidence = "without it the risk falls by 3";
  out.suspects[0].score = 3;
  out.origins.push_back({"φ", "by counting", "eq. 2"});
  return out;
}

const std::string greeting =
    R"({"type":"hello","protocol":1,"run":"r","clock":"trace","mode":"observe","agents":["a","coder"]})";
const std::string lost_task =
    R"({"type":"event","seq":1,"ts":1,"event":{"id":"task","recipients":["ghost"],"payload":{"text":"Fix the crash."}}})";
std::string end_of(const std::string& outcome) {
  return R"({"type":"run_ended","seq":2,"ts":5,"outcome":")" + outcome + "\"}";
}

TEST_CASE("a_run_without_detections_says_that_nothing_was_found_and_nobody_is_blamed") {
  const whole fine = report_of({R"({"type":"hello","protocol":1,"run":"fine","clock":"trace","agents":["a"]})",
                                R"({"type":"run_ended","seq":1,"ts":5,"outcome":"success"})"});
  CHECK(answer_to(fine, "What went wrong?") ==
        "Nothing was found. The run succeeded after 0 ms; no rule fired in its 1 message of 1 agent.");
  CHECK(answer_to(fine, "Who?") == "The run succeeded; nobody is blamed.");
  CHECK(answer_to(fine, "What now?") == "Nothing.");
  CHECK_FALSE(fine.document.failed);
}

TEST_CASE("a_failed_run_without_detections_is_not_called_fine") {
  const whole r = report_of({greeting, R"({"type":"run_ended","seq":1,"ts":5,"outcome":"failure"})"});
  CHECK(answer_to(r, "What went wrong?") ==
        "The run failed after 0 ms. No rule fired in its 1 message of 2 agents: digd saw no failure of collaboration, "
        "so look at what the agents said.");
  CHECK(answer_to(r, "What now?") == "`digctl report trace.jsonl` looks for the responsible agent and step.");
  CHECK(r.document.failed);
}

TEST_CASE("an_unhealed_detection_is_answered_with_its_sentence_the_advice_of_its_rule_and_where_to_look") {
  const whole r = report_of({greeting, lost_task, end_of("failure")});
  const std::string wrong = answer_to(r, "What went wrong?"), now = answer_to(r, "What now?");
  CHECK(has(wrong, "The run failed after 4 ms. digd detected an orphaned event, and did not heal it."));
  CHECK(has(wrong, "It came at 0 ms: The event \"task\" reaches nobody"));
  CHECK(has(now, "Check the names agents address"));
  CHECK(has(now, "in mode enforce it also heals"));
  CHECK(has(now, "`digctl show trace.jsonl --around task` shows it"));
}

TEST_CASE("an_answer_cuts_a_long_list_of_events_which_the_evidence_has_in_full") {
  std::string many = lost_task;
  const std::string ghosts = R"("ghost-of-a-long-name-1","ghost-of-a-long-name-2","ghost-of-a-long-name-3",)"
                             R"("ghost-of-a-long-name-4","ghost-of-a-long-name-5","ghost-of-a-long-name-6")";
  many.replace(many.find("\"ghost\""), sizeof("\"ghost\"") - 1, ghosts);
  const whole r = report_of({greeting, many, end_of("failure")});
  const std::string wrong = answer_to(r, "What went wrong?");
  CHECK(has(wrong, "\"ghost-of-a-long-name-1\""));
  CHECK_FALSE(has(wrong, "\"ghost-of-a-long-name-6\""));
  CHECK(wrong.ends_with("\", …"));
  CHECK(has(to_html(r.document), "ghost-of-a-long-name-6"));
}

TEST_CASE("times_in_a_report_count_from_the_first_message") {
  const whole r = report_of({greeting, R"({"type":"time","seq":1,"ts":1780000000000})",
                             R"({"type":"event","seq":2,"ts":1780000001250,"event":{"id":"task","recipients":["b"]}})",
                             R"({"type":"run_ended","seq":3,"ts":1780000229000,"outcome":"failure"})"});
  CHECK(has(answer_to(r, "What went wrong?"), "It came at 1.3 s: "));
  CHECK(has(to_html(r.document), "orphaned event at 1.3 s"));
  CHECK(has(answer_to(r, "What went wrong?"), "The run failed after 3 min 49 s."));
}

// A log that names no recipients, as an importer writes it.
const std::vector<std::string> guessed = {
    R"({"type":"hello","protocol":1,"run":"r","clock":"trace","mode":"observe","agents":["a","coder"],"inferred":["ts"]})",
    R"({"type":"event","seq":1,"ts":1,"event":{"id":"task","recipients":["ghost"],"inferred":["recipients"]}})",
    end_of("failure")};

TEST_CASE("what_an_importer_guessed_is_called_a_guess_and_blames_nobody_by_shapley_values") {
  const whole r = report_of(guessed, {naming_the_coder()});
  CHECK(r.from.seen.guessed.links);
  CHECK(r.from.seen.guessed.times);
  CHECK(answer_to(r, "What went wrong?") ==
        "The run failed. In the links that the importer inferred, digd detected an orphaned event: The event \"task\" "
        "reaches nobody: it was given to \"ghost\", and no agent can consume it any more.");
  CHECK(answer_to(r, "Who?") == "Nobody stands out; who got which event is guessed, so Shapley values name nobody.");
  CHECK(answer_to(r, "What now?") == "Read the run step by step: `digctl show trace.jsonl`.");
  CHECK(has(to_markdown(r.document), "the importer inferred it. Detections can be wrong."));
  CHECK(has(to_markdown(r.document), "| took | unknown |"));
  part chief = naming_the_coder();
  chief.scale = score_scale::probability;
  chief.suspects.front().score = 0.9;
  const whole named = report_of(guessed, {chief});
  CHECK(has(answer_to(named, "Who?"), "Most likely coder"));
  CHECK(answer_to(named, "What now?") == "Check the named step first; section Who has the next ones.");
}

TEST_CASE("the_label_that_an_archive_keeps_of_a_log_without_times_is_enough") {
  const whole r = report_of(
      {R"({"type":"hello","protocol":1,"run":"r","clock":"trace","agents":["a"],"labels":{"times":"inferred"}})",
       R"({"type":"event","seq":1,"ts":1,"event":{"id":"t","recipients":["a"]}})"});
  CHECK(r.from.seen.guessed.times);
  CHECK_FALSE(r.from.seen.guessed.links);
}

TEST_CASE("a_payload_that_speaks_of_inferred_links_is_no_guess") {
  const whole r = report_of({greeting, R"({"type":"event","seq":1,"ts":1,"event":{"id":"t","recipients":["a"],)"
                                       R"("payload":{"inferred":["recipients"]}}})"});
  CHECK_FALSE(r.from.seen.guessed.links);
}

TEST_CASE("an_open_run_without_a_failure_blames_nobody_though_a_pass_ranks") {
  const whole r = report_of({greeting, R"({"type":"event","seq":1,"ts":1,"event":{"id":"t","recipients":["a"]}})"},
                            {naming_the_coder()});
  CHECK(answer_to(r, "Who?") == "Nothing is known to have failed; nobody is blamed.");
}

TEST_CASE("a_run_without_messages_has_an_answer_and_no_empty_sections") {
  const whole r = report_of({greeting});
  CHECK(answer_to(r, "What went wrong?") == "Nothing has happened yet. A client said hello and sent no message since.");
  CHECK(r.document.sections.empty());
  CHECK(balanced(to_html(r.document)));
}

TEST_CASE("each_method_lists_its_candidates_once") {
  part p = naming_the_coder();
  block candidates = block::words("of all activations coder's");
  candidates.ranks = true;
  p.blocks = {candidates, block::words("how it was computed")};
  const std::string asked = to_html(report_of({greeting, lost_task, end_of("failure")}, {p}).document);
  CHECK_FALSE(has(asked, "of all activations coder's"));
  CHECK(has(asked, "how it was computed"));
  CHECK(has(asked, "Candidates by Shapley values"));
  const std::string fine = to_html(report_of({greeting, lost_task, end_of("success")}, {p}).document);
  CHECK(has(fine, "of all activations coder&#39;s"));
}

TEST_CASE("a_candidate_that_is_not_the_most_probable_has_its_reason_below_the_table") {
  part p = naming_the_coder();
  p.scale = score_scale::probability;
  p.suspects.push_back(p.suspects.front());
  p.candidates = 40;
  p.suspects[0].score = 0.24, p.suspects[1].score = 0.29;
  p.suspects[0].agent_score = 0.6, p.suspects[0].next_agent_score = 0.3;
  const whole r = report_of({greeting, lost_task, end_of("failure")}, {p});
  CHECK(has(answer_to(r, "Who?"), "(the agent 60 %, next 30 %; its step 24 %)"));
  CHECK(has(to_html(r.document),
            "Activation c1 comes first although another step is more probable: all steps of its agent together have 60 "
            "%, and those of the next agent 30 %."));
}

TEST_CASE("a_quote_keeps_its_own_quotation_marks_and_no_control_character") {
  CHECK(quotable("say \"hi\" to C:\\x", 60) == "say \"hi\" to C:\\x");
  CHECK(quotable("\u202e\x1b[1m", 60) == "\\u202e\\u001b[1m");
  CHECK(quotable("abcdef", 4) == "abc…");
}

TEST_CASE("every_cause_why_digd_did_not_heal_has_words") {
  for (std::size_t c = 1; c < cause_count; ++c) CHECK_FALSE(cause_words(static_cast<cause>(c)).empty());
  const std::string md = to_markdown(report_of({greeting, lost_task, end_of("failure")}).document);
  CHECK(has(md, "the mode only reports (1)"));
  CHECK(has(md, "Not healed: the mode only reports."));
}

TEST_CASE("commands_of_digctl_are_code_and_other_backticks_are_text") {
  const whole r = report_of({greeting, lost_task, end_of("failure")});
  CHECK(has(to_html(r.document), "<code>digctl show trace.jsonl --around task</code> shows it"));
  CHECK(has(to_markdown(r.document), "`digctl show trace.jsonl --around task` shows it"));
  CHECK(command_at("run `rm -rf` now", 4).empty());
  CHECK(command_at("`digctl show <b>`", 0).empty());
  CHECK(command_at("`digctl show", 0).empty());
}

TEST_CASE("a_detection_quotes_what_its_event_says_where_the_payload_was_kept") {
  CHECK(has(to_html(report_of({greeting, lost_task, end_of("failure")}).document), "Fix the crash."));
  std::string without_text = lost_task;
  without_text.replace(without_text.find("{\"text\""), sizeof(R"({"text":"Fix the crash."})") - 1, "{}");
  const std::string html = to_html(report_of({greeting, without_text, end_of("failure")}).document);
  CHECK_FALSE(has(html, "What task says"));
}

TEST_CASE("a_failed_run_names_the_suspect_of_a_pass_and_lists_it_first_in_the_table_below") {
  const part not_done{
      .id = "decisive-error", .name = "CHIEF", .not_run_reason = "too long.", .command = "digctl attribute chief r1"};
  const whole r = report_of({greeting, lost_task, end_of("failure")}, {naming_the_coder(), not_done});
  CHECK(has(answer_to(r, "Who?"), "Most likely coder, activation c1"));
  CHECK(has(answer_to(r, "Who?"), "Done. All tests pass."));
  const auto who = std::find_if(r.document.sections.begin(), r.document.sections.end(),
                                [](const section& s) { return s.id == "who"; });
  REQUIRE(who != r.document.sections.end());
  CHECK(who->blocks.front().table.rows.front().front() == "coder");
  const std::string html = to_html(r.document);
  CHECK(has(html, "Not run: too long."));
  CHECK(has(html, "digctl attribute chief r1"));
  CHECK(has(html, "eq. 2"));
}

TEST_CASE("a_run_that_succeeded_names_no_culprit_anywhere_outside_the_method") {
  const whole r = report_of({greeting, lost_task, end_of("success")}, {naming_the_coder()});
  CHECK(has(answer_to(r, "Who?"), "nobody is blamed"));
  document shown = r.document;
  shown.sections.pop_back();
  CHECK(r.document.sections.back().id == "method");
  for (const std::string& text : {to_html(shown), to_markdown(shown)}) {
    CHECK_FALSE(has(text, "Held responsible"));
    CHECK_FALSE(has(text, "Candidates by"));
    CHECK_FALSE(has(text, "Most likely"));
  }
}

TEST_CASE("the_page_is_whole_asks_for_nothing_and_names_its_parts_for_those_who_do_not_see_it") {
  const whole r = report_of(picture::troubled);
  const std::string html = to_html(r.document);
  CHECK(balanced(html));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url(", "<link", "<iframe", "<img"}) {
    INFO(outside);
    CHECK_FALSE(has(html, outside));
  }
  for (const char* inside :
       {"default-src 'none'", "<html lang=\"en\">", "class=\"skip\"", "prefers-color-scheme:dark", "@media print",
        "prefers-reduced-motion", "scope=\"col\"", "scope=\"row\"", "<caption", "<title>", "<desc", "aria-label"}) {
    INFO(inside);
    CHECK(has(html, inside));
  }
}

TEST_CASE("hostile_names_form_no_markup_in_any_format") {
  const whole r = report_of(picture::hostile());
  const std::string html = to_html(r.document), md = to_markdown(r.document),
                    json = to_json(r.from, r.parts, r.document);
  CHECK(balanced(html));
  CHECK_FALSE(has(html, "<script>alert"));
  CHECK(has(html, "&lt;script&gt;alert"));
  CHECK_FALSE(has(html, "\u202e"));
  CHECK_FALSE(has(md, "<script>"));
  CHECK_FALSE(has(md, "\u202e"));
  CHECK_FALSE(has(md, "\x1b"));
  CHECK_NOTHROW(boost::json::parse(json));
}

TEST_CASE("the_JSON_of_a_small_run_is_this") {
  const whole r = report_of(picture::troubled);
  std::ifstream file(DIGD_SOURCE_DIR "/tests/report/troubled.json");
  std::stringstream expected;
  expected << file.rdbuf();
  boost::json::object object = boost::json::parse(to_json(r.from, r.parts, r.document)).as_object();
  CHECK(object.at("passes").at("causes").at("ran") == false);
  object.erase("passes");
  CHECK(object == boost::json::parse(expected.str()));
}

TEST_CASE("a_suggested_command_can_be_typed_as_printed") {
  CHECK(on_command_line("run-1.jsonl") == "run-1.jsonl");
  CHECK(on_command_line("it's; rm -rf /") == "'it'\\''s; rm -rf /'");
  CHECK(on_command_line("-x") == "-- -x");
}

}  // namespace digd::report
