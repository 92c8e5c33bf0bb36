// Kept answers, compared with a plain list.
#include "ingest/protocol/reply_log.h"

#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <string>
#include <vector>

using digd::refusal;
using digd::ingest::frame_type;
using digd::ingest::reply_log;

namespace {

struct plain_reply {
  std::uint64_t seq;
  frame_type type;
  std::string frame;
  refusal code;
};

void check_equal(const reply_log& log, const std::deque<plain_reply>& plain) {
  std::size_t at = 0, bytes = 0;
  log.each([&](const reply_log::reply& r) {
    REQUIRE(at < plain.size());
    const plain_reply& expected = plain[at++];
    CHECK((r.seq == expected.seq && r.type == expected.type && r.code == expected.code));
    CHECK(r.frame == expected.frame);
    bytes += r.frame.size();
  });
  CHECK(at == plain.size());
  CHECK(log.size() == plain.size());
  CHECK(log.empty() == plain.empty());
  CHECK(log.bytes() == bytes);
  if (!plain.empty()) CHECK(log.first_seq() == plain.front().seq);
}

}  // namespace

TEST_CASE("a_log_of_replies_keeps_what_was_added_and_not_removed", "[ingest]") {
  std::mt19937 dice(7);
  reply_log log;
  std::deque<plain_reply> plain;
  for (std::uint64_t seq = 1; seq <= 20'000; ++seq) {
    const std::size_t length = dice() % 20 == 0 ? dice() % 20'000 : dice() % 4 == 0 ? 0 : dice() % 200;
    const bool is_error = dice() % 10 == 0;
    plain.push_back({seq, is_error ? frame_type::error : frame_type::verdicts,
                     std::string(length, static_cast<char>('a' + seq % 26)),
                     is_error ? refusal::bad_message : refusal::none});
    log.add({seq, plain.back().type, plain.back().frame, plain.back().code});
    const bool empties = dice() % 500 == 0;
    while (!plain.empty() && (empties || dice() % 2 == 0 || plain.size() > 300)) {
      plain.pop_front();
      log.remove_first();
    }
    if (seq % 97 == 0 || empties) check_equal(log, plain);
  }
}
