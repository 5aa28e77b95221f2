// Byte ↔ character table of byte-level BPE.
#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace headroom::text {

namespace {

// The characters stay below U+0144.
constexpr int kCharacters = 0x144;

struct Tables {
  std::array<int, 256> character{};
  std::array<int, kCharacters> byte{};

  Tables() {
    byte.fill(-1);
    int next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
      character[static_cast<size_t>(b)] = printable ? b : next++;
      byte[static_cast<size_t>(character[static_cast<size_t>(b)])] = b;
    }
  }
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

}  // namespace

std::string byte_character(uint8_t byte) {
  const int c = tables().character[byte];
  if (c < 0x80) return {static_cast<char>(c)};
  return {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const size_t length = base::utf8_length(spelling);
    if (length != 1 && length != 2) return std::nullopt;
    const auto lead = static_cast<uint8_t>(spelling[0]);
    const int c =
        length == 1 ? lead : (lead & 0x1F) << 6 | (static_cast<uint8_t>(spelling[1]) & 0x3F);
    if (c >= kCharacters || tables().byte[static_cast<size_t>(c)] < 0) return std::nullopt;
    bytes += static_cast<char>(tables().byte[static_cast<size_t>(c)]);
    spelling.remove_prefix(length);
  }
  return bytes;
}

}  // namespace headroom::text
