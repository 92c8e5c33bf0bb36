#include "ingest/importers/whowhen.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "ingest/importers/whowhen_text.h"
#include "tests/ingest/importers/trace_check.h"

using namespace digd::importers;
using namespace importer_tests;

namespace {

using names = std::vector<std::string>;

import_result imported(const std::string& file, const whowhen_options& options = {}) {
  auto outcome = import_whowhen(file, options);
  if (!outcome) FAIL(outcome.error().message);
  REQUIRE(trace_checker().check(outcome->lines) == "");
  return *outcome;
}

import_failure refused(const std::string& file, const whowhen_options& options = {}) {
  const auto outcome = import_whowhen(file, options);
  REQUIRE(outcome.has_error());
  return outcome.error();
}

std::string group_chat() { return fixture("whowhen_group_chat.json"); }
std::string orchestrated() { return fixture("whowhen_orchestrated.json"); }

// A log in the shape of the Algorithm-Generated subset: name and content of each step.
std::string log_of(const std::vector<std::pair<std::string, std::string>>& steps) {
  json::array history;
  for (const auto& [name, content] : steps) {
    history.push_back({{"name", name}, {"role", "user"}, {"content", content}});
  }
  return json::serialize(json::object{{"question", "Q?"}, {"is_correct", false}, {"history", history}});
}

}  // namespace

TEST_CASE("the_question_is_a_root_event_for_the_first_speaker") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(trace.recipients("question") == names{"Map_Expert"});
  REQUIRE(trace.infers("question", "recipients"));
  REQUIRE(trace.inputs("a0") == names{"question"});
  REQUIRE(trace.reaction("a0", "question") == "consume");
}

TEST_CASE("a_step_of_the_user_is_a_root_event_and_no_agents_activation") {
  const trace_view trace(imported(orchestrated()).lines);
  REQUIRE(text(trace.event("s0").at("kind")) == "question");
  REQUIRE(trace.recipients("s0") == names{"Orchestrator"});
  REQUIRE_FALSE(trace.has_event("question"));
  for (const auto& name : texts(trace.hello().at("agents"))) REQUIRE(name != "human");
}

TEST_CASE("an_address_in_the_role_is_a_stated_recipient_and_the_only_one") {
  const trace_view trace(imported(orchestrated()).lines);
  REQUIRE(trace.recipients("s2") == names{"WebSurfer"});
  REQUIRE_FALSE(trace.infers("s2", "recipients"));
}

TEST_CASE("an_address_in_the_text_is_stated_and_the_next_speaker_is_inferred") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(trace.recipients("s1") == names{"Coast_Expert", "Computer_terminal"});
  REQUIRE(trace.infers("s1", "recipients"));
  REQUIRE(texts(trace.event("s1").at("basis").at("next_speaker")) == names{"Computer_terminal"});
}

TEST_CASE("a_terminal_without_code_discards_and_the_message_stays_for_the_next_speaker") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(trace.reaction("a2", "s1") == "discard");
  REQUIRE(trace.flag("s2", "fyi"));
  REQUIRE(trace.inputs("a3") == names{"s1"});
  REQUIRE(trace.reaction("a3", "s1") == "consume");
}

TEST_CASE("who_speaks_after_a_terminal_without_code_was_given_the_message_too") {
  const std::string notice = "There is no code from the last 1 message for me to execute.";
  const trace_view trace(imported(log_of({{"A", "go on"}, {"T", notice}, {"B", "I do"}, {"A", "TERMINATE"}})).lines);
  REQUIRE(trace.recipients("s0") == names{"T", "B"});
  REQUIRE(trace.inputs("a2") == names{"s0"});
}

TEST_CASE("an_agent_that_speaks_again_goes_on_from_its_own_message") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(trace.recipients("s0") == names{"Map_Expert"});
  REQUIRE(trace.inputs("a1") == names{"s0"});
}

TEST_CASE("a_thought_waits_and_asks_nothing_of_anyone") {
  const trace_view trace(imported(orchestrated()).lines);
  REQUIRE(trace.reaction("a1", "s0") == "wait");
  REQUIRE(trace.flag("s1", "fyi"));
  REQUIRE(trace.recipients("s1").empty());
  REQUIRE(trace.inputs("a2") == names{"s0"});  // still there for the step that acts
}

TEST_CASE("an_agent_that_acts_with_nothing_new_goes_on_from_what_it_took_up_last") {
  const auto result = imported(orchestrated());
  const trace_view trace(result.lines);
  REQUIRE(trace.inputs("a6") == names{"s4"});
  REQUIRE(trace.inputs("a8") == names{"s4"});  // FileSurfer never replied
  REQUIRE(trace_view::lists(trace.start("a8"), "inputs"));
  REQUIRE(result.counts.remembered_inputs == 1);
}

TEST_CASE("only_the_step_that_ended_the_run_submits") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE_FALSE(trace.flag("s5", "submit"));  // proposed to end, but the talk continued
  REQUIRE(trace.flag("s6", "submit"));
  REQUIRE(trace.recipients("s6").empty());
}

TEST_CASE("a_final_answer_submits_from_any_author_of_the_last_step") {
  const trace_view trace(imported(orchestrated()).lines);
  REQUIRE(trace.flag("s10", "submit"));
  REQUIRE(text(trace.event("s10").at("kind")) == "answer");
}

TEST_CASE("a_log_that_submits_ends_at_its_last_step") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(text(trace.last().at("type")) == "run_ended");
  REQUIRE(text(trace.last().at("outcome")) == "failure");
  REQUIRE(trace.last().at("ts").to_number<int>() == 7000);
}

TEST_CASE("a_log_that_stops_without_an_answer_is_followed_by_silence") {
  const auto file = log_of({{"A", "Run this:\n```python\n1\n```"}, {"T", "exitcode: 0 (ok)"}, {"A", "```sh\nls\n```"}});
  const trace_view trace(imported(file).lines);
  REQUIRE(trace.recipients("s2") == names{"T"});  // who ran code before
  const auto& silence = trace.messages()[trace.messages().size() - 2];
  REQUIRE(text(silence.at("type")) == "time");
  REQUIRE(silence.at("ts").to_number<int>() == 3000 + 15000);

  whowhen_options quiet;
  quiet.quiet_ms = 0;
  const trace_view without(imported(file, quiet).lines);
  REQUIRE(text(without.messages()[without.messages().size() - 2].at("type")) == "activation_ended");
}

TEST_CASE("agents_are_active_from_the_first_step_to_the_last_so_that_import_alone_makes_no_pause") {
  const trace_view trace(imported(orchestrated()).lines);
  std::int64_t idle_since = 0;
  for (const auto& message : trace.messages()) {
    const auto type = text(message.at("type"));
    if (type == "activation_started") REQUIRE(message.at("ts").to_number<std::int64_t>() - idle_since <= 1000);
    if (type == "activation_ended") idle_since = message.at("ts").to_number<std::int64_t>();
  }
}

TEST_CASE("a_last_message_without_code_or_address_is_for_the_whole_group") {
  const trace_view trace(imported(log_of({{"A", "one"}, {"B", "two"}, {"C", "What now?"}})).lines);
  REQUIRE(trace.recipients("s2") == names{"A", "B"});
  REQUIRE(texts(trace.event("s2").at("basis").at("group")) == names{"A", "B"});
}

TEST_CASE("a_last_message_goes_back_to_the_agent_that_gave_the_instruction") {
  const std::string file =
      R"x({"history":[{"role":"human","content":"Q"},{"role":"Boss (-> W)","content":"go"},
    {"role":"W","content":"done"},{"role":"Boss (-> V)","content":"check"},{"role":"V","content":"unsure"}]})x";
  const trace_view trace(imported(file).lines);
  REQUIRE(trace.recipients("s4") == names{"Boss"});
  REQUIRE(trace.event("s4").at("basis").as_object().contains("reply"));
}

TEST_CASE("a_lone_agents_last_message_is_not_an_orphan") {
  const trace_view trace(imported(log_of({{"A", "one"}, {"A", "two"}})).lines);
  REQUIRE(trace.flag("s1", "fyi"));
}

TEST_CASE("the_annotation_never_reaches_the_trace") {
  for (auto file : {group_chat(), orchestrated()}) {
    const auto before = imported(file).lines;
    for (const auto& line : before) {
      REQUIRE(line.find("SECRET") == std::string::npos);
      REQUIRE(line.find("mistake") == std::string::npos);
    }
    auto other = json::parse(file).as_object();
    other["mistake_agent"] = "Nobody";
    other["mistake_step"] = "0";
    other["ground_truth"] = "other";
    REQUIRE(imported(json::serialize(other)).lines == before);
  }
}

TEST_CASE("the_labels_name_source_subset_and_question") {
  const trace_view trace(imported(orchestrated()).lines);
  const auto& labels = trace.hello().at("labels").as_object();
  REQUIRE(text(labels.at("source")) == "whowhen");
  REQUIRE(text(labels.at("subset")) == "hand_crafted");
  REQUIRE(text(labels.at("question_id")) == "invented-2");
  REQUIRE(text(trace.hello().at("run")) == "whowhen-hc-invented-2");
  REQUIRE(text(trace.hello().at("mode")) == "observe");
}

TEST_CASE("a_configured_agent_that_never_speaks_is_in_the_roster") {
  const trace_view trace(imported(group_chat()).lines);
  REQUIRE(texts(trace.hello().at("agents")) ==
          names{"Map_Expert", "Computer_terminal", "Coast_Expert", "Silent_Expert"});
}

TEST_CASE("every_step_is_one_event_with_its_text") {
  const trace_view trace(imported(orchestrated()).lines);
  REQUIRE(trace.event_count() == 11);
  REQUIRE(text(trace.event("s4").at("payload").at("text")) == "I found a timetable of last year.");
  REQUIRE(trace.event("s4").at("payload").at("step").to_number<int>() == 4);
}

TEST_CASE("stated_and_inferred_links_are_counted_separately") {
  const auto counts = imported(orchestrated()).counts;
  REQUIRE(counts.recipients.stated == 3);
  REQUIRE(counts.recipients.inferred == 3);
  REQUIRE(counts.thoughts == 4);
  REQUIRE(counts.submits.stated == 1);
  REQUIRE(counts.links().stated == 3 + 10 + 1);  // recipients, sources, the submit
  const auto words = describe(counts);
  REQUIRE(words.find("14 stated") != std::string::npos);
  REQUIRE(words.find("recipients 3/3") != std::string::npos);
}

TEST_CASE("names_the_protocol_does_not_allow_are_cut_and_stay_apart") {
  const std::string longer(300, 'n');
  const auto result = imported(log_of({{longer + "1", "a"}, {longer + "2", "b"}, {longer + "1", "TERMINATE"}}));
  const trace_view trace(result.lines);
  const auto agents = texts(trace.hello().at("agents"));
  REQUIRE(agents.size() == 2);
  REQUIRE(agents[0] != agents[1]);
  REQUIRE(agents[0].size() == 256);
  REQUIRE(result.counts.renamed == 2);
}

TEST_CASE("a_text_too_long_for_a_message_is_cut_between_characters_and_counted") {
  std::string huge(700'000, '\n');
  for (int i = 0; i < 300'000; ++i) huge += "ä";
  const auto result = imported(log_of({{"A", huge}, {"B", "TERMINATE"}}));
  REQUIRE(result.counts.cut_payloads == 1);
  REQUIRE(trace_view(result.lines).event("s0").at("payload").as_object().contains("cut_from_bytes"));
}

TEST_CASE("bad_logs_are_refused_with_the_place_and_what_was_expected") {
  REQUIRE(refused("{").code == import_errc::bad_json);
  REQUIRE(refused("[]").code == import_errc::wrong_shape);
  REQUIRE(refused("{}").message == "history: expected an array, found nothing");
  REQUIRE(refused(R"({"history":[]})").message == "history: expected at least one step");
  REQUIRE(refused(R"({"history":[1]})").message == "history[0]: expected an object");
  REQUIRE(refused(R"({"history":[{"name":"A"}]})").message == "history[0].content: expected a string, found nothing");
  REQUIRE(refused(R"({"history":[{"content":"x","role":7}]})").message ==
          "history[0].role: expected a string, found a number");
  REQUIRE(refused(R"({"history":[{"content":"x","name":""}]})").code == import_errc::wrong_value);
  REQUIRE(refused(R"({"is_correct":"no","history":[{"content":"x","name":"A"}]})").message ==
          "is_correct: expected a boolean, found a string");
  REQUIRE(refused(std::string(200, '[')).code == import_errc::bad_json);
  REQUIRE(refused(R"({"history":[]} x)").code == import_errc::bad_json);
}

TEST_CASE("limits_and_options_out_of_range_are_refused") {
  whowhen_options options;
  options.max_items = 2;
  REQUIRE(refused(group_chat(), options).code == import_errc::too_large);
  options = {};
  options.max_bytes = 10;
  REQUIRE(refused(group_chat(), options).code == import_errc::too_large);
  options = {};
  options.step_ms = 0;
  REQUIRE(refused(group_chat(), options).code == import_errc::bad_option);
  options.step_ms = 300'000;  // as long as an activation may be silent before it stalls
  REQUIRE(refused(group_chat(), options).code == import_errc::bad_option);
}

namespace {

// `grade`: the log's `is_correct`, or nothing.
std::string graded(const std::string& grade, const std::string& last) {
  const std::string member = grade.empty() ? "" : R"("is_correct":)" + grade + ",";
  return "{" + member + R"("history":[{"name":"A","content":"hello"},{"name":"B","content":")" + last + R"("}]})";
}

}  // namespace

TEST_CASE("the_outcome_is_the_grade_or_else_whether_there_is_an_answer") {
  const auto last_of = [](const std::string& file) -> json::object { return trace_view(imported(file).lines).last(); };
  REQUIRE(text(last_of(graded("true", "hm")).at("outcome")) == "success");
  REQUIRE(text(last_of(graded("false", "TERMINATE")).at("outcome")) == "failure");
  REQUIRE(text(last_of(graded("", "TERMINATE")).at("outcome")) == "success");
  REQUIRE(text(last_of(graded("", "hm")).at("type")) == "time");  // nobody knows
}

TEST_CASE("a_log_graded_as_correct_is_not_followed_by_silence") {
  const auto result = imported(graded("true", "hm"));
  const trace_view trace(result.lines);
  for (const auto& message : trace.messages()) REQUIRE(text(message.at("type")) != "time");
}

TEST_CASE("a_log_without_an_answer_and_without_silence_was_cut_off") {
  const auto result = imported(graded("false", "hm"), {.quiet_ms = 0});
  REQUIRE(text(trace_view(result.lines).last().at("outcome")) == "aborted");
}

TEST_CASE("damaged_logs_are_refused_or_give_a_trace_the_engine_accepts") {
  for (const auto& whole : {group_chat(), orchestrated()}) {
    try_damaged(whole, 1500, [](const std::string& file) {
      const auto outcome = import_whowhen(file);
      if (outcome) {
        REQUIRE(trace_checker().check(outcome->lines) == "");
      } else {
        REQUIRE(outcome.error().code != import_errc::internal);
        REQUIRE_FALSE(outcome.error().message.empty());
      }
    });
  }
}

TEST_CASE("roles_come_apart_into_agent_address_and_form") {
  REQUIRE(parse_role("Orchestrator (-> WebSurfer)").agent == "Orchestrator");
  REQUIRE(parse_role("Orchestrator (-> WebSurfer)").addressee == "WebSurfer");
  REQUIRE(parse_role("Orchestrator (thought)").form == step_form::thought);
  REQUIRE(parse_role("Orchestrator (termination condition)").form == step_form::termination);
  REQUIRE(parse_role("WebSurfer (retry)").agent == "WebSurfer");
  REQUIRE(parse_role("(thought)").agent == "(thought)");
  REQUIRE(parse_role("human").form == step_form::human);
}

TEST_CASE("a_quoted_terminate_ends_nothing") {
  REQUIRE(ends_with_terminate("Done.\n\nTERMINATE"));
  REQUIRE(ends_with_terminate("**TERMINATE**\n"));
  REQUIRE_FALSE(ends_with_terminate("reply me only with \"TERMINATE\""));
  REQUIRE_FALSE(ends_with_terminate("EXTERMINATE"));
  REQUIRE_FALSE(ends_with_terminate("TERMINATE the loop"));
  REQUIRE(has_final_answer("log line\nFINAL ANSWER: 3"));
  REQUIRE_FALSE(has_final_answer("give the FINAL ANSWER: form"));
}

TEST_CASE("a_mere_mention_addresses_nobody") {
  const std::vector<std::string_view> texts{"A_Expert", "B_Expert"};
  using found = std::vector<std::string_view>;
  REQUIRE(addressed_names("Hi.\n\n**B_Expert**, please check.", texts, "A_Expert") == found{"B_Expert"});
  REQUIRE(addressed_names("Good. B_Expert, go on.", texts, "A_Expert") == found{"B_Expert"});
  REQUIRE(addressed_names("ask @B_Expert about it", texts, "A_Expert") == found{"B_Expert"});
  REQUIRE(addressed_names("Thank you, B_Expert, for that", texts, "A_Expert").empty());
  REQUIRE(addressed_names("B_Expert was right", texts, "A_Expert").empty());
  REQUIRE(addressed_names("B_Experts, please", texts, "A_Expert").empty());
  REQUIRE(addressed_names("A_Expert, think!", texts, "A_Expert").empty());
}

TEST_CASE("the_logs_in_DIGD_WHOWHEN_DIR_all_import") {
  const char* directory = std::getenv("DIGD_WHOWHEN_DIR");
  if (!directory) return;
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    imported(read_file(entry.path()));
    ++logs;
  }
  REQUIRE(logs > 0);
}
