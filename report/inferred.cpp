#include "report/inferred.h"

#include <algorithm>

#include "base/deep_json.h"

namespace digd::report {

namespace {

namespace json = boost::json;

bool lists(const json::object& of, std::string_view name) {
  const json::value* listed = of.if_contains("inferred");
  const json::array* names = listed == nullptr ? nullptr : listed->if_array();
  return names != nullptr && std::any_of(names->begin(), names->end(), [&](const json::value& v) {
           return v.is_string() && std::string_view(v.get_string()) == name;
         });
}

// The label `times`, which digd keeps of a hello.
bool has_label(const json::object& hello) {
  const json::value* found = hello.if_contains("labels");
  const json::object* labels = found == nullptr ? nullptr : found->if_object();
  const json::value* times = labels == nullptr ? nullptr : labels->if_contains("times");
  return times != nullptr && times->is_string() && times->get_string() == "inferred";
}

bool guesses_recipients(const json::value* event) {
  return event != nullptr && event->is_object() && lists(event->get_object(), "recipients");
}

}  // namespace

void inferred::note(std::string_view line) {
  if ((links && times) || line.find("\"inferred\"") == std::string_view::npos) return;
  boost::system::error_code failed;
  const json::value read = parse_json(line, failed);
  const json::object* message = failed ? nullptr : read.if_object();
  if (message == nullptr) return;
  const json::value* type = message->if_contains("type");
  const bool is_hello = type != nullptr && type->is_string() && type->get_string() == "hello";
  times = times || (is_hello && (lists(*message, "ts") || has_label(*message)));
  links = links || lists(*message, "inputs") || guesses_recipients(message->if_contains("event"));
  const json::value* outputs = message->if_contains("outputs");
  const json::array* events = outputs == nullptr ? nullptr : outputs->if_array();
  if (events == nullptr) return;
  for (const json::value& event : *events) links = links || guesses_recipients(&event);
}

}  // namespace digd::report
