#include "report/picture/selection.h"
#include "tests/report/picture/support.h"

namespace digd::picture {

namespace {

const row* row_of(const model& m, row_kind kind, std::string_view event) {
  for (const row& r : m.rows) {
    if (r.kind == kind && r.event != none && m.events[r.event].id == event) return &r;
  }
  return nullptr;
}

std::vector<row_kind> kinds_of(const model& m) {
  std::vector<row_kind> kinds;
  for (const row& r : m.rows) kinds.push_back(r.kind);
  return kinds;
}

}  // namespace

TEST_CASE("rows_come_in_the_order_in_which_things_happened") {
  const model m = picture_of(troubled);
  CHECK(m.run == "r1");
  CHECK(m.mode == "enforce");
  CHECK(kinds_of(m) == std::vector<row_kind>{row_kind::event, row_kind::start, row_kind::event, row_kind::event,
                                             row_kind::event, row_kind::end, row_kind::start, row_kind::event,
                                             row_kind::end, row_kind::remedy});
}

TEST_CASE("a_delivery_to_one_outside_the_roster_is_lost_and_its_event_given_back") {
  const model m = picture_of(troubled);
  const row* r = row_of(m, row_kind::event, "e4");
  REQUIRE(r != nullptr);
  REQUIRE(r->to.size() == 2);
  CHECK(r->to[0].fate == fate::lost);
  CHECK(m.lanes[r->to[1].lane].name == "planner");
  CHECK(r->to[1].by_monitor);
  CHECK(r->injected);
  REQUIRE(r->findings.size() == 1);
  CHECK(code_of(m.findings[r->findings[0]].rule) == "OE");
}

TEST_CASE("an_answer_that_came_too_early_is_shown_as_given_back") {
  const model m = picture_of(troubled);
  const event& e5 = m.events[m.find_event("e5")];
  CHECK(e5.submit);
  CHECK(e5.given_back);
  CHECK(m.events[m.find_event("e3")].evidence.size() >= 1);
}

TEST_CASE("a_window_that_fires_leaves_a_remedy_to_everybody") {
  const model m = picture_of(troubled);
  const row& r = m.rows.back();
  CHECK(r.kind == row_kind::remedy);
  CHECK(r.ts == 2040);
  CHECK(m.events[r.event].system);
  CHECK(r.to.size() == 3);
}

TEST_CASE("the_fate_of_a_delivery_is_the_reaction_of_its_last_taker") {
  const model m = picture_of(reactions);
  const auto fate_of = [&](row_kind kind, std::string_view id) { return row_of(m, kind, id)->to.at(0).fate; };
  CHECK(fate_of(row_kind::event, "w") == fate::pending);  // waited, then failed: it is still there
  CHECK(fate_of(row_kind::event, "d") == fate::discarded);
  CHECK(fate_of(row_kind::event, "r") == fate::rerouted);
  CHECK(fate_of(row_kind::reroute, "r") == fate::taken);
  CHECK(m.events[m.find_event("never")].placeholder);
  CHECK(row_of(m, row_kind::event, "w")->to[0].taken_by.size() == 2);
}

TEST_CASE("the_words_of_a_payload_are_on_one_line") {
  const model m = picture_of(troubled);
  CHECK(m.events[m.find_event("e1")].text == "do it");
}

TEST_CASE("an_agent_filter_keeps_what_concerns_the_agent") {
  const model m = picture_of(troubled);
  const selection part = select(m, {.agents = {"coder"}});
  for (const index at : part.rows) {
    const row& r = m.rows[at];
    if (r.activation != none && r.kind != row_kind::event)
      CHECK(m.lanes[m.activations[r.activation].lane].name == "coder");
  }
  CHECK(part.lanes == std::vector<index>{m.find_lane("coder")});
}

TEST_CASE("around_an_event_are_its_maker_and_its_takers") {
  const model m = picture_of(troubled);
  const selection part = select(m, {.around = "e2"});
  std::vector<std::string> seen;
  for (const index at : part.rows) {
    if (m.rows[at].kind == row_kind::start) seen.push_back(m.activations[m.rows[at].activation].id);
  }
  CHECK(seen == std::vector<std::string>{"v1", "v2"});
}

TEST_CASE("a_filter_that_matches_nothing_gives_no_rows_or_a_note") {
  const model m = picture_of(troubled);
  CHECK(select(m, {.agents = {"nobody here"}}).rows.empty());
  CHECK(select(m, {.around = "no such"}).notes.front().find("no event") != std::string::npos);
}

TEST_CASE("a_picture_over_its_limit_shows_the_part_with_the_first_finding_and_states_that") {
  std::vector<std::string> lines{R"({"type":"hello","protocol":1,"run":"long","agents":["a"],"clock":"trace"})"};
  std::size_t seq = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string to = i == 200 ? "nobody" : "a";
    lines.push_back(R"({"type":"event","seq":)" + std::to_string(++seq) + R"(,"event":{"id":"e)" + std::to_string(i) +
                    R"(","recipients":[")" + to + R"("]}})");
  }
  const model m = picture_of(lines);
  const selection part = select(m, {.limit = 50});
  CHECK(part.nodes == 50);
  CHECK(part.has_row[200]);
  CHECK(part.findings.size() == 1);
  REQUIRE(part.notes.size() == 1);
  CHECK(part.notes[0].find("50 of 300") != std::string::npos);
}

TEST_CASE("a_limit_near_the_end_of_the_run_is_still_used_up") {
  std::vector<std::string> lines{R"({"type":"hello","protocol":1,"run":"long","agents":["a"],"clock":"trace"})"};
  for (int i = 1; i <= 100; ++i) {
    lines.push_back(R"({"type":"event","seq":)" + std::to_string(i) + R"(,"event":{"id":"e)" + std::to_string(i) +
                    R"(","recipients":[")" + (i == 100 ? "nobody" : "a") + R"("]}})");
  }
  CHECK(select(picture_of(lines), {.limit = 30}).nodes == 30);
}

}  // namespace digd::picture
