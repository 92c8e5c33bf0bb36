#include "mcp/tools.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "base/deep_json.h"
#include "base/text.h"

namespace digd::mcp {

namespace {

namespace json = boost::json;

constexpr std::int64_t default_limit = 20;
constexpr std::int64_t max_limit = 100;
constexpr std::size_t max_cursor_digits = 19;

// A tool's arguments, read one by one. The first wrong one is the error.
class argument_reader {
 public:
  explicit argument_reader(const json::object& from) : from_(from) {}

  std::string text(std::string_view name, bool is_needed = true) {
    const json::value* value = from_.if_contains(name);
    if (value == nullptr || value->is_null()) {
      if (is_needed) fail(name, "is missing");
      return {};
    }
    if (!value->is_string()) fail(name, "must be a string");
    const std::string read = value->is_string() ? std::string(value->get_string().c_str()) : std::string();
    if (is_needed && read.empty()) fail(name, "is empty");
    return read;
  }

  // The whole number `name`, from 1 to `highest`; `usual` if it is not given.
  std::int64_t number(std::string_view name, std::int64_t usual, std::int64_t highest) {
    const json::value* value = from_.if_contains(name);
    if (value == nullptr || value->is_null()) return usual;
    json::error_code ec;
    const auto read = value->is_number() ? value->to_number<std::int64_t>(ec) : 0;
    if (ec || read < 1 || read > highest) fail(name, "must be a whole number from 1 to " + std::to_string(highest));
    return read;
  }

  // A cursor: a whole number, either as a string like `next_cursor` or as a number.
  std::string cursor(std::string_view name) {
    const json::value* value = from_.if_contains(name);
    if (value == nullptr || value->is_null()) return {};
    const std::string read = value->is_string() ? std::string(value->get_string().c_str()) : json::serialize(*value);
    const bool is_number = !read.empty() && read.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || read.size() > max_cursor_digits) fail(name, "must be `next_cursor` of the page before");
    return error_.empty() ? read : std::string();
  }

  std::string one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    std::string read = text(name);
    if (error_.empty() && std::find(words.begin(), words.end(), read) == words.end()) {
      std::string list;
      for (const std::string_view word : words) (list += list.empty() ? "" : ", ") += word;
      fail(name, "must be one of " + list);
    }
    return read;
  }

  const std::string& error() const { return error_; }

 private:
  void fail(std::string_view name, const std::string& complaint) {
    if (error_.empty()) error_ = "argument `" + std::string(name) + "` " + complaint;
  }
  const json::object& from_;
  std::string error_;
};

using finish = std::function<void(tool_result&&)>;
using with_body = std::function<void(const json::value&)>;

std::string error_text(const api_answer& answer) {
  if (answer.status == 0) return "digd does not answer: " + answer.body;
  json::error_code ec;
  const json::value body = parse_json(answer.body, ec);
  const json::value* error = ec || !body.is_object() ? nullptr : body.get_object().if_contains("error");
  const json::value* message =
      error == nullptr || !error->is_object() ? nullptr : error->get_object().if_contains("message");
  if (message != nullptr && message->is_string())
    return "digd refuses this: " + std::string(message->get_string().c_str());
  return "digd answers with status " + std::to_string(answer.status);
}

// Asks the API, and passes a good answer on as JSON.
void ask(const api_call& api, api_request&& request, const finish& done, const with_body& then) {
  api(std::move(request), [done, then](api_answer&& answer) {
    if (!answer.good()) return done({error_text(answer), true});
    json::error_code ec;
    const json::value body = parse_json(answer.body, ec);
    if (ec || !body.is_object()) return done({"digd's answer is not a JSON object", true});
    then(body);
  });
}

// The members of `from` with these names, in this order.
json::object pick(const json::object& from, std::initializer_list<std::string_view> names) {
  json::object picked;
  for (const std::string_view name : names) {
    if (const json::value* value = from.if_contains(name); value != nullptr && !value->is_null()) picked[name] = *value;
  }
  return picked;
}

// The elements of a list that are objects, each with these members only.
json::array pick_each(const json::value& body, std::string_view list, std::initializer_list<std::string_view> names) {
  json::array picked;
  const json::value* found = body.get_object().if_contains(list);
  if (found == nullptr || !found->is_array()) return picked;
  for (const json::value& each : found->get_array()) {
    if (each.is_object()) picked.emplace_back(pick(each.get_object(), names));
  }
  return picked;
}

tool_result data(const json::value& value) { return {std::string(data_note) + json::serialize(value)}; }

// Removes the largest members of an object until it fits; `too_large` then names them.
void shrink(json::object& object, std::size_t max_bytes) {
  json::array removed;
  while (json::serialize(object).size() > max_bytes) {
    std::string largest;
    std::size_t largest_size = 0;
    for (const auto& [name, value] : object) {
      const std::size_t size = json::serialize(value).size();
      if (name == "too_large" || size <= largest_size) continue;
      largest = name;
      largest_size = size;
    }
    if (largest.empty()) return;
    object.erase(largest);
    removed.emplace_back(largest);
    object["too_large"] = removed;
  }
}

// Removes elements from the end of a list in `result` until the result fits. Keeps the first one, without its largest
// members if it does not fit alone. Returns how many are left.
std::size_t fit(json::object& result, std::string_view list) {
  json::array& elements = result.at(list).as_array();
  std::size_t others = json::serialize(result).size(), kept = 0;
  std::vector<std::size_t> sizes;
  for (const json::value& each : elements) {
    sizes.push_back(json::serialize(each).size() + 1);  // with its comma
    others -= std::min(others, sizes.back());
  }
  constexpr std::size_t spare = 64;  // for the member that counts the elements left out
  const std::size_t room = max_result_bytes - std::min(max_result_bytes, others + spare);
  for (std::size_t bytes = 0; kept < elements.size() && (bytes += sizes[kept]) <= room;) ++kept;
  if (kept == 0 && !elements.empty()) {
    if (elements.front().is_object()) shrink(elements.front().get_object(), room);
    kept = 1;
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(kept), elements.end());
  return kept;
}

// A list of the API that comes in pages.
struct paged_list {
  std::string target;
  std::string_view name;  // of the member with the list
  json::array (*rows_of)(const json::value& body);
  std::int64_t limit = default_limit;
  std::string cursor;  // empty: the first page
};

paged_list read_page(argument_reader& from, paged_list list) {
  list.limit = from.number("limit", default_limit, max_limit);
  list.cursor = from.cursor("cursor");
  return list;
}

// If the rows do not fit into a result, asks the API again for fewer: only the API knows the cursor that follows a
// given row.
void list_page(const api_call& api, const paged_list& list, const finish& done) {
  std::string query = "?limit=" + std::to_string(list.limit);
  if (!list.cursor.empty()) query += "&cursor=" + list.cursor;
  ask(api, {"GET", list.target + query, {}}, done, [api, list, done](const json::value& body) {
    json::object result{{list.name, list.rows_of(body)}};
    result["next_cursor"] = body.get_object().contains("next") ? body.at("next") : json::value();
    const std::size_t rows = result.at(list.name).as_array().size(), kept = fit(result, list.name);
    if (kept == rows) return done(data(result));
    paged_list fewer = list;
    fewer.limit = std::min(list.limit - 1, static_cast<std::int64_t>(kept));
    if (fewer.limit < 1) return done({"digd answers with more rows than requested", true});
    list_page(api, fewer, done);
  });
}

json::array runs_of(const json::value& body) {
  return pick_each(body, "runs", {"run", "state", "ended", "mode", "labels", "opened_ms", "ended_ms", "counts"});
}

void list_runs(argument_reader& from, const api_call& api, const finish& done) {
  const paged_list list = read_page(from, {.target = "/v1/runs", .name = "runs", .rows_of = runs_of, .cursor = {}});
  if (!from.error().empty()) return done({from.error(), true});
  list_page(api, list, done);
}

void explain_run(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run");
  const auto page = static_cast<std::size_t>(from.number("page", 1, 10'000));
  if (!from.error().empty()) return done({from.error(), true});
  api({"GET", run_target(run, "/report?format=md"), {}}, [done, page](api_answer&& answer) {
    if (!answer.good()) return done({error_text(answer), true});
    done({std::string(data_note) + page_of(answer.body, page)});
  });
}

json::array detections_of(const json::value& body) {
  json::array detections;
  const json::value* list = body.get_object().if_contains("detections");
  if (list == nullptr || !list->is_array()) return detections;
  for (const json::value& each : list->get_array()) {
    if (!each.is_object()) continue;
    json::object entry = pick(each.get_object(), {"name", "outcome", "judgement"});
    const json::value* found = each.get_object().if_contains("detection");
    if (found != nullptr && found->is_object()) {
      for (auto& [name, value] : pick(found->get_object(), {"rule", "severity", "agent", "event", "evidence", "healed",
                                                            "healing", "cause", "reason", "limits", "witness"})) {
        entry[name] = value;
      }
    }
    detections.push_back(std::move(entry));
  }
  return detections;
}

void list_detections(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run");
  const paged_list list = read_page(
      from, {.target = run_target(run, "/detections"), .name = "detections", .rows_of = detections_of, .cursor = {}});
  if (!from.error().empty()) return done({from.error(), true});
  list_page(api, list, done);
}

void find_cause(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run");
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", run_target(run, "/report?format=json"), {}}, done, [done](const json::value& body) {
    json::object result = pick(body.get_object(), {"verdict"});
    json::array agents = pick_each(body, "agents", {"agent", "findings", "failed", "open", "waited", "discarded"});
    std::stable_sort(agents.begin(), agents.end(), [](const json::value& a, const json::value& b) {
      const auto findings = [](const json::value& of) {
        const json::value* n = of.get_object().if_contains("findings");
        return n != nullptr && n->is_number() ? n->to_number<double>() : 0.0;
      };
      return findings(a) > findings(b);
    });
    const std::size_t count = agents.size();
    result["agents_by_findings"] = std::move(agents);
    result["how_known"] =
        "From the graph that digd observed. `digctl report RUN` also attributes the failure by Shapley values.";
    if (const std::size_t kept = fit(result, "agents_by_findings"); kept < count) result["left_out"] = count - kept;
    done(data(result));
  });
}

json::object comparable(const json::value& body) {
  return pick(body.get_object(),
              {"run", "state", "ended", "mode", "labels", "counts", "detections", "opened_ms", "ended_ms"});
}

void compare_runs(argument_reader& from, const api_call& api, const finish& done) {
  const std::string first = from.text("first"), second = from.text("second");
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", run_target(first), {}}, done, [api, second, done](const json::value& body) {
    json::object before = comparable(body);
    ask(api, {"GET", run_target(second), {}}, done, [before, done](const json::value& body) {
      json::object first = before, second = comparable(body);
      for (json::object* run : {&first, &second}) shrink(*run, max_result_bytes / 2 - 32);
      done(data(json::object{{"first", std::move(first)}, {"second", std::move(second)}}));
    });
  });
}

void list_holds(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run");
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", run_target(run, "/holds"), {}}, done, [done](const json::value& body) {
    json::object result = body.get_object();
    const json::value* holds = result.if_contains("holds");
    if (holds == nullptr || !holds->is_array()) return done({"digd's answer has no list of holds", true});
    const std::size_t count = holds->get_array().size(), kept = fit(result, "holds");
    const json::value* before = result.if_contains("left_out");
    const std::int64_t left_out_before = before != nullptr && before->is_int64() ? before->get_int64() : 0;
    if (kept < count) result["left_out"] = left_out_before + static_cast<std::int64_t>(count - kept);
    done(data(result));
  });
}

void decide_hold(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run"), hold = from.text("hold");
  json::object decision{{"decision", from.one_of("decision", {"release", "return"})}, {"by", "mcp"}};
  if (const std::string text = from.text("text", false); !text.empty()) decision["text"] = text;
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"POST", run_target(run, "/holds/" + percent_encoded(hold)), json::serialize(decision)}, done,
      [done](const json::value& body) { done(data(body)); });
}

void set_mode(argument_reader& from, const api_call& api, const finish& done) {
  const json::object mode{{"mode", from.one_of("mode", {"off", "observe", "shadow", "enforce"})}};
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"PUT", "/v1/mode", json::serialize(mode)}, done, [done](const json::value& body) { done(data(body)); });
}

// ---- the table. New tools go here.

struct parameter {
  std::string_view name, type, description;
  bool is_needed = true;
};

constexpr parameter run_parameter{"run", "string", "The run's id, as list_runs gives it in `run`."};
constexpr parameter limit_parameter{"limit", "integer", "How many to list: 1 to 100, by default 20.", false};
constexpr parameter cursor_parameter{"cursor", "string",
                                     "`next_cursor` of the page before; leave it out for the first.", false};

struct tool {
  std::string_view name, description;
  std::array<parameter, 4> parameters;  // those without a name do not count
  bool changes = false;
  void (*call)(argument_reader&, const api_call&, const finish&);
};

constexpr tool tools[] = {
    {"list_runs",
     "Lists the runs that digd watched, newest first: state, outcome, labels, and how many detections each has. A "
     "coding "
     "agent finds its own runs by the labels `session`, `project`, `branch` and `model`. Start here.",
     {limit_parameter, cursor_parameter},
     false,
     list_runs},
    {"explain_run",
     "Explains a run in plain words: what happened, which agent did what, what went wrong and what digd did about it. "
     "Long reports have pages.",
     {run_parameter, parameter{"page", "integer", "The page, from 1.", false}},
     false,
     explain_run},
    {"list_detections",
     "Lists what the rules and guards found in a run, each with its evidence and witness (the part of the "
     "graph that explains it).",
     {run_parameter, limit_parameter, cursor_parameter},
     false,
     list_detections},
    {"who_caused",
     "Says where the first failure of a run came from, and which agents have findings, most first.",
     {run_parameter},
     false,
     find_cause},
    {"compare_runs",
     "Sets two runs side by side: outcome, labels, messages and detections by rule.",
     {parameter{"first", "string", "The id of one run."}, parameter{"second", "string", "The id of the other run."}},
     false,
     compare_runs},
    {"list_holds",
     "Lists the events of a run that wait for a person's decision, with the reason and the time at which they end by "
     "themselves.",
     {run_parameter},
     false,
     list_holds},
    {"decide_hold",
     "Decides a hold: `release` delivers the event, `return` gives it back to its sender. Needs the right `operate`. "
     "Ask the user first.",
     {run_parameter, parameter{"hold", "string", "The hold, for example hold:1."},
      parameter{"decision", "string", "release or return."},
      parameter{"text", "string", "Why; the sender reads it.", false}},
     true,
     decide_hold},
    {"set_mode",
     "Limits all rules of all runs to a mode: off, observe, shadow or enforce. Needs the right `operate`. Ask the user "
     "first.",
     {parameter{"mode", "string", "off, observe, shadow or enforce."}},
     true,
     set_mode},
};

}  // namespace

json::array describe_tools() {
  json::array list;
  for (const tool& each : tools) {
    json::object properties;
    json::array needed;
    for (const parameter& input : each.parameters) {
      if (input.name.empty()) continue;
      properties[input.name] = json::object{{"type", input.type}, {"description", input.description}};
      if (input.is_needed) needed.emplace_back(input.name);
    }
    json::object schema{{"type", "object"},
                        {"properties", std::move(properties)},
                        {"required", std::move(needed)},
                        {"additionalProperties", false}};
    list.push_back(
        json::object{{"name", each.name},
                     {"description", each.description},
                     {"inputSchema", std::move(schema)},
                     {"annotations", json::object{{"readOnlyHint", !each.changes}, {"openWorldHint", false}}}});
  }
  return list;
}

bool call_tool(std::string_view name, const json::object& arguments, const api_call& api, finish done) {
  for (const tool& each : tools) {
    if (each.name != name) continue;
    for (const auto& [given, value] : arguments) {
      const bool is_known = std::any_of(each.parameters.begin(), each.parameters.end(), [&](const parameter& declared) {
        return !declared.name.empty() && declared.name == std::string_view(given);
      });
      if (is_known) continue;
      done({"argument `" + std::string(given) + "` is not known", true});
      return true;
    }
    argument_reader reader(arguments);
    each.call(reader, api, done);
    return true;
  }
  return false;
}

std::string run_target(std::string_view run, std::string_view rest) {
  return "/v1/runs/" + percent_encoded(std::string(run)) + std::string(rest);
}

std::string page_of(const std::string& text, std::size_t number) {
  const std::size_t pages = std::max<std::size_t>((text.size() + max_result_bytes - 1) / max_result_bytes, 1);
  if (pages == 1) return text;
  const std::size_t page = std::clamp<std::size_t>(number, 1, pages);
  const auto is_inside = [&](std::size_t at) { return at < text.size() && continues_character(text[at]); };
  std::size_t begin = (page - 1) * max_result_bytes, end = std::min(page * max_result_bytes, text.size());
  while (is_inside(begin)) --begin;
  while (is_inside(end)) --end;
  return text.substr(begin, end - begin) + "\n[page " + std::to_string(page) + " of " + std::to_string(pages) + "]";
}

}  // namespace digd::mcp
