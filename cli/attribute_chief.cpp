// digctl attribute chief: who made the decisive error of a failed run, and when.
#include <boost/json.hpp>
#include <iostream>
#include <memory>

#include "analysis/chief/attribute.h"
#include "analysis/chief/trace_log.h"
#include "analysis/whowhen/dataset.h"
#include "archive/reader.h"
#include "archive/trace_export.h"
#include "cli/attribute.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/llm_options.h"

namespace digd::cli {

namespace {

struct attribute_options {
  std::string file, format = "table";
  std::string run, method = "chief-llm";
  std::size_t top = 5;
  llm_options llm;
};

constexpr std::size_t max_bytes = 256u << 20;

// A run out of an archive, as the lines of its trace.
bool read_archived(const attribute_options& how, whowhen::labelled_log& into, std::string& why) {
  auto archive = archive::reader::open(how.file, {}, &why);
  if (!archive) {
    if (why.empty()) why = archive.error().message();
    return false;
  }
  const auto runs = (*archive)->runs();
  if (!runs) {
    why = runs.error().message();
    return false;
  }
  for (const archive::stored_run& run : *runs) {
    if (run.run != how.run) continue;
    std::string lines;
    archive::trace_export out([&lines](std::string_view line) { (lines += line) += '\n'; });
    const auto read = (*archive)->each_entry(run.number, [&](const archive::stored_entry& e) {
      out.take(e);
      return lines.size() <= max_bytes;
    });
    if (!read) {
      why = read.error().message();
      return false;
    }
    out.finish();
    return chief::read_trace(lines, into.log, why);
  }
  why = "it has no run " + how.run;
  return false;
}

// A Who&When log is one JSON object with a `history`; everything else is taken for a trace.
bool read_run(const attribute_options& how, whowhen::labelled_log& into, std::string& why) {
  if (!how.run.empty()) return read_archived(how, into, why);
  const std::optional<std::string> text = read_file(how.file, max_bytes, why);
  if (!text) return false;
  const std::string_view first_line = std::string_view(*text).substr(0, text->find('\n'));
  const bool trace = first_line.find("\"hello\"") != std::string_view::npos && first_line.find("\"history\"") == std::string_view::npos;
  if (trace) return chief::read_trace(*text, into.log, why);
  into.log.id = how.file;
  return whowhen::read_log(*text, into, why, false);
}

int complain(const attribute_options& how, std::string_view why) {
  std::cerr << "digctl attribute chief: " << shown(how.file) << ": " << why << '\n';
  return wrong_use;
}

void print(const attribute_options& how, const chief::flat_log& log, const chief::llm::ruling& r) {
  namespace json = boost::json;
  if (how.format == "json") {
    json::array ranking, notes;
    for (std::size_t step : r.steps) ranking.push_back(json::object{{"agent", log.steps[step].agent}, {"step", step}});
    for (const std::string& note : r.notes) notes.emplace_back(note);
    std::cout << json::serialize(json::object{{"log", log.id}, {"method", how.method}, {"agent", r.agent},
                                              {"ranking", std::move(ranking)}, {"reason", r.reason}, {"notes", std::move(notes)}})
              << '\n';
    return;
  }
  std::cout << "agent " << r.agent << ", step";
  for (std::size_t i = 0; i < r.steps.size() && i < how.top; ++i) std::cout << (i ? ", then " : " ") << r.steps[i];
  std::cout << '\n';
  if (!r.reason.empty()) std::cout << r.reason << '\n';
  for (const std::string& note : r.notes) std::cout << "  " << note << '\n';
}

int ask_model(const attribute_options& how, const whowhen::labelled_log& run) {
  std::string why;
  const auto model = open_endpoint(how.llm, why);
  if (!model) return complain(how, why);
  const chief::llm::ruling r = rule_by(how.method, *model, run.log, judging(how.llm, run.answer));
  std::cerr << describe(model->used(), how.llm.dry_run) << '\n';
  if (how.llm.dry_run) return done;
  if (r.error) return complain(how, r.error.message() + (r.detail.empty() ? "" : ": " + r.detail));
  print(how, run.log, r);
  return done;
}

int attribute(const attribute_options& how) {
  whowhen::labelled_log run;
  std::string why;
  if (!read_run(how, run, why)) return complain(how, why);
  if (how.llm.wanted()) return ask_model(how, run);
  const chief::attribution a = chief::attribute(run.log);
  if (how.format == "json") std::cout << chief::to_json(run.log, a, how.top) << '\n';
  else std::cout << chief::describe(run.log, a, how.top);
  return done;
}

}  // namespace

void add_attribute_chief(CLI::App& app, int& status) {
  auto how = std::make_shared<attribute_options>();
  CLI::App* sub = attribute_methods(app).add_subcommand("chief", "the agent and step of the decisive error, with the chain of evidence");
  sub->add_option("FILE", how->file, "a Who&When log (JSON) or a trace (JSON lines); - for standard input; with --run an archive")->required();
  sub->add_option("--run", how->run, "the run's id in the archive FILE");
  sub->add_option("--top", how->top, "how many suspects to name")->capture_default_str();
  sub->add_option("--format", how->format, "table for people, json for machines: the whole graph too")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  sub->add_option("--judge", how->method, "with --llm: which way of asking")
      ->check(CLI::IsMember(llm_methods))
      ->capture_default_str()
      ->group("With a model");
  add_llm_options(*sub, how->llm);
  sub->callback([how, &status] { status = attribute(*how); });
}

}  // namespace digd::cli
