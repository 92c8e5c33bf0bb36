// Reads foreign JSON by its expected shape and keeps the first failure, with its place.
//
// After a failure every further result is empty. The caller checks `failed()` before it uses results. The values belong
// to the parsed document, which the caller keeps. One reader a document; not thread-safe.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/trace/import_result.h"

namespace digd::importers {

inline constexpr std::size_t max_json_depth = 100;

class json_reader {
 public:
  // The object at the top of the document, or a failure. At most `max_bytes` bytes and `max_json_depth` levels.
  const boost::json::object* parse(std::string_view text, std::size_t max_bytes, boost::json::value& into);

  // Members by name. `where` is the object's own place ("history[3]"), empty at the top. `null` counts as
  // missing.
  const boost::json::value* find(const boost::json::object&, std::string_view key) const;
  const boost::json::object* object(const boost::json::object&, std::string_view key, std::string_view where,
                                    bool required);
  const boost::json::array* array(const boost::json::object&, std::string_view key, std::string_view where,
                                  bool required);
  std::optional<std::string_view> string(const boost::json::object&, std::string_view key, std::string_view where,
                                         bool required);
  std::optional<bool> boolean(const boost::json::object&, std::string_view key, std::string_view where);
  // Seconds since 1970 as microseconds; refused if not finite or beyond the year 5138.
  std::optional<std::int64_t> seconds(const boost::json::object&, std::string_view key, std::string_view where);

  void fail(import_errc code, std::string_view where, std::string_view text);
  bool failed() const { return failure_.has_value(); }
  const import_failure& failure() const { return *failure_; }

 private:
  void wrong_type(std::string_view where, std::string_view key, std::string_view expected,
                  const boost::json::value* found);
  const boost::json::value* take(const boost::json::object&, std::string_view key, std::string_view where,
                                 bool required, std::string_view expected);

  std::optional<import_failure> failure_;
};

// Text from a file for a message: in quotes, control characters and non-ASCII escaped, cut to 60 bytes.
std::string quoted(std::string_view text);

// "history[3].role" from "history[3]" and "role".
std::string place(std::string_view where, std::string_view key);

}  // namespace digd::importers
