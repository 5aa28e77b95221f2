// TextStream: token bytes in, displayable text out, holding back what may still change.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace headroom::engine {

/// One request's output text. Holds back a character whose bytes are not all there, and the longest
/// end that could become a stop text. Bytes that are no UTF-8 come out as U+FFFD.
class TextStream {
 public:
  /// `stop`: no empty strings. `include_stop` keeps the matched text.
  TextStream(std::vector<std::string> stop, bool include_stop)
      : stop_(std::move(stop)), include_stop_(include_stop) {}

  /// Adds a token's bytes; `may_stop` false: stop texts are not looked for yet (min_tokens), and
  /// none of this token's text counts towards a later match.
  void append(std::string_view bytes, bool may_stop = true);

  /// Index of the stop text that was found; nothing may be appended then.
  std::optional<size_t> stopped() const { return stopped_; }
  const std::string& stop_text(size_t index) const { return stop_[index]; }

  /// Text that is final and not yet taken.
  std::string take();
  /// Something is held back.
  bool holds() const { return joiner_.holds() || !text_.empty(); }
  /// The end of the output: everything that is left, an unfinished character as U+FFFD.
  std::string flush();

 private:
  void find_stop();
  size_t held_length() const;

  std::vector<std::string> stop_;
  bool include_stop_;
  base::Utf8Joiner joiner_;  // holds the start of a character
  std::string text_;         // decoded, not taken
  size_t ready_ = 0;         // of text_, may be taken
  std::optional<size_t> stopped_;
};

}  // namespace headroom::engine
