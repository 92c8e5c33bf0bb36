#include "daemon/process/log_fields.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "base/quote.h"

namespace digd::daemon {

TEST_CASE("pairs_of_a_log_line_become_fields_with_their_types") {
  CHECK(log_fields(R"(run_ended run="a b" number=3 outcome=success healed=true at=-)") ==
        R"("event":"run_ended","run":"a b","number":3,"outcome":"success","healed":true,"at":"-")");
  CHECK(log_fields("archive_recovered") == R"("event":"archive_recovered")");
}

TEST_CASE("text_after_the_pairs_becomes_the_message") {
  CHECK(log_fields("not_archived thread=0 entries=12: digd did not acknowledge them") ==
        R"("event":"not_archived","thread":0,"entries":12,"message":"digd did not acknowledge them")");
  CHECK(log_fields("archive_off: nothing is durable") == R"("event":"archive_off","message":"nothing is durable")");
  CHECK(log_fields("Plain words.") == R"("message":"Plain words.")");
}

TEST_CASE("no_name_in_a_log_line_can_forge_a_field") {
  const std::string evil = "x\" level=\"error\" time=\"now\" run=\"other\"\n\x1b[31m";
  for (const std::string& line :
       {std::string("run_open run=") + digd::quoted(evil) + " number=1", std::string("level level=error time=1 run=2"),
        std::string("a b=\"open"), std::string("a b=1 b=2"), std::string("a message=x: y")}) {
    INFO(line);
    const boost::json::object fields = boost::json::parse("{" + log_fields(line) + "}").as_object();
    CHECK_FALSE(fields.contains("time"));
    CHECK_FALSE(fields.contains("level"));
  }
  const std::string line = "run_open run=" + digd::quoted(evil) + " number=1";
  CHECK(boost::json::parse("{" + log_fields(line) + "}").at("run").as_string() == evil);
  CHECK(boost::json::parse("{" + log_fields("a b=007 c=12345678901234567890") + "}").at("b").is_string());
}

}  // namespace digd::daemon
