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

base::Result<> SseParser::feed(std::string_view bytes, Sink sink) {
  while (!bytes.empty()) {
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
