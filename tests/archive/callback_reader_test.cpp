// Detections and interventions, read in the order they were written.
#include "archive/callback_reader.h"

#include "support.h"

namespace digd::archive {
namespace {

using namespace testing;

detection_row found(const std::string& rule, const std::string& severity = "failure") {
  detection_row row;
  row.rule = rule;
  row.severity = severity;
  row.json = R"({"rule":")" + rule + R"(","severity":")" + severity + R"("})";
  return row;
}

intervention_row made(const std::string& id, const std::string& detections) {
  return {.id = id, .action = "create", .ts = 1, .json = R"({"id":")" + id + R"(","detections":[)" + detections + "]}"};
}

std::string deadlock() { return found("deadlock").json; }

// "d1 i1": what the rows are, in order.
std::string in_order(const callback_piece& piece) {
  std::string out;
  for (const callback_row& row : piece.rows) {
    out += (out.empty() ? "" : " ") + std::string(row.kind == callback_kind::detection ? "d" : "i") +
           std::to_string(row.row);
  }
  return out;
}

class recorded {
 public:
  recorded() : archive_(open_archive(folder_.file(), reports_)), to_(archive_->make_producer()) {}

  void open(std::uint64_t run, const std::string& id, const std::string& labels = "{}") {
    entry first = opening(run, id);
    first.frame = R"({"type":"hello","protocol":1,"labels":)" + labels + "}";
    push(*to_, std::move(first));
  }
  void tell(std::uint64_t run, std::uint64_t seq, std::vector<detection_row> detections,
            std::vector<intervention_row> interventions = {}) {
    entry entry = message(run, seq);
    entry.detections = std::move(detections);
    entry.interventions = std::move(interventions);
    push(*to_, std::move(entry));
    REQUIRE(reports_.wait_for_durable(run, seq));
  }
  void end(std::uint64_t run, std::uint64_t seq) {
    entry last = message(run, seq);
    last.type = "run_ended";
    last.ended = "success";
    push(*to_, std::move(last));
    REQUIRE(reports_.wait_for_durable(run, seq));
  }
  void remove(std::uint64_t run) {
    entry last;
    last.kind = entry_kind::run_deleted;
    last.run_number = run;
    push(*to_, std::move(last));
  }
  std::unique_ptr<callback_reader> reader() {
    std::string problem;
    auto opened = callback_reader::open(folder_.file(), &problem);
    INFO(problem);
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }
  const archive& store() const { return *archive_; }

 private:
  temporary_folder folder_;
  reports reports_;
  std::unique_ptr<archive> archive_;
  std::unique_ptr<producer> to_;
};

TEST_CASE("callbacks_are_ordered_by_entry_with_detections_before_their_intervention") {
  recorded records;
  records.open(1, "r1");
  records.tell(1, 1, {found("deadlock"), found("excessive_rerouting", "warning")},
               {made("sys:1", deadlock() + "," + found("excessive_rerouting", "warning").json)});
  records.tell(1, 2, {}, {made("sys:2", deadlock())});
  records.tell(1, 3, {found("deadlock")});
  const auto reader = records.reader();
  const auto piece = reader->after({});
  REQUIRE(piece.has_value());
  CHECK(in_order(*piece) == "d1 d2 i1 i2 d3");
  CHECK(piece->upto == callback_position{3, 2});
  CHECK_FALSE(piece->more);
  CHECK(piece->rows[1].symptoms == "excessive_rerouting warning");
  CHECK(piece->rows[2].symptoms == "deadlock failure,excessive_rerouting warning");
  CHECK(piece->rows[2].archived_ms == 1'001);
  CHECK(*reader->end() == piece->upto);
  CHECK(reader->after(piece->upto)->rows.empty());
  CHECK(reader->after(piece->upto)->upto == piece->upto);
  CHECK(in_order(*reader->after({2, 1})) == "i2 d3");
}

TEST_CASE("pieces_together_have_every_callback_once") {
  constexpr std::size_t n = callback_reader::max_rows * 2 + 10;
  recorded records;
  records.open(1, "r1");
  std::vector<detection_row> many(callback_reader::max_rows + 5, found("deadlock"));
  records.tell(1, 1, many, {made("sys:1", deadlock())});  // one entry that is larger than a piece
  for (std::uint64_t seq = 2; seq <= n; ++seq) {
    records.tell(1, seq, {found("deadlock")}, {made("sys:" + std::to_string(seq), deadlock())});
  }
  const auto reader = records.reader();
  callback_position at;
  std::int64_t last_entry = 0, detections = 0, interventions = 0;
  for (bool more = true; more;) {
    const auto piece = reader->after(at);
    REQUIRE(piece.has_value());
    REQUIRE((!piece->more || piece->upto != at));
    for (const callback_row& row : piece->rows) {
      CHECK(row.entry >= last_entry);
      last_entry = row.entry;
      std::int64_t& counted = row.kind == callback_kind::detection ? detections : interventions;
      CHECK(row.row == ++counted);
    }
    at = piece->upto;
    more = piece->more;
  }
  CHECK(detections == static_cast<std::int64_t>(many.size() + n - 1));
  CHECK(interventions == static_cast<std::int64_t>(n));
}

TEST_CASE("a_row_that_is_not_json_stops_no_other_row") {
  recorded records;
  records.open(1, "r1", "no JSON");
  intervention_row broken = made("sys:1", deadlock());
  broken.json = "no JSON";
  records.tell(1, 1, {found("deadlock")}, {broken});
  const auto reader = records.reader();
  const auto piece = reader->after({});
  REQUIRE(piece.has_value());
  CHECK(in_order(*piece) == "d1 i1");
  CHECK(piece->rows[1].symptoms.empty());
  const auto labels = reader->labels_of(1);
  REQUIRE(labels.has_value());
  CHECK(labels->empty());
}

TEST_CASE("ends_of_runs_are_read_by_their_numbers") {
  recorded records;
  for (std::uint64_t run = 1; run <= 3; ++run) {
    records.open(run, "r" + std::to_string(run));
    records.tell(run, 1, {});
  }
  records.end(2, 2);
  const auto reader = records.reader();
  const auto states = reader->runs_after(1);
  REQUIRE(states.has_value());
  REQUIRE(states->size() == 2);
  CHECK((*states)[0].number == 2);
  CHECK((*states)[0].ended_ms == 1'002);
  CHECK((*states)[1].number == 3);
  CHECK_FALSE((*states)[1].ended_ms.has_value());
  CHECK(*reader->open_runs() == std::vector<std::uint64_t>{1, 3});
  CHECK((*reader->state_of(2))->ended_ms == 1'002);
  CHECK_FALSE((*reader->state_of(1))->ended_ms.has_value());
  CHECK_FALSE(reader->state_of(4)->has_value());
  records.remove(2);
  records.tell(3, 2, {});
  CHECK_FALSE(reader->state_of(2)->has_value());
  CHECK(reader->runs_after(1)->size() == 1);
  CHECK(reader->highest_ever()->run == 3);
}

TEST_CASE("texts_labels_and_runs_are_there_until_their_run_is_deleted") {
  recorded records;
  records.open(1, "r\"1", R"({"team":"search","a\"b":"c"})");
  records.open(2, "r2");
  records.tell(1, 1, {found("deadlock")}, {made("sys:1", deadlock())});
  records.tell(2, 1, {found("deadlock")});
  const auto reader = records.reader();
  const auto text = reader->text_of(callback_kind::intervention, 1);
  REQUIRE(text.has_value());
  REQUIRE(text->has_value());
  CHECK((*text)->run == "r\"1");
  CHECK((*text)->json == made("sys:1", deadlock()).json);
  CHECK(*reader->labels_of(1) == callback_reader::labels{{"team", "search"}, {"a\"b", "c"}});
  CHECK(reader->labels_of(2)->empty());
  CHECK(**reader->run_of(1) == "r\"1");
  CHECK_FALSE(reader->run_of(3)->has_value());
  CHECK_FALSE(reader->text_of(callback_kind::detection, 99)->has_value());
  records.remove(1);
  records.tell(2, 2, {});
  CHECK_FALSE(reader->text_of(callback_kind::intervention, 1)->has_value());
  CHECK_FALSE(reader->text_of(callback_kind::detection, 1)->has_value());
  CHECK_FALSE(reader->run_of(1)->has_value());
  CHECK(in_order(*reader->after({})) == "d2");
  const auto highest = reader->highest_ever();
  CHECK(*highest == callback_position{2, 1, 2});
}

}  // namespace
}  // namespace digd::archive
