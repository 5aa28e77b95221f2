// HTTP/1.1 response parsing.
#include "http/response_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace headroom::http {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  return result;
}

bool token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
         kMarks.find(c) != std::string_view::npos;
}

/// Is `token` one of the comma-separated words of `list`?
bool lists(std::string_view list, std::string_view token) {
  const std::string words = lower(list);
  std::string_view rest = words;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (trimmed(rest.substr(0, comma)) == token) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

/// A number in `digits` and nothing else; at most 2^53, more than any real length.
std::optional<uint64_t> parse_length(std::string_view digits, int number_base) {
  uint64_t value = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value, number_base);
  if (error != std::errc{} || end != last || value > (uint64_t{1} << 53)) return std::nullopt;
  return value;
}

/// Text of a stranger for an error message: short and printable.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, 60));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  return result;
}

}  // namespace

std::string_view ResponseHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

void ResponseParser::reset() {
  state_ = State::kStatusLine;
  line_.clear();
  head_bytes_ = 0;
  remaining_ = 0;
  keep_alive_ = true;
  head_.status = 0;
  head_.headers.clear();
}

Result<> ResponseParser::take_status_line(std::string_view line) {
  if (line.empty() && head_bytes_ <= 4) return {};  // a stray CRLF before the response is allowed
  const bool shape = line.size() >= 12 && line.starts_with("HTTP/1.") && line[8] == ' ' &&
                     (line.size() == 12 || line[12] == ' ');
  const auto status = shape ? parse_length(line.substr(9, 3), 10) : std::nullopt;
  if (!status || *status < 100 || *status > 599 || (line[7] != '0' && line[7] != '1'))
    return fail(ErrorCode::kDataLoss, "not an HTTP/1.1 status line: \"{}\"", shown(line));
  head_.status = static_cast<int>(*status);
  head_.minor_version = line[7] - '0';
  state_ = State::kHeader;
  return {};
}

Result<> ResponseParser::take_header(std::string_view line) {
  if (line.empty()) return end_head();
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || name.empty() ||
      !std::all_of(name.begin(), name.end(), token_character))
    return fail(ErrorCode::kDataLoss, "not an HTTP header line: \"{}\"", shown(line));
  head_.headers.emplace_back(lower(name), trimmed(line.substr(colon + 1)));
  return {};
}

Result<> ResponseParser::end_head() {
  if (head_.status < 200) {  // 1xx: the real response follows
    state_ = State::kStatusLine;
    head_.headers.clear();
    return {};
  }
  std::optional<uint64_t> length;
  std::string_view transfer;
  keep_alive_ = head_.minor_version == 1;
  for (const auto& [name, value] : head_.headers) {
    if (name == "content-length") {
      const auto parsed = parse_length(value, 10);
      if (!parsed || (length && *length != *parsed))
        return fail(ErrorCode::kDataLoss, "Content-Length \"{}\" is not one length", shown(value));
      length = parsed;
    } else if (name == "transfer-encoding") {
      transfer = value;
    } else if (name == "connection") {
      if (lists(value, "close")) keep_alive_ = false;
      if (lists(value, "keep-alive")) keep_alive_ = true;
    }
  }
  if (head_.status == 204 || head_.status == 304) {
    state_ = State::kComplete;
  } else if (!transfer.empty()) {
    if (lower(transfer) != "chunked")
      return fail(ErrorCode::kDataLoss, "Transfer-Encoding \"{}\" is not chunked", shown(transfer));
    if (length) keep_alive_ = false;  // RFC 9112 6.3: smells of smuggling, do not reuse
    state_ = State::kChunkSize;
  } else if (length) {
    remaining_ = *length;
    state_ = *length == 0 ? State::kComplete : State::kFixedBody;
  } else {
    keep_alive_ = false;
    state_ = State::kCloseBody;
  }
  return {};
}

Result<> ResponseParser::take_chunk_size(std::string_view line) {
  const std::string_view digits = trimmed(line.substr(0, line.find(';')));
  const auto size = digits.empty() ? std::nullopt : parse_length(digits, 16);
  if (!size) return fail(ErrorCode::kDataLoss, "not a chunk size: \"{}\"", shown(line));
  remaining_ = *size;
  state_ = *size == 0 ? State::kTrailer : State::kChunkBody;
  return {};
}

Result<> ResponseParser::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  switch (state_) {
    case State::kStatusLine:
      return take_status_line(line);
    case State::kHeader:
      return take_header(line);
    case State::kChunkSize:
      return take_chunk_size(line);
    case State::kChunkEnd:
      if (!line.empty())
        return fail(ErrorCode::kDataLoss, "a chunk is longer than its size says: \"{}\"",
                    shown(line));
      state_ = State::kChunkSize;
      return {};
    default:  // kTrailer
      if (line.empty()) state_ = State::kComplete;
      return {};
  }
}

Result<size_t> ResponseParser::feed(std::string_view bytes, Sink body) {
  const size_t total = bytes.size();
  while (!bytes.empty() && state_ != State::kComplete) {
    if (state_ == State::kCloseBody) {
      body(bytes);
      return total;
    }
    if (state_ == State::kFixedBody || state_ == State::kChunkBody) {
      const size_t taken = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size()));
      remaining_ -= taken;
      if (remaining_ == 0)
        state_ = state_ == State::kFixedBody ? State::kComplete : State::kChunkEnd;
      const std::string_view part = bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      body(part);
      continue;
    }
    const size_t end = bytes.find('\n');
    const size_t taken = std::min(end, bytes.size());
    const bool chunk_line = state_ == State::kChunkSize || state_ == State::kChunkEnd;
    if (line_.size() + taken > limits_.line || (!chunk_line && head_bytes_ > limits_.head))
      return fail(ErrorCode::kTooLarge, "a response head has a line above {} or is above {} bytes",
                  limits_.line, limits_.head);
    if (end == std::string_view::npos) {
      line_ += bytes;
      return total;
    }
    // Counted when the line is whole, so that where the network cut it makes no difference.
    if (!chunk_line) head_bytes_ += line_.size() + taken + 1;
    if (line_.empty()) {
      HEADROOM_TRY_VOID(take_line(bytes.substr(0, end)));
    } else {
      line_ += bytes.substr(0, end);
      const auto taken_line = take_line(line_);
      line_.clear();
      if (!taken_line) return tl::unexpected(taken_line.error());
    }
    bytes.remove_prefix(end + 1);
  }
  return total - bytes.size();
}

Result<> ResponseParser::close() {
  switch (state_) {
    case State::kCloseBody:
      state_ = State::kComplete;
      return {};
    case State::kComplete:
      return {};
    case State::kStatusLine:
    case State::kHeader:
      return fail(ErrorCode::kDataLoss,
                  "the connection closed before the response's head was whole");
    default:
      return fail(ErrorCode::kDataLoss,
                  "the connection closed in the middle of the response's body");
  }
}

}  // namespace headroom::http
