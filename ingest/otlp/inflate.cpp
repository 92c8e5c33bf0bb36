#include "ingest/otlp/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace digd::otlp {

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr int either_format = MAX_WBITS + 32;  // zlib's word for "gzip or zlib, see its header"

class unpacker {
 public:
  unpacker() { ready_ = inflateInit2(&stream_, either_format) == Z_OK; }
  ~unpacker() { inflateEnd(&stream_); }
  unpacker(const unpacker&) = delete;
  unpacker& operator=(const unpacker&) = delete;

  boost::system::result<std::string, decode_failure> unpack(std::string_view packed, std::size_t max_bytes) {
    if (!ready_ || packed.size() > std::numeric_limits<uInt>::max())
      return decode_failure{"the body cannot be unpacked", true};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    std::string out;
    for (;;) {
      const std::size_t had = out.size();
      const std::size_t room = std::min(piece_bytes, max_bytes - had + 1);
      out.resize(had + room);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + had);
      stream_.avail_out = static_cast<uInt>(room);
      const int value = ::inflate(&stream_, Z_NO_FLUSH);
      out.resize(had + room - stream_.avail_out);
      if (out.size() > max_bytes)
        return decode_failure{"the body unpacks into more than " + std::to_string(max_bytes) + " bytes", true};
      if (value == Z_STREAM_END && stream_.avail_in == 0) return {boost::system::in_place_value, std::move(out)};
      if (value == Z_STREAM_END && inflateReset(&stream_) == Z_OK) continue;
      if (value != Z_OK) return broken(packed.size());
    }
  }

 private:
  decode_failure broken(std::size_t size) const {
    return {"byte " + std::to_string(size - stream_.avail_in) + " of the packed body: expected gzip, found " +
            (stream_.msg != nullptr ? std::string(stream_.msg) : std::string("its end"))};
  }

  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

boost::system::result<std::string, decode_failure> inflate(std::string_view packed, std::size_t max_bytes) {
  return unpacker().unpack(packed, max_bytes);
}

}  // namespace digd::otlp
