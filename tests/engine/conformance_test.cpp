// Runs the vectors of tests/traces/conformance (see its README) through the engine and the oracle.
// DIGD_WRITE_CONFORMANCE=1 writes the answers of the engine where no expectation exists. Check them before you commit.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "ingest/protocol/encode.h"
#include "ingest/protocol/replay.h"
#include "model/rule_id.h"
#include "oracle/oracle.h"

namespace json = boost::json;
namespace fs = std::filesystem;
using namespace digd;
using strings = std::vector<std::string>;

namespace {

const fs::path folder = fs::path(DIGD_SOURCE_DIR) / "tests" / "traces" / "conformance";

strings lines_of(const fs::path& path) {
  std::ifstream file(path);
  strings lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> vectors() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl") && !name.ends_with(".expected.jsonl")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

fs::path expectation_of(fs::path trace) { return trace.replace_extension(".expected.jsonl"); }

// Removes what an implementation may choose: the words of texts, reasons and messages. Keeps whether a text is
// injected.
void strip(json::value& v) {
  if (json::array* list = v.if_array()) {
    for (json::value& value : *list) strip(value);
  }
  json::object* o = v.if_object();
  if (o == nullptr) return;
  if (json::value* inject = o->if_contains("inject")) *inject = true;
  for (const char* member : {"reason", "message", "witness"}) o->erase(member);
  if (o->contains("type") && o->at("type") == "error") {
    if (o->at("code") != "bad_message") o->erase("field");
  }
  for (auto& [key, value] : *o) strip(value);
}

// The answers to a trace: the frames to clients, and the windows that fired without a frame.
struct trace_answers {
  strings lines;
  std::string problem;

  explicit trace_answers(const strings& trace) {
    ingest::replay::listener to;
    to.record = [this](const ingest::record& record) {
      for (const detection& d : record.answer.detections) {
        if (!d.at) windows_.push_back(d);
      }
    };
    to.frame = [this](std::string_view frame) { frames_.emplace_back(frame); };
    ingest::replay replay(run_policy{}, to);
    for (const std::string& line : trace) {
      if (!replay.line(line)) problem = replay.problem();
      flush();
    }
  }

 private:
  void add(const std::string& text) {
    json::value v = json::parse(text);
    strip(v);
    lines.push_back(json::serialize(v));
  }
  // Adds windows that fired and interventions in their order, then the answer to the message.
  void flush() {
    std::size_t next = 0;
    for (const detection& d : windows_) {
      std::string text = R"({"type":"detection","detection":)";
      ingest::encode_detection(text, d, false);
      if (!d.healed) {
        add(text + '}');
        continue;
      }
      const auto id_of = [&](std::size_t i) { return json::parse(frames_.at(i)).at("id"); };
      const json::value id = id_of(next);
      while (next < frames_.size() && frames_[next].find("\"intervention\"") != std::string::npos && id_of(next) == id)
        add(frames_[next++]);
    }
    for (; next < frames_.size(); ++next) add(frames_[next]);
    windows_.clear();
    frames_.clear();
  }

  std::vector<detection> windows_;
  strings frames_;
};

// The expected frames as answer lines of the oracle, which knows no frames.
class oracle_lines {
 public:
  strings lines;

  oracle_lines(const strings& expected, std::string first_session) : session_(std::move(first_session)) {
    for (const std::string& line : expected) frame(json::parse(line).as_object());
  }

 private:
  static json::value or_null(const json::object& o, const char* name) {
    return o.contains(name) ? o.at(name) : json::value();
  }
  void add(json::object o) { lines.push_back(json::serialize(o)); }

  void frame(const json::object& f) {
    const json::value session = f.contains("session") ? f.at("session") : json::value(session_);
    const json::value& type = f.at("type");
    if (type == "detection") return detected(f.at("detection").as_object());
    if (type == "error" && f.at("code") == "hold_closed")
      return add({{"e", nullptr}, {"session", ""}, {"code", "hold_closed"}, {"field", nullptr}});
    if (type == "error")
      return add({{"e", f.at("seq")}, {"session", session}, {"code", f.at("code")}, {"field", or_null(f, "field")}});
    if (type == "intervention") {
      if (f.at("id") == last_intervention_) return;  // the same intervention, to another session
      last_intervention_ = f.at("id");
      const bool is_cancel = f.at("action") == "cancel";
      json::object line{{"i", f.at("id")},
                        {"action", f.at("action")},
                        {"event", or_null(f, "event")},
                        {"recipients", is_cancel ? json::value(json::array()) : f.at("recipients")}};
      if (is_cancel) line["activations"] = f.at("activations");
      line["inject"] = f.contains("inject");
      // The verdicts that follow name its detection too.
      if (is_cancel && f.at("detections").at(0).at("event").is_string()) return cancels_.push_back(std::move(line));
      detections(f);
      return add(std::move(line));
    }
    for (const json::value& v : f.at("verdicts").as_array()) detections(v.as_object());
    for (json::object& line : std::exchange(cancels_, {})) add(std::move(line));
    for (const json::value& value : f.at("verdicts").as_array()) {
      const json::object& v = value.as_object();
      const bool to_nobody = v.contains("recipients") && v.at("recipients").as_array().empty();
      json::object line{{"v", f.at("seq")},
                        {"session", session},
                        {"event", v.at("event")},
                        {"action", v.at("action")},
                        {"recipients", to_nobody ? json::value() : or_null(v, "recipients")}};
      if (v.contains("hold")) line["hold"] = std::stoll(std::string(v.at("hold").as_string().subview(5)));
      line["inject"] = v.contains("inject");
      add(std::move(line));
    }
  }
  void detections(const json::object& f) {
    if (!f.contains("detections")) return;
    for (const json::value& d : f.at("detections").as_array()) detected(d.as_object());
  }
  void detected(const json::object& d) {
    const json::value total =
        d.contains("evidence_total") ? d.at("evidence_total") : json::value(d.at("evidence").as_array().size());
    json::object line{{"d", d.at("rule")},
                      {"at", d.at("at")},
                      {"ts", d.at("ts")},
                      {"session", d.at("session")},
                      {"event", d.at("event")},
                      {"agent", d.at("agent")},
                      {"evidence", d.at("evidence")},
                      {"total", total},
                      {"healed", d.at("healed")},
                      {"healing", d.at("healing")},
                      {"cause", d.at("cause")}};
    if (d.contains("action")) {
      line["action"] = d.at("action");
      line["limits"] = d.at("limits");
    }
    add(std::move(line));
  }

  std::vector<json::object> cancels_;
  std::string session_;
  json::value last_intervention_;
};

strings oracle_answers(const strings& trace) {
  strings texts = oracle::evaluate(trace);
  std::erase_if(texts, [](const std::string& line) { return line.starts_with("{\"s\""); });
  return texts;
}

std::string first_session(const strings& trace) {
  const json::object hello = json::parse(trace.front()).as_object();
  return hello.contains("session") ? std::string(hello.at("session").as_string()) : "main";
}

strings canonical(const strings& lines) {
  strings texts;
  for (const std::string& line : lines) texts.push_back(json::serialize(json::parse(line)));
  return texts;
}

}  // namespace

TEST_CASE("engine_and_oracle_give_the_expected_answers_to_each_conformance_vector") {
  const bool write = std::getenv("DIGD_WRITE_CONFORMANCE") != nullptr;
  std::size_t compared = 0;
  for (const fs::path& path : vectors()) {
    INFO(path.filename().string());
    const strings trace = lines_of(path);
    const trace_answers answers(trace);
    CHECK(answers.problem == "");
    if (write && !fs::exists(expectation_of(path))) {
      std::ofstream file(expectation_of(path));
      for (const std::string& line : answers.lines) file << line << '\n';
    }
    REQUIRE(fs::exists(expectation_of(path)));
    const strings expected = canonical(lines_of(expectation_of(path)));
    CHECK(answers.lines == expected);
    CHECK(oracle_answers(trace) == oracle_lines(expected, first_session(trace)).lines);
    ++compared;
  }
  CHECK(compared >= 30);
}

TEST_CASE("the_conformance_vectors_contain_every_rule_cause_action_and_error_of_traces") {
  std::string text;
  for (const fs::path& path : vectors()) {
    for (const std::string& line : lines_of(expectation_of(path))) text += line + '\n';
  }
  const auto check_contained = [&](const std::string& field, const strings& values) {
    for (const std::string& value : values) {
      INFO(field << ' ' << value);
      CHECK(text.find('"' + field + "\":\"" + value + '"') != std::string::npos);
    }
  };
  check_contained("rule", strings(failure_rule_names.begin(), failure_rule_names.end()));
  check_contained("cause", {"mode", "as_is", "unsupported", "target", "attempts", "budget", "ended"});
  check_contained("action", {"deliver", "inject", "reroute", "create"});
  check_contained("healing", {"inject", "reroute", "create"});
  check_contained("code",
                  {"bad_json", "bad_message", "bad_seq", "unknown_event", "unknown_activation", "activation_closed",
                   "duplicate_event", "duplicate_activation", "reserved_id", "settled_event", "not_an_input",
                   "failed_with_outputs", "submit_without_source", "run_closed"});
}
