#include "cli/json_fields.h"

namespace digd::cli {

namespace json = boost::json;

std::string_view text_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view{};
}

std::int64_t integer_in(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_int64() ? found->get_int64() : 0;
}

bool is_true(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

const json::object& object_in(const json::object& from, std::string_view key) {
  static const json::object none;
  const json::value* found = from.if_contains(key);
  return found && found->is_object() ? found->get_object() : none;
}

const json::array& array_in(const json::object& from, std::string_view key) {
  static const json::array none;
  const json::value* found = from.if_contains(key);
  return found && found->is_array() ? found->get_array() : none;
}

}  // namespace digd::cli
