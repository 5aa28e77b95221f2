// The alphabet of byte-level BPE: each byte is written as one printable character.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::text {

/// The character (UTF-8) that stands for a byte: itself where it is printable Latin-1, otherwise
/// U+0100 onwards in the order of the bytes.
std::string byte_character(uint8_t byte);

/// The bytes that a token's spelling stands for, or nothing when it holds another character.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace headroom::text
