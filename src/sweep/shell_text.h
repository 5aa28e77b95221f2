// shell_text: a command line as a person would type it, quoted where it must be.
#pragma once

#include <string>
#include <vector>

namespace headroom::sweep {

inline std::string shell_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain =
        !word.empty() &&
        word.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%") ==
            std::string::npos;
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) {
      if (c == '\'')
        text += "'\\''";
      else
        text += c;
    }
    text += '\'';
  }
  return text;
}

}  // namespace headroom::sweep
