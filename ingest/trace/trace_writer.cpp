#include "ingest/trace/trace_writer.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "base/fnv_hash.h"
#include "base/text.h"
#include "model/settings.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

std::size_t written_bytes(std::string_view text) {
  std::size_t bytes = 2;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f') {
      bytes += 2;
    } else {
      bytes += byte < 0x20 ? 6 : 1;
    }
  }
  return bytes;
}

}  // namespace

std::string shortened(std::string_view name, std::size_t max_bytes) {
  if (name.size() <= max_bytes) return std::string(name);
  return std::string(utf8_prefix(name, max_bytes - 17)) + '~' + fnv_digits(name);
}

std::string run_id(std::string_view wanted) {
  std::string out = shortened(wanted, max_name_bytes);
  for (char& c : out) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return out.empty() ? "imported" : out;
}

bool cut_to_fit(std::string& text, std::size_t max_bytes) {
  bool cut = false;
  for (auto written = written_bytes(text); written > max_bytes; written = written_bytes(text)) {
    const auto over = written - max_bytes;
    // A character takes one to six bytes when it is written as JSON.
    const auto keep = text.size() - std::min(text.size(), std::max<std::size_t>(1, over / 6));
    text.resize(utf8_prefix(text, keep).size());
    cut = true;
    if (text.empty()) break;
  }
  return cut;
}

json::array string_array(const std::vector<std::string_view>& names) {
  json::array out;
  out.reserve(names.size());
  for (const auto name : names) out.emplace_back(json::string(name));
  return out;
}

// Makes a name that has a valid length, is not reserved, and is new; appends a `~` and a number if necessary.
std::string name_table::unlike_others(std::string wanted) const {
  if (wanted.empty()) wanted = "(empty)";
  if (kind_ == kind::id && wanted.starts_with("sys:")) wanted.insert(0, "dig:");
  auto tried = shortened(wanted, max_name_bytes);
  for (std::size_t n = 2; taken_.contains(tried); ++n) {
    tried = shortened(wanted + '~' + std::to_string(n), max_name_bytes);
  }
  return tried;
}

std::string_view name_table::safe(std::string_view name) {
  std::string key(name);
  if (const auto known = given_.find(key); known != given_.end()) return known->second;
  auto answer = unlike_others(key);
  if (answer != name) ++renamed_;
  taken_.insert(answer);
  return given_.emplace(std::move(key), std::move(answer)).first->second;
}

std::string_view name_table::fresh(std::string wanted) {
  return *taken_.insert(unlike_others(std::move(wanted))).first;
}

void trace_writer::hello(std::string_view run, const std::optional<std::vector<std::string_view>>& agents,
                         std::string_view client, json::object labels, const std::vector<std::string_view>& inferred,
                         json::object rules) {
  json::object line;
  line["type"] = "hello";
  line["protocol"] = 1;
  line["run"] = run_id(run);
  if (agents) line["agents"] = string_array(*agents);
  line["mode"] = "observe";
  line["clock"] = "trace";
  line["capabilities"] = {{"inject", false}, {"reroute", false}, {"create", false}};
  line["client"] = {{"name", json::string(client)}, {"version", "1"}};
  if (!rules.empty()) line["rules"] = std::move(rules);
  line["semantics"] = semantics_version;
  // Of a hello, digd keeps the labels and drops unknown members.
  if (std::find(inferred.begin(), inferred.end(), "ts") != inferred.end()) labels["times"] = "inferred";
  line["labels"] = std::move(labels);
  if (!inferred.empty()) line["inferred"] = string_array(inferred);
  lines_.push_back(json::serialize(line));
}

void trace_writer::message(std::string_view type, std::int64_t ts, json::object members) {
  now_ = std::max(now_, ts);
  json::object line;
  line["type"] = json::string(type);
  line["seq"] = ++seq_;
  line["ts"] = now_;
  for (auto& member : members) line.emplace(member.key(), std::move(member.value()));
  lines_.push_back(json::serialize(line));
}

}  // namespace digd::importers
