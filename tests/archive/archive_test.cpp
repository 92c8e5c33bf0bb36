#include <atomic>
#include <thread>

#include "archive/verdict_text.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

TEST_CASE("pushed_entries_are_there_in_order_after_reopening", "[archive]") {
  temporary_folder folder;
  reports seen;
  {
    auto a = open_archive(folder.file(), seen);
    auto p = a->make_producer();
    push(*p, opening(a->next_run_number(), "run with \"quotes\""));
    entry joined = message(1, 0);
    joined.kind = entry_kind::session_joined;
    joined.frame = R"({"type":"hello"})";
    push(*p, joined);
    for (std::uint64_t seq = 1; seq <= 3000; ++seq) push(*p, message(1, seq));
    a->stop();
    CHECK(a->queued() == 0);
    CHECK(a->counted().entries == 3002);
  }
  CHECK_FALSE(std::filesystem::exists(folder.file() + "-wal"));  // one whole file is left
  auto a = open_archive(folder.file(), seen);
  auto entries = entries_of(*a, 1);
  REQUIRE(entries.size() == 3002);
  CHECK(entries[0].kind == entry_kind::run_opened);
  CHECK(entries[1].kind == entry_kind::session_joined);
  for (std::uint64_t seq = 1; seq <= 3000; ++seq) {
    const auto& item = entries[seq + 1];
    REQUIRE(item.kind == entry_kind::message);
    REQUIRE(item.seq == seq);
    REQUIRE(item.n == seq);
    REQUIRE(item.frame == message(1, seq).frame);
    REQUIRE(item.ts == message(1, seq).ts);
  }
  auto runs = a->runs();
  REQUIRE(runs.has_value());
  REQUIRE(runs->size() == 1);
  CHECK(runs->front().run == "run with \"quotes\"");
  CHECK(runs->front().hello == opening(1, "run with \"quotes\"").frame);
  CHECK(runs->front().opened_ms == 1'700'000'000'000);
  CHECK(runs->front().last_ts == 4000);
  CHECK(runs->front().ended.empty());
}

TEST_CASE("a_message_is_in_the_file_when_it_is_reported_durable", "[archive]") {
  temporary_folder folder;
  std::atomic<int> reported{0}, missing{0};
  connection look;
  options options;
  options.path = folder.file();
  auto opened = archive::open(options, [&](std::span<const durable> progress) {
    for (const auto& progress : progress) {
      std::int64_t found = 0;
      const auto sql = "SELECT max(seq) FROM entries WHERE run = " + std::to_string(progress.run_number);
      if (look.query(sql, found) || found < static_cast<std::int64_t>(progress.seq)) ++missing;
      ++reported;
    }
  });
  REQUIRE(opened.has_value());
  REQUIRE_FALSE(look.open(folder.file(), open_mode::read_only, {}));
  auto p = (*opened)->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 500; ++seq) push(*p, message(1, seq));
  (*opened)->stop();
  CHECK(reported > 0);
  CHECK(missing == 0);
}

TEST_CASE("a_full_queue_refuses_and_loses_nothing", "[archive]") {
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.max_queued_entries = 4;
  auto a = open_archive(options, seen);
  connection holder;  // while it writes, the archive cannot
  REQUIRE_FALSE(holder.open(folder.file(), open_mode::read_write, {}));
  REQUIRE_FALSE(holder.execute("BEGIN IMMEDIATE"));
  auto p = a->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 3; ++seq) push(*p, message(1, seq));
  auto next = boxed(message(1, 4));
  CHECK_FALSE(p->try_push(next));
  REQUIRE(next != nullptr);  // untouched
  CHECK(next->frame == message(1, 4).frame);
  CHECK(next->session == "main");
  CHECK(a->counted().queue_full == 1);
  CHECK(a->queued() == 4);
  REQUIRE_FALSE(holder.execute("ROLLBACK"));
  push(*p, std::move(*next));
  REQUIRE(seen.wait_for_durable(1, 4));
  CHECK(entries_of(*a, 1).size() == 5);
}

TEST_CASE("the_queue_is_bounded_in_bytes_and_one_huge_entry_still_passes", "[archive]") {
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.max_queued_bytes = 100'000;
  auto a = open_archive(options, seen);
  connection holder;
  REQUIRE_FALSE(holder.open(folder.file(), open_mode::read_write, {}));
  REQUIRE_FALSE(holder.execute("BEGIN IMMEDIATE"));
  auto p = a->make_producer();
  auto huge = opening(1);
  huge.frame.assign(200'000, ' ');
  CHECK(try_push(*p, std::move(huge)));
  CHECK_FALSE(try_push(*p, message(1, 1)));
  REQUIRE_FALSE(holder.execute("ROLLBACK"));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));
  CHECK(entries_of(*a, 1).at(0).frame.size() == 200'000);
}

TEST_CASE("each_producer_keeps_its_order_however_they_interleave", "[archive]") {
  constexpr std::uint64_t threads = 4, count = 4000;
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.max_queued_entries = 1000;
  options.max_batch_entries = 300;
  auto a = open_archive(options, seen);
  std::vector<std::thread> engines;
  for (std::uint64_t t = 0; t < threads; ++t) {
    engines.emplace_back([&] {
      auto p = a->make_producer();
      const auto first = a->next_run_number(), second = a->next_run_number();
      push(*p, opening(first));
      push(*p, opening(second));
      for (std::uint64_t seq = 1; seq <= count; ++seq) {
        push(*p, message(first, seq, "a"));
        push(*p, message(second, seq, "b"));
      }
    });
  }
  for (auto& thread : engines) thread.join();
  a->stop();
  CHECK(a->counted().entries == threads * 2 * (count + 1));
  for (std::uint64_t run = 1; run <= threads * 2; ++run) {
    auto entries = entries_of(*a, run);
    REQUIRE(entries.size() == count + 1);
    REQUIRE(is_without_gaps(entries));
    CHECK(seen.durable_seq(run, entries[1].session) == count);
  }
}

TEST_CASE("a_producer_that_was_busy_once_leaves_room_for_the_others", "[archive]") {
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.max_queued_entries = 2000;
  options.max_producers = 2;
  auto a = open_archive(options, seen);
  auto fill = [&](producer& p, std::uint64_t run) {
    connection holder;
    REQUIRE_FALSE(holder.open(folder.file(), open_mode::read_write, {}));
    REQUIRE_FALSE(holder.execute("BEGIN IMMEDIATE"));
    push(p, opening(run));
    std::uint64_t seq = 0;
    while (try_push(p, message(run, seq + 1))) ++seq;
    REQUIRE_FALSE(holder.execute("ROLLBACK"));
    REQUIRE(seen.wait_for_durable(run, seq));
    while (a->queued() != 0) std::this_thread::yield();
    return seq;
  };
  auto producer = a->make_producer(), two = a->make_producer();
  CHECK(fill(*producer, 1) == 1999);
  CHECK(fill(*two, 2) == 1999);
  CHECK(fill(*producer, 3) == 1999);
  CHECK(a->make_producer() == nullptr);
  two.reset();
  auto three = a->make_producer();
  REQUIRE(three);
  CHECK(fill(*three, 4) == 1999);
}

TEST_CASE("refused_messages_and_firings_keep_their_place", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  auto refused = message(1, 2);
  refused.kind = entry_kind::refused;
  refused.code = "unknown_event";
  refused.frame = std::string("no json \xff\0 at all", 16);
  push(*p, refused);
  entry firing;
  firing.kind = entry_kind::firing;
  firing.run_number = 1;
  firing.n = 3;
  firing.ts = 12'000;
  detection_row found;
  found.rule = "deadlock";
  found.severity = "failure";
  found.ts = 12'500;
  found.json = R"({"rule":"deadlock","reason":"nobody acts"})";
  firing.detections.push_back(found);
  push(*p, firing);
  auto last = message(1, 3);
  last.n = 4;
  last.ts = 900;  // a client's clock that went back
  last.ended = "success";
  push(*p, last);
  REQUIRE(seen.wait_for_durable(1, 3));
  auto entries = entries_of(*a, 1);
  REQUIRE(entries.size() == 5);
  CHECK(entries[2].kind == entry_kind::refused);
  CHECK(entries[2].code == "unknown_event");
  CHECK(entries[2].frame == refused.frame);
  CHECK(entries[3].kind == entry_kind::firing);
  CHECK(entries[3].session.empty());
  CHECK(entries[3].seq == 0);
  CHECK(entries[4].seq == 3);
  CHECK(ask(folder.file(), "SELECT count(*) FROM detections WHERE reason = 'nobody acts' AND entry = 4") == 1);
  auto runs = a->runs();
  REQUIRE(runs.has_value());
  CHECK(runs->at(0).last_ts == 12'500);
  CHECK(runs->at(0).ended == "success");
}

TEST_CASE("an_answered_intervention_is_no_longer_asked_about", "[archive]") {
  temporary_folder folder;
  reports seen;
  {
    auto a = open_archive(folder.file(), seen);
    auto p = a->make_producer();
    push(*p, opening(1));
    push(*p, opening(2));
    auto made = message(1, 1);
    made.interventions.push_back({"sys:1", "create", std::nullopt, 1001, R"({"id":"sys:1"})"});
    made.interventions.push_back({"give:e2:1", "reroute", "e2", 1001, R"({"id":"give:e2:1"})"});
    push(*p, made);
    auto other = message(2, 1);
    other.interventions.push_back({"sys:1", "create", std::nullopt, 1001, R"({"id":"sys:1","run":2})"});
    push(*p, other);
    auto answer = message(1, 2);
    answer.type = "delivery";
    answer.answered = "sys:1";
    answer.frame = R"({"type":"delivery","seq":2,"of":"sys:1","applied":"created"})";
    push(*p, answer);
    auto again = message(1, 3);  // of another session: the first answer counts
    again.type = "delivery";
    again.answered = "sys:1";
    again.frame = R"({"type":"delivery","seq":3,"of":"sys:1","applied":"failed"})";
    push(*p, again);
  }
  auto a = open_archive(folder.file(), seen);
  auto left = a->unanswered(1);
  REQUIRE(left.has_value());
  REQUIRE(left->size() == 1);
  CHECK(left->at(0).id == "give:e2:1");
  CHECK(left->at(0).event == "e2");
  CHECK(left->at(0).ts == 1001);
  CHECK(left->at(0).json == R"({"id":"give:e2:1"})");
  REQUIRE(a->unanswered(2).has_value());
  CHECK(a->unanswered(2)->size() == 1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM interventions WHERE answered = 'created' AND answered_ts = 1002") ==
        1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM deliveries WHERE intervention = 'sys:1'") == 2);
}

TEST_CASE("run_numbers_are_never_given_out_twice_for_stored_runs", "[archive]") {
  temporary_folder folder;
  reports seen;
  {
    auto a = open_archive(folder.file(), seen);
    CHECK(a->next_run_number() == 1);
    CHECK(a->next_run_number() == 2);
    auto p = a->make_producer();
    push(*p, opening(1));
    push(*p, opening(2));
    push(*p, message(2, 1));
  }
  CHECK(open_archive(folder.file(), seen)->next_run_number() == 3);
  {
    connection db;
    REQUIRE_FALSE(db.open(folder.file(), open_mode::read_write, {}));
    REQUIRE_FALSE(db.execute("PRAGMA foreign_keys = ON; DELETE FROM runs WHERE number = 2"));
  }
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE run = 2") == 0);
  CHECK(open_archive(folder.file(), seen)->next_run_number() == 3);
}

TEST_CASE("plain_deliveries_are_kept_as_ids_and_read_as_verdicts", "[archive]") {
  std::string out;
  const std::pair<std::string, std::string> stored_and_sent[] = {
      {R"(["e3"])", R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"}]})"},
      {R"(["a\"\\","b"])", R"({"type":"verdicts","seq":5,"verdicts":[{"event":"a\"\\","action":"deliver"},)"
                           R"({"event":"b","action":"deliver"}]})"},
  };
  for (const auto& [ids, frame] : stored_and_sent) {
    compact_deliveries(ids, out);
    CHECK(out == ids);
    CHECK(is_deliveries(out));
    CHECK(expand_verdicts(out, 5, {}) == frame);
  }
  for (const std::string frame :
       {"", "{}", R"({"type":"verdicts","seq":5,"verdicts":[]})",
        R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver","inject":"x"}]})",
        R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"}]}x)",
        R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"},]})",
        R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3)"}) {
    compact_verdicts(frame, {}, 1, out);
    CHECK(out == frame);
    CHECK_FALSE(is_deliveries(out));
  }

  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  auto plain = message(1, 1);
  plain.verdicts = R"(["e1"])";
  plain.only_deliveries = true;
  push(*p, plain);
  auto healed = message(1, 2);
  healed.verdicts =
      R"({"type":"verdicts","seq":2,"verdicts":[{"event":"e2","action":"deliver"},{"event":"e3","action":"reroute","recipients":["coder"],"inject":"no"}]})";
  push(*p, healed);
  REQUIRE(seen.wait_for_durable(1, 2));
  const auto path = folder.file();
  CHECK(ask(path, "SELECT count(*) FROM verdicts WHERE action = 'deliver' AND event IN ('e1', 'e2')") == 2);
  CHECK(ask(path,
            "SELECT seq FROM verdicts WHERE action = 'reroute' AND event = 'e3' AND inject = 'no'"
            " AND recipients = '[\"coder\"]'") == 2);
}

TEST_CASE("reading_stops_on_request_and_does_not_delay_the_writer", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 5000; ++seq) push(*p, message(1, seq));
  REQUIRE(seen.wait_for_durable(1, 5000));
  std::uint64_t count = 0;
  REQUIRE(a->each_entry(1, [&](const stored_entry&) {
    if (++count == 2000) {  // in the middle of it, something new is written and read
      push(*p, message(1, 5001));
      CHECK(seen.wait_for_durable(1, 5001));
      CHECK(a->runs().has_value());
    }
    return count < 4000;
  }));
  CHECK(count == 4000);
  CHECK(entries_of(*a, 1).size() == 5002);
  CHECK(entries_of(*a, 7).empty());
}

TEST_CASE("a_stopped_archive_refuses_entries_and_still_reads", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  a->stop();
  a->stop();
  auto late = boxed(message(1, 1));
  CHECK_FALSE(p->try_push(late));
  CHECK(late != nullptr);
  CHECK(entries_of(*a, 1).size() == 1);
  a.reset();
  CHECK_FALSE(p->try_push(late));  // it may outlive the archive
}

TEST_CASE("the_log_is_kept_short_while_writing", "[archive]") {
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.checkpoint_pages = 64;
  options.max_batch_entries = 64;
  auto a = open_archive(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 20'000; ++seq) push(*p, message(1, seq));
  REQUIRE(seen.wait_for_durable(1, 20'000));
  CHECK(std::filesystem::file_size(folder.file()) > 1'000'000);
  CHECK(std::filesystem::file_size(folder.file() + "-wal") < 600'000);
  CHECK(a->health().empty());
}

}  // namespace digd::archive::testing
