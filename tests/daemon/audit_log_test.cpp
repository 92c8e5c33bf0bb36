#include "daemon/access/audit_log.h"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/archive/support.h"

namespace digd::daemon {
namespace {

using archive::testing::temporary_folder;

std::vector<std::string> lines_in(const temporary_folder& folder) {
  std::vector<std::string> lines;
  std::ifstream file(folder.file("audit.jsonl"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("refusals_take_at_most_64_KiB_of_the_audit_log_an_hour") {
  const temporary_folder folder;
  constexpr std::uint64_t refusals = 1'000;
  {
    audit_log log(folder.file(""));
    log.write({.action = "PUT /v1/mode", .by = "ops", .from = "a", .body = {}, .problem = {}}, 200);
    for (std::uint64_t i = 0; i < refusals; ++i) {
      log.write_refusal({.action = "POST /hold", .by = {}, .from = "b", .body = std::string(400, 'x'), .problem = {}},
                        403);
    }
    log.write({.action = "PUT /v1/mode", .by = "ops", .from = "a", .body = {}, .problem = {}}, 200);
    REQUIRE(log.dropped() == 0);
  }
  const std::vector<std::string> lines = lines_in(folder);
  REQUIRE(lines.size() > 100);
  std::size_t bytes = 0;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) bytes += lines[i].size();
  CHECK(bytes <= audit_log::max_refusal_bytes);
  CHECK(bytes > audit_log::max_refusal_bytes / 2);
  for (const std::string& line : {lines.front(), lines.back()}) {
    CHECK(boost::json::parse(line).at("action") == "PUT /v1/mode");
  }
}

TEST_CASE("a_written_refusal_counts_those_left_out_before_it") {
  const temporary_folder folder;
  const audited_request large{.action = "a", .by = {}, .from = "b", .body = std::string(500, 'x'), .problem = {}};
  {
    audit_log log(folder.file(""));
    for (std::size_t i = 0; i < 200; ++i) log.write_refusal(large, 403);
    log.write_refusal({.action = "a", .by = {}, .from = "b", .body = {}, .problem = {}, .suppressed = 3}, 403);
  }
  const std::vector<std::string> lines = lines_in(folder);
  REQUIRE(lines.size() > 1);
  const std::size_t written = lines.size() - 1;
  CHECK(boost::json::parse(lines.back()).at("suppressed").to_number<std::size_t>() == 200 - written + 3);
}

}  // namespace
}  // namespace digd::daemon
