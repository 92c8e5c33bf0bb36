// digctl judge RUN DETECTION right|wrong: stores a person's opinion on a detection.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "base/quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"

namespace digd::cli {

namespace {

namespace json = boost::json;

struct judge_options {
  std::string run, detection, judgement;
  std::string by;
  daemon_options daemon;
};

int judge(const judge_options& options) {
  const auto daemon = http_to("judge", options.daemon);
  if (!daemon) return wrong_use;
  json::object body;
  if (options.judgement == "none") {
    body["judgement"] = nullptr;
  } else {
    body["judgement"] = options.judgement;
  }
  if (!options.by.empty()) body["by"] = options.by;
  const std::string target = run_path(options.run, "/detections/" + percent_encoded(options.detection) + "/judgement");
  net::http_answer answer;
  if (const std::string problem = daemon->ask("POST", target, json::serialize(body), answer); !problem.empty())
    return complain("judge", problem);
  if (!answer.good()) return complain("judge", complaint_of(*daemon, answer));
  const std::string subject = "Detection " + digd::quoted(options.detection) + " of run " + digd::quoted(options.run);
  std::cerr << subject
            << (options.judgement == "none" ? " no longer has a judgement.\n"
                                            : " is judged " + options.judgement + ".\n");
  return done;
}

}  // namespace

void add_judge(CLI::App& app, int& status) {
  auto options = std::make_shared<judge_options>();
  CLI::App* sub = app.add_subcommand("judge", "Records whether a detection was right or wrong");
  sub->add_option("RUN", options->run, "the run's id")->required();
  sub->add_option("DETECTION", options->detection,
                  "the detection's name, as `digctl pilot` and /v1/runs/ID/detections show it: 812, or 812.2")
      ->required();
  sub->add_option("JUDGEMENT", options->judgement, "right, wrong, or none to withdraw")
      ->required()
      ->check(CLI::IsMember({"right", "wrong", "none"}));
  sub->add_option("--by", options->by,
                  "your name, kept with the judgement; default: the token's name, if there are tokens");
  add_daemon_options(*sub, options->daemon);
  sub->callback([options, &status] { status = judge(*options); });
}

}  // namespace digd::cli
