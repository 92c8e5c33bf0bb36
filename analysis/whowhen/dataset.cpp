#include "analysis/whowhen/dataset.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ingest/importers/whowhen_text.h"
#include "ingest/trace/json_reader.h"

namespace digd::whowhen {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using importers::json_reader;

constexpr std::size_t max_bytes = 256u << 20;

bool number_of(const json::value* v, std::size_t& into) {
  if (!v) return false;
  if (v->is_int64() && v->get_int64() >= 0) {
    into = static_cast<std::size_t>(v->get_int64());
    return true;
  }
  if (!v->is_string()) return false;
  const std::string_view text = v->get_string();
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
  return failed == std::errc() && end == text.data() + text.size();
}

chief::flat_step step_of(const json::object& entry, json_reader& reader, const std::string& where) {
  chief::flat_step step;
  const auto text = reader.string(entry, "content", where, true);
  const auto name = reader.string(entry, "name", where, false);
  const auto role = reader.string(entry, "role", where, true);
  if (reader.failed()) return step;
  step.text = std::string(*text);
  if (name) {  // Algorithm-Generated
    step.agent = std::string(*name);
    return step;
  }
  const importers::role_parts parts = importers::parse_role(*role);
  step.agent = std::string(parts.agent);
  if (!parts.addressee.empty()) step.to = {std::string(parts.addressee)};
  step.thought = parts.form == importers::step_form::thought;
  if (parts.form == importers::step_form::termination) step.form = chief::step_form::ending;
  return step;
}

// "12.json" before "101.json".
std::pair<std::size_t, std::string> order_of(const fs::path& file) {
  const std::string name = file.filename().string();
  std::size_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return {number, name};
}

}  // namespace

bool read_log(std::string_view text, labelled_log& into, std::string& problem, bool labelled) {
  json_reader reader;
  json::value document;
  const json::object* top = reader.parse(text, max_bytes, document);
  const json::array* history = top ? reader.array(*top, "history", "", true) : nullptr;
  if (!history) {
    problem = reader.failure().message;
    return false;
  }
  for (std::size_t i = 0; i < history->size() && i < chief::max_steps; ++i) {
    const std::string where = "history[" + std::to_string(i) + "]";
    if (!(*history)[i].is_object()) {
      problem = where + ": expected an object";
      return false;
    }
    into.log.steps.push_back(step_of((*history)[i].get_object(), reader, where));
  }
  into.log.question = std::string(reader.string(*top, "question", "", false).value_or(""));
  into.question_id = std::string(reader.string(*top, "question_ID", "", false).value_or(into.log.question));
  into.answer = std::string(reader.string(*top, "ground_truth", "", false).value_or(""));
  into.agent = std::string(reader.string(*top, "mistake_agent", "", labelled).value_or(""));
  if (reader.failed()) {
    problem = reader.failure().message;
    return false;
  }
  if (!number_of(top->if_contains("mistake_step"), into.step) && labelled) {
    problem = "mistake_step: expected a number";
    return false;
  }
  if (into.log.steps.empty()) {
    problem = "history: expected at least one step";
    return false;
  }
  chief::recognise_forms(into.log);
  return true;
}

bool read_folder(const std::string& folder, std::vector<labelled_log>& into, std::string& problem) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->is_regular_file(failed) && at->path().extension() == ".json") files.push_back(at->path());
  }
  if (failed || files.empty()) {
    problem = failed ? failed.message() : "it contains no *.json";
    return false;
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.parent_path().string(), order_of(a)) < std::pair(b.parent_path().string(), order_of(b));
  });
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    labelled_log labelled_log;
    labelled_log.subset = file.parent_path().filename().string();
    labelled_log.log.id = labelled_log.subset + "/" + file.stem().string();
    if (!in || !read_log(text, labelled_log, problem)) {
      problem =
          labelled_log.subset + "/" + file.filename().string() + ": " + (problem.empty() ? "cannot be read" : problem);
      return false;
    }
    into.push_back(std::move(labelled_log));
  }
  return true;
}

}  // namespace digd::whowhen
