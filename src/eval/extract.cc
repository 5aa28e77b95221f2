// Two small scanners.
#include "eval/extract.h"

namespace headroom::eval {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_strict(char c) {
  return is_digit(c) || c == '.' || c == ',';
}
bool is_loose(char c) {
  return is_strict(c) || c == '$';
}

/// End of the longest run of `in` from `at` on.
template <typename In>
size_t run_end(std::string_view text, size_t at, In in) {
  while (at < text.size() && in(text[at])) ++at;
  return at;
}

}  // namespace

std::optional<std::string> strict_match(std::string_view answer) {
  constexpr std::string_view kMark = "#### ";
  for (size_t at = answer.find(kMark); at != std::string_view::npos;
       at = answer.find(kMark, at + 1)) {
    const size_t start = at + kMark.size();
    const size_t digits = start + (start < answer.size() && answer[start] == '-' ? 1 : 0);
    const size_t end = run_end(answer, digits, is_strict);
    if (end > digits) return std::string(answer.substr(start, end - start));
  }
  return std::nullopt;
}

std::optional<std::string> flexible_match(std::string_view answer) {
  std::optional<std::string> last;
  for (size_t at = 0; at < answer.size();) {
    const size_t start = at + (answer[at] == '-' ? 1 : 0);
    size_t end = run_end(answer, start, is_loose);
    if (end < start + 2) end = run_end(answer, start, is_digit);
    if (end == start) {
      ++at;
      continue;
    }
    last = std::string(answer.substr(at, end - at));
    at = end;
  }
  return last;
}

std::string normalised(std::string_view number) {
  std::string out;
  for (const char c : number)
    if (c != ',' && c != '$') out += c;
  if (!out.empty() && out.back() == '.') out.pop_back();
  return out;
}

}  // namespace headroom::eval
