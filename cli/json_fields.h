// Members of a JSON object that may be missing or have another type: then they count as empty. For answers of digd, and
// for frames that another version may have sent.
//
// Thread: any. Lifetime: views and references are valid as long as the object that is read.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace digd::cli {

std::string_view text_in(const boost::json::object& from, std::string_view key);
std::int64_t integer_in(const boost::json::object& from, std::string_view key);  // missing: 0
bool is_true(const boost::json::object& from, std::string_view key);
const boost::json::object& object_in(const boost::json::object& from, std::string_view key);
const boost::json::array& array_in(const boost::json::object& from, std::string_view key);

}  // namespace digd::cli
