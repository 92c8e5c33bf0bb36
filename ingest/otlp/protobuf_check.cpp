#include "ingest/otlp/protobuf_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/wire_format_lite.h>
#include <simdjson.h>

#include <map>

#include "ingest/otlp/decode.h"

namespace digd::otlp {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;
using lite = google::protobuf::internal::WireFormatLite;

class walker {
 public:
  explicit walker(std::string_view bytes)
      : bytes_(bytes), in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  bool message(const Descriptor& of, const std::string& where, std::size_t depth) {
    if (depth > max_depth) return too_large(where, "more than " + std::to_string(max_depth) + " levels");
    if (++items_ > max_items)
      return too_large(where, "more than " + std::to_string(max_items) + " messages in one request");
    std::map<int, std::size_t> seen;
    while (in_.BytesUntilLimit() != 0 && static_cast<std::size_t>(in_.CurrentPosition()) < bytes_.size()) {
      const std::uint32_t tag = in_.ReadTag();
      const int number = lite::GetTagFieldNumber(tag);
      if (tag == 0 || number == 0) return fail(where, "expected a field's tag");
      const FieldDescriptor* known = of.FindFieldByNumber(number);
      if (known == nullptr) {
        if (!lite::SkipField(&in_, tag))
          return fail(where, "an unknown field, number " + std::to_string(number) + ", is broken");
        continue;
      }
      if (!field(*known, tag, name_of(*known, where, seen), depth)) return false;
    }
    return true;
  }
  protobuf_fault take() { return std::move(fault_); }

 private:
  static std::string name_of(const FieldDescriptor& field, const std::string& where, std::map<int, std::size_t>& seen) {
    std::string out = where.empty() ? std::string(field.name()) : where + '.' + std::string(field.name());
    if (field.is_repeated()) out += '[' + std::to_string(seen[field.number()]++) + ']';
    return out;
  }

  bool field(const FieldDescriptor& given_field, std::uint32_t tag, const std::string& where, std::size_t depth) {
    const auto expected = lite::WireTypeForFieldType(static_cast<lite::FieldType>(given_field.type()));
    if (lite::GetTagWireType(tag) != expected) {
      return fail(where, "its wire type is " + std::to_string(lite::GetTagWireType(tag)) + ", expected " +
                             std::to_string(expected) + " (" + given_field.type_name() + ")");
    }
    if (expected != lite::WIRETYPE_LENGTH_DELIMITED) {
      return lite::SkipField(&in_, tag) ||
             fail(where, std::string("expected a ") + given_field.type_name() + ", the bytes end before it does");
    }
    std::uint32_t length = 0;
    const std::size_t left = in_.BytesUntilLimit() < 0 ? bytes_.size() - static_cast<std::size_t>(in_.CurrentPosition())
                                                       : static_cast<std::size_t>(in_.BytesUntilLimit());
    if (!in_.ReadVarint32(&length)) return fail(where, "expected its length");
    if (length > left) return fail(where, "its length is " + std::to_string(length) + ", which is more than there is");
    const std::string_view text = bytes_.substr(static_cast<std::size_t>(in_.CurrentPosition()), length);
    if (given_field.type() == FieldDescriptor::TYPE_MESSAGE) {
      const auto limit = in_.PushLimit(static_cast<int>(length));
      if (!message(*given_field.message_type(), where, depth + 1)) return false;
      in_.PopLimit(limit);
      return true;
    }
    if (given_field.type() == FieldDescriptor::TYPE_STRING && !simdjson::validate_utf8(text.data(), text.size()))
      return fail(where, "expected UTF-8");
    return in_.Skip(static_cast<int>(length)) || fail(where, "the bytes end before it does");
  }

  bool fail(const std::string& where, const std::string& text) {
    fault_.message =
        "byte " + std::to_string(in_.CurrentPosition()) + (where.empty() ? "" : ", " + where) + ": " + text;
    return false;
  }
  bool too_large(const std::string& where, const std::string& text) {
    fault_.too_large = true;
    return fail(where, text);
  }

  const std::string_view bytes_;
  CodedInputStream in_;
  std::size_t items_ = 0;
  protobuf_fault fault_;
};

}  // namespace

protobuf_fault check_protobuf(const Descriptor& of, std::string_view bytes) {
  walker walk(bytes);
  walk.message(of, {}, 0);
  return walk.take();
}

}  // namespace digd::otlp
