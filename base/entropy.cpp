#include "base/entropy.h"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>
#include <vector>

#include "base/hex.h"

namespace digd {

namespace {

void fill(std::span<unsigned char> into) {
  if (!random_bytes(into)) throw std::system_error(errno, std::generic_category(), "getrandom");
}

}  // namespace

bool random_bytes(std::span<unsigned char> into) {
  while (!into.empty()) {
    const ssize_t count = ::getrandom(into.data(), into.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::uint64_t random_seed() {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  fill(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

std::string random_hex(std::size_t digits) {
  std::vector<unsigned char> bytes((digits + 1) / 2);
  fill(bytes);
  std::string out = to_hex(bytes.data(), bytes.size());
  out.resize(digits);
  return out;
}

}  // namespace digd
