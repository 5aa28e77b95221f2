// Cutting.
#include "eval/windows.h"

#include <algorithm>

namespace headroom::eval {

std::vector<Window> id_windows(const std::vector<int32_t>& ids, int64_t scored) {
  std::vector<Window> windows;
  const auto step = static_cast<size_t>(scored);
  for (size_t begin = 0; begin + 1 < ids.size(); begin += step) {
    const size_t end = std::min(begin + step + 1, ids.size());
    windows.push_back(
        {{ids.begin() + static_cast<ptrdiff_t>(begin), ids.begin() + static_cast<ptrdiff_t>(end)},
         {}});
  }
  return windows;
}

std::vector<Window> text_windows(std::string_view text, size_t bytes) {
  std::vector<Window> windows;
  while (!text.empty()) {
    size_t end = std::min(bytes, text.size());
    if (end < text.size()) {
      // A token rarely spans white space that follows a word, so the cut costs least there.
      const size_t space = text.substr(0, end).find_last_of(" \n");
      if (space != std::string_view::npos && space > end / 2) end = space;
      const auto inside = [&](size_t at) {
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
      };
      while (end > 0 && inside(end)) --end;
      if (end == 0)  // a character longer than the piece
        for (end = 1; inside(end);) ++end;
    }
    windows.push_back({{}, std::string(text.substr(0, end))});
    text.remove_prefix(end);
  }
  return windows;
}

}  // namespace headroom::eval
