// UTF-8 at the byte level: the length of the character that a text starts with.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom::base {

/// Bytes of the valid UTF-8 character at the start of `text` (1 to 4), or 0 when there is none:
/// empty, a stray or missing continuation byte, an overlong form, a surrogate, above U+10FFFF.
size_t utf8_length(std::string_view text);

/// True if `text` is a proper prefix of some valid character: more bytes could complete it.
bool utf8_incomplete(std::string_view text);

}  // namespace headroom::base
