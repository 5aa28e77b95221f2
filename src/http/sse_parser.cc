// Event stream parsing.
#include "http/sse_parser.h"

namespace headroom::http {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void SseParser::reset() {
  line_.clear();
  data_.clear();
  name_.clear();
  has_data_ = after_cr_ = started_ = false;
}

void SseParser::take_line(std::string_view line, Sink sink) {
  if (!started_) {
    started_ = true;
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    if (has_data_) sink(SseEvent{name_, data_});
    data_.clear();
    name_.clear();
    has_data_ = false;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  }
}

/// The usual event, "data: …\n\n" whole in the input, is handed on from where it lies. Returns the
/// bytes taken, 0 for anything else.
size_t SseParser::take_plain_event(std::string_view bytes, Sink sink) const {
  constexpr std::string_view kData = "data: ";
  if (!bytes.starts_with(kData)) return 0;
  const size_t end = bytes.find('\n', kData.size());
  if (end == std::string_view::npos || end + 1 >= bytes.size() || bytes[end + 1] != '\n' ||
      end > limit_)
    return 0;
  const std::string_view data = bytes.substr(kData.size(), end - kData.size());
  if (data.find('\r') != std::string_view::npos) return 0;
  sink(SseEvent{{}, data});
  return end + 2;
}

base::Result<> SseParser::feed(std::string_view bytes, Sink sink) {
  while (!bytes.empty()) {
    if (started_ && !after_cr_ && !has_data_ && line_.empty() && name_.empty()) {
      if (const size_t taken = take_plain_event(bytes, sink); taken > 0) {
        bytes.remove_prefix(taken);
        continue;
      }
    }
    if (after_cr_) {
      after_cr_ = false;
      if (bytes[0] == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = bytes.find_first_of("\r\n");
    const size_t taken = std::min(end, bytes.size());
    if (line_.size() + data_.size() + taken > limit_)
      return base::fail(base::ErrorCode::kTooLarge, "an event of the stream is above {} bytes",
                        limit_);
    if (end == std::string_view::npos) {
      line_ += bytes;
      break;
    }
    after_cr_ = bytes[end] == '\r';
    if (line_.empty()) {  // the usual case: the line lies whole in the input
      take_line(bytes.substr(0, end), sink);
    } else {
      line_ += bytes.substr(0, end);
      // The line moves out first, so that a sink that looks at the parser sees no half state.
      std::string line = std::move(line_);
      line_.clear();
      take_line(line, sink);
      line.clear();
      line_ = std::move(line);  // gives the capacity back
    }
    bytes.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace headroom::http
