// Windows: a text cut into what one request each scores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::eval {

/// Either ids, of which all but the first are scored, or text.
struct Window {
  std::vector<int32_t> ids;
  std::string text;
};

/// Windows of `scored` + 1 ids that step by `scored`, so that every id but the first is scored
/// once. The last may be shorter, two ids at least.
std::vector<Window> id_windows(const std::vector<int32_t>& ids, int64_t scored);

/// Pieces of about `bytes`, cut behind white space where there is some, never inside a character.
std::vector<Window> text_windows(std::string_view text, size_t bytes);

}  // namespace headroom::eval
