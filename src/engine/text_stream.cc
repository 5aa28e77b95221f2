// The search for stop texts.
#include "engine/text_stream.h"

#include <algorithm>

#include "base/check.h"

namespace headroom::engine {

void TextStream::append(std::string_view bytes, bool may_stop) {
  HEADROOM_CHECK(!stopped_, "text after stop text {}", *stopped_);
  text_ += joiner_.push(bytes);
  if (may_stop && !stop_.empty()) {
    find_stop();
  } else {
    ready_ = text_.size();
  }
}

void TextStream::find_stop() {
  // Only text_ from ready_ on can take part in a match: what was released before could not start
  // one, or it would have been held.
  size_t best = std::string::npos;
  for (size_t i = 0; i < stop_.size(); ++i) {
    const size_t at = text_.find(stop_[i], ready_);
    if (at != std::string::npos && (best == std::string::npos || at < best)) {
      best = at;
      stopped_ = i;
    }
  }
  if (stopped_) {
    text_.resize(best + (include_stop_ ? stop_[*stopped_].size() : 0));
    joiner_.clear();
    ready_ = text_.size();
  } else {
    ready_ = text_.size() - held_length();
  }
}

size_t TextStream::held_length() const {
  const std::string_view fresh = std::string_view(text_).substr(ready_);
  size_t held = 0;
  for (const std::string& stop : stop_) {
    for (size_t n = std::min(stop.size() - 1, fresh.size()); n > held; --n) {
      if (fresh.ends_with(std::string_view(stop).substr(0, n))) held = n;
    }
  }
  return held;
}

std::string TextStream::take() {
  std::string out = text_.substr(0, ready_);
  text_.erase(0, ready_);
  ready_ = 0;
  return out;
}

std::string TextStream::flush() {
  text_ += joiner_.flush();
  ready_ = text_.size();
  return take();
}

}  // namespace headroom::engine
