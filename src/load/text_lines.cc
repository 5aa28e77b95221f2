// Splitting text into lines.
#include "load/text_lines.h"

#include <algorithm>

#include "base/utf8.h"

namespace headroom::load {

void for_each_line(std::string_view text,
                   const std::function<bool(std::string_view, size_t)>& take) {
  constexpr std::string_view kBlank = " \t\r";
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  size_t number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const size_t first = line.find_first_not_of(kBlank);
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_last_not_of(kBlank) - first + 1);
    if (!take(line, number)) return;
  }
}

std::string shortened(std::string_view text) {
  constexpr size_t kLimit = 60;
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    if (result.size() >= kLimit) return result + "…";
    const size_t length = base::utf8_length(rest);
    if (length == 0 || static_cast<unsigned char>(rest[0]) < ' ' || rest[0] == 127)
      result += '?';
    else
      result += rest.substr(0, length);
    rest.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace headroom::load
