// People's judgements of detections: stored with them, replaced by later ones, deleted with the run.
#include "archive/browser.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

constexpr std::int64_t monday = 1'763'942'400'000;  // 2025-11-24, UTC
constexpr std::int64_t day_ms = 86'400'000;

detection_row observed_detection(const std::string& rule, const std::string& subject, bool healed = false) {
  detection_row made;
  made.rule = rule;
  made.severity = "failure";
  made.healed = healed;
  made.healing = "reroute";
  if (!healed) made.cause = "mode";
  made.subject = subject;
  made.place = subject + " → nobody";
  made.json = R"({"reason":"because of )" + subject + "\"}";
  return made;
}

entry judgement(std::uint64_t run, std::int64_t detection, const std::string& opinion, std::uint64_t ticket,
                const std::string& by = "ann") {
  entry made;
  made.kind = entry_kind::judgement;
  made.run_number = run;
  made.arrived_ms = monday + 2 * day_ms;
  made.opinion = std::make_shared<const judgement_row>(judgement_row{detection, opinion, by, ticket});
  return made;
}

// Two runs. The first has three detections, two of them of one message.
struct judged {
  temporary_folder folder;
  reports seen;
  std::unique_ptr<archive> a = open_archive(folder.file(), seen);
  std::unique_ptr<producer> p = a->make_producer();
  std::unique_ptr<browser> b = *browser::open(folder.file());

  judged() {
    push(*p, opening(1, "r1"));
    entry found = message(1, 1);
    found.type = "activation_started";
    found.arrived_ms = monday + 6 * day_ms;  // Sunday
    found.detections = {observed_detection("orphaned_event", "critic"), observed_detection("orphaned_event", "writer")};
    push(*p, found);
    entry later = message(1, 2);
    later.arrived_ms = monday + 7 * day_ms;  // the next Monday
    later.detections = {observed_detection("orphaned_event", "critic", true)};
    push(*p, later);
    push(*p, opening(2, "r2"));
    entry other = message(2, 1);
    other.arrived_ms = monday;
    other.detections = {observed_detection("deadlock", "planner")};
    push(*p, other);
    REQUIRE(seen.wait_for_durable(2, 1));
  }
  void judge(std::uint64_t run, std::int64_t id, const std::string& opinion, std::uint64_t ticket) {
    push(*p, judgement(run, id, opinion, ticket));
    REQUIRE(seen.wait_for_judgement(ticket));
  }
  std::int64_t ask(const std::string& sql) { return testing::ask(folder.file(), sql); }
};

}  // namespace

TEST_CASE("a_detection_is_found_by_its_entry_and_its_place_in_it", "[archive]") {
  judged at;
  const auto rows = good(at.b->detections(1, 0, 10));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].entry == rows[1].entry);
  CHECK(rows[0].place_in_entry == 1);
  CHECK(rows[1].place_in_entry == 2);
  CHECK(rows[2].place_in_entry == 1);
  for (const auto& item : rows) CHECK(good(at.b->find_detection(1, item.entry, item.place_in_entry)) == item.id);
  CHECK_FALSE(good(at.b->find_detection(1, rows[0].entry, 3)));
  CHECK_FALSE(good(at.b->find_detection(2, rows[0].entry, 1)));
  const auto page = good(at.b->detections(1, rows[0].id, 10));  // begins in the middle of an entry
  REQUIRE(page.size() == 2);
  CHECK(page[0].place_in_entry == 2);
  CHECK(page[1].place_in_entry == 1);
}

TEST_CASE("a_later_judgement_replaces_the_one_before_and_may_be_withdrawn", "[archive]") {
  judged at;
  at.judge(1, 1, "wrong", 11);
  at.judge(1, 1, "right", 12);
  auto first = good(at.b->detections(1, 0, 1)).front();
  CHECK(first.judgement == "right");
  CHECK(first.judged_by == "ann");
  CHECK(first.judged_ms == monday + 2 * day_ms);
  at.judge(1, 1, "", 13);
  first = good(at.b->detections(1, 0, 1)).front();
  CHECK(first.judgement.empty());
}

TEST_CASE("a_judgement_of_a_missing_detection_stores_nothing_and_stops_no_other_entry", "[archive]") {
  judged at;
  at.judge(1, 99, "right", 21);
  at.judge(2, 1, "right", 22);  // of another run
  at.judge(7, 1, "right", 23);
  CHECK(at.ask("SELECT count(*) FROM judgements") == 0);
  push(*at.p, message(1, 3));
  CHECK(at.seen.wait_for_durable(1, 3));
}

TEST_CASE("a_deleted_run_takes_its_judgements_along", "[archive]") {
  judged at;
  at.judge(1, 1, "right", 31);
  at.judge(2, 4, "wrong", 32);
  entry deletion;
  deletion.kind = entry_kind::run_deleted;
  deletion.run_number = 1;
  push(*at.p, deletion);
  push(*at.p, judgement(1, 2, "right", 33));  // comes too late
  REQUIRE(at.seen.wait_for_judgement(33));
  at.a->stop();
  at.a.reset();
  reports seen;
  auto again = open_archive(at.folder.file(), seen);
  for (int i = 0; i < 10'000 && at.ask("SELECT count(*) FROM runs WHERE number = 1") > 0; ++i)
    std::this_thread::yield();
  CHECK(at.ask("SELECT count(*) FROM judgements WHERE run = 1") == 0);
  CHECK(at.ask("SELECT count(*) FROM judgements WHERE run = 2") == 1);
}

TEST_CASE("healings_are_summed_by_run_rule_subject_and_place", "[archive]") {
  judged at;
  const auto rows = good(at.b->piloted_healings(0, 100));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].rule == "deadlock");
  CHECK(rows[1].subject == "critic");
  CHECK(rows[1].would == 1);
  CHECK(rows[1].did == 1);
  CHECK(rows[1].latest == 3);
  CHECK(rows[2].place == "writer → nobody");
  CHECK(rows[2].did == 0);
  CHECK(good(at.b->piloted_healings(1'700'000'000'001, 100)).empty());
  CHECK(good(at.b->piloted_healings(0, 2)).size() == 2);
}

TEST_CASE("detections_that_were_only_observed_or_failed_to_heal_are_no_healings", "[archive]") {
  judged at;
  entry more = message(2, 2);
  more.detections = {observed_detection("deadlock", "x"), observed_detection("deadlock", "y")};
  more.detections[0].healing.reset();        // observe
  more.detections[1].cause = "unsupported";  // nor could it have been
  push(*at.p, more);
  REQUIRE(at.seen.wait_for_durable(2, 2));
  CHECK(good(at.b->piloted_healings(0, 100)).size() == 3);
}

TEST_CASE("judgements_are_summed_by_the_week_of_the_detection", "[archive]") {
  judged at;
  at.judge(1, 1, "right", 41);
  at.judge(1, 2, "wrong", 42);
  at.judge(1, 3, "wrong", 43);
  at.judge(2, 4, "right", 44);
  const auto rows = good(at.b->piloted_judgements(0, 100));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].week == "2025-11-24");
  CHECK(rows[0].run_number == 1);
  CHECK(rows[2].rule == "deadlock");  // on the Monday itself
  CHECK(rows[2].week == "2025-11-24");
  CHECK(rows[3].week == "2025-12-01");
  CHECK(rows[3].wrong == 1);
}

TEST_CASE("a_run_is_piloted_with_its_group_its_activations_and_its_metrics", "[archive]") {
  judged at;
  entry drawn = opening(3, "r3");
  drawn.frame = R"({"type":"hello","mode":"enforce","canary":"enforce"})";
  drawn.arrived_ms += 1;
  push(*at.p, drawn);
  entry last = message(3, 1);
  last.type = "run_ended";
  last.ended = "failure";
  last.frame = R"({"type":"run_ended","metrics":{"cost":0.5}})";
  push(*at.p, last);
  REQUIRE(at.seen.wait_for_durable(3, 1));
  const auto rows = good(at.b->piloted_runs(0, 10));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].run == "r3");
  CHECK(rows[0].mode == "enforce");
  CHECK(rows[0].canary == "enforce");
  CHECK(rows[0].metrics == R"({"cost":0.5})");
  CHECK(rows[0].ended == "failure");
  CHECK(rows[1].run == "r2");
  CHECK(rows[2].activations == 1);
  CHECK(rows[2].canary.empty());
  CHECK(good(at.b->piloted_runs(0, 1)).size() == 1);
}

TEST_CASE("metrics_beyond_their_limit_are_not_kept_with_the_run", "[archive]") {
  judged at;
  entry last = message(2, 2);
  last.type = "run_ended";
  last.ended = "success";
  last.frame = R"({"metrics":{"x":")" + std::string(5'000, 'x') + "\"}}";
  push(*at.p, last);
  REQUIRE(at.seen.wait_for_durable(2, 2));
  CHECK(at.ask("SELECT count(*) FROM runs WHERE number = 2 AND ended = 'success' AND metrics IS NULL") == 1);
}

// Neither reads entries, which are most of the file.
TEST_CASE("piloting_many_runs_uses_indexes_and_reads_no_entries", "[archive]") {
  judged at;
  connection db;
  REQUIRE_FALSE(db.open(at.folder.file(), open_mode::read_only, {}));
  for (const char* sql :
       {"SELECT number FROM runs WHERE opened_ms >= 5 AND deleting = 0 ORDER BY opened_ms DESC, number DESC LIMIT 9",
        "SELECT d.run, max(d.id) FROM runs AS r CROSS JOIN detections AS d ON d.run = r.number"
        " WHERE r.opened_ms >= 5 GROUP BY d.run"}) {
    statement plan;
    REQUIRE_FALSE(db.prepare(std::string("EXPLAIN QUERY PLAN ") + sql, plan));
    failure failed;
    std::string rows;
    while (plan.step(failed)) rows += plan.text(3) + '\n';
    INFO(rows);
    CHECK(rows.find("runs_by_opening") != std::string::npos);
    CHECK(rows.find("SCAN") == std::string::npos);
  }
}

}  // namespace digd::archive::testing
