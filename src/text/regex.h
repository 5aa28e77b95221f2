// Regex: a compiled pattern of a tokenizer's pre-tokeniser (the only place that knows PCRE2).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace headroom::text {

/// Any thread may match with the same Regex.
class Regex {
 public:
  /// Tokenizer files are written for other engines (Oniguruma, Rust). What PCRE2 would read
  /// differently is translated ([a&&[^b]] into a lookahead) or refused: kUnsupported.
  static base::Result<Regex> compile(std::string_view pattern);

  /// First match at or after `from`: [begin, end), or nothing. `text` must be valid UTF-8.
  /// Error (kResourceExhausted): the pattern takes too many steps on this text.
  base::Result<std::optional<std::pair<size_t, size_t>>> find(std::string_view text,
                                                              size_t from) const;

 private:
  struct Free {
    void operator()(void* code) const;
  };
  std::unique_ptr<void, Free> code_;
};

/// `pattern` with set intersections written as lookaheads; kUnsupported for what has no
/// translation.
base::Result<std::string> translate_pattern(std::string_view pattern);

}  // namespace headroom::text
