#include "mcp/tools.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <utility>

#include "base/text.h"
#include "net/client.h"

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

  std::int64_t number(std::string_view name, std::int64_t usual, std::int64_t highest) {
    const json::value* value = from_.if_contains(name);
    if (value == nullptr || value->is_null()) return usual;
    json::error_code ec;
    const auto read = value->is_number() ? value->to_number<std::int64_t>(ec) : -1;
    if (ec || read < 0 || read > highest) fail(name, "must be a whole number from 0 to " + std::to_string(highest));
    return read;
  }

  // A whole number, as the text that `next_cursor` is, or as a number.
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
  const json::value body = json::parse(answer.body, ec);
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
    const json::value body = json::parse(answer.body, ec);
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

tool_result data(const json::value& value, std::size_t page = 1) {
  return {std::string(data_note) + page_of(json::serialize(value), page)};
}

std::string page_parameters(argument_reader& from) {
  std::string query =
      "?limit=" + std::to_string(std::max<std::int64_t>(from.number("limit", default_limit, max_limit), 1));
  if (const std::string cursor = from.cursor("cursor"); !cursor.empty()) query += "&cursor=" + cursor;
  return query;
}

void list_runs(argument_reader& from, const api_call& api, const finish& done) {
  const std::string query = page_parameters(from);
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", "/v1/runs" + query, {}}, done, [done](const json::value& body) {
    json::object result{
        {"runs",
         pick_each(body, "runs", {"run", "state", "ended", "mode", "labels", "opened_ms", "ended_ms", "counts"})}};
    result["next_cursor"] = body.get_object().contains("next") ? body.at("next") : json::value();
    done(data(result));
  });
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

void list_detections(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run"), query = page_parameters(from);
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", run_target(run, "/detections" + query), {}}, done, [done](const json::value& body) {
    json::array detections;
    if (const json::value* list = body.get_object().if_contains("detections"); list != nullptr && list->is_array()) {
      for (const json::value& each : list->get_array()) {
        if (!each.is_object()) continue;
        json::object entry = pick(each.get_object(), {"name", "outcome", "judgement"});
        if (const json::value* found = each.get_object().if_contains("detection");
            found != nullptr && found->is_object()) {
          for (auto& [name, value] :
               pick(found->get_object(), {"rule", "severity", "agent", "event", "evidence", "healed", "healing",
                                          "cause", "message", "limits", "witness"})) {
            entry[name] = value;
          }
        }
        detections.push_back(std::move(entry));
      }
    }
    json::object result{{"detections", std::move(detections)}};
    result["next_cursor"] = body.get_object().contains("next") ? body.at("next") : json::value();
    done(data(result));
  });
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
    result["agents_by_findings"] = std::move(agents);
    result["how_known"] =
        "From the graph that digd observed. `digctl report RUN` also attributes the failure by Shapley values.";
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
      done(data(json::object{{"first", before}, {"second", comparable(body)}}));
    });
  });
}

void list_holds(argument_reader& from, const api_call& api, const finish& done) {
  const std::string run = from.text("run");
  if (!from.error().empty()) return done({from.error(), true});
  ask(api, {"GET", run_target(run, "/holds"), {}}, done, [done](const json::value& body) { done(data(body)); });
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
    for (const parameter& one : each.parameters) {
      if (one.name.empty()) continue;
      properties[one.name] = json::object{{"type", one.type}, {"description", one.description}};
      if (one.is_needed) needed.emplace_back(one.name);
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
  const auto is_inside = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t begin = (page - 1) * max_result_bytes, end = std::min(page * max_result_bytes, text.size());
  while (is_inside(begin)) --begin;
  while (is_inside(end)) --end;
  return text.substr(begin, end - begin) + "\n[page " + std::to_string(page) + " of " + std::to_string(pages) + "]";
}

}  // namespace digd::mcp
