// The clock of runs with the wall clock.
#include <catch2/catch.hpp>

#include "daemon/runs/forward_clock.h"

namespace digd::daemon {

TEST_CASE("AClockThatIsSetBackGoesOnAndIsReportedOnce") {
  forward_clock clock;
  milliseconds set_back = 0;
  CHECK(clock.at(1'000'000, 50, set_back) == 1'000'000);
  CHECK(set_back == 0);
  CHECK(clock.at(1'000'100, 150, set_back) == 1'000'100);
  CHECK(clock.at(400'000, 250, set_back) == 1'000'200);
  CHECK(set_back == 600'200);
  CHECK(clock.at(400'500, 750, set_back) == 1'000'700);
  CHECK(set_back == 0);
  CHECK(clock.at(390'500, 750, set_back) == 1'000'700);  // again
  CHECK(set_back == 10'000);
}

TEST_CASE("AClockThatIsSetForwardIsFollowed") {
  forward_clock clock;
  milliseconds set_back = 0;
  CHECK(clock.at(1'000, 0, set_back) == 1'000);
  CHECK(clock.at(500'000, 10, set_back) == 500'000);
  CHECK(clock.at(499'900, 20, set_back) == 500'010);  // a small step back is not worth a line
  CHECK(set_back == 0);
}

}  // namespace digd::daemon
