// Request parsing of the mock server.
#include "load/mock/mock_request.h"

#include <simdjson.h>

#include <charconv>

#include "base/rng.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;

namespace {

constexpr size_t kHeadLimit = 64 << 10;
constexpr size_t kBodyLimit = 64 << 20;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool same_name(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() &&
         std::equal(a.begin(), a.end(), lower.begin(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x | 32 : x) == y; });
}

void count_words(std::string_view text, MockCall& call) {
  bool inside = false;
  for (const char c : text) {
    const bool word = c != ' ' && c != '\n';
    call.prompt_tokens += word && !inside;
    inside = word;
    call.prompt_digest = (call.prompt_digest ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  }
}

}  // namespace

base::Result<std::optional<MockRequest>> take_mock_request(std::string& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (bytes.size() > kHeadLimit)
      return fail(ErrorCode::kTooLarge, "a request head above {} bytes", kHeadLimit);
    return std::nullopt;
  }
  MockRequest request;
  std::string_view head(bytes.data(), end);
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' '), second = line.rfind(' ');
  if (first == std::string_view::npos || second <= first)
    return fail(ErrorCode::kInvalidArgument, "not a request line");
  request.method = line.substr(0, first);
  request.path = line.substr(first + 1, second - first - 1);
  size_t length = 0;
  head.remove_prefix(line.size());
  while (!head.empty()) {
    head.remove_prefix(std::min<size_t>(2, head.size()));
    const std::string_view header = head.substr(0, head.find("\r\n"));
    head.remove_prefix(header.size());
    const size_t colon = std::min(header.find(':'), header.size());
    const std::string_view name = header.substr(0, colon);
    const std::string_view value = trimmed(header.substr(std::min(colon + 1, header.size())));
    if (same_name(name, "x-request-id")) request.request_id = value;
    if (same_name(name, "content-length")) {
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), length);
      if (parsed.ec != std::errc{} || length > kBodyLimit)
        return fail(ErrorCode::kTooLarge, "a request body of {} bytes", value);
    }
  }
  const size_t total = end + 4 + length;
  if (bytes.size() < total) return std::nullopt;
  request.body = bytes.substr(end + 4, length);
  bytes.erase(0, total);
  return request;
}

base::Result<MockCall> parse_mock_call(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS)
    return fail(ErrorCode::kInvalidArgument, "the body is not a JSON object");
  MockCall call;
  call.prompt_digest = 0xCBF29CE484222325ull;
  std::string_view text;
  if (root["model"].get(text) == simdjson::SUCCESS) call.model = text;
  simdjson::dom::array array;
  if (root["prompt"].get(text) == simdjson::SUCCESS) {
    count_words(text, call);
  } else if (root["prompt"].get(array) == simdjson::SUCCESS) {
    for (const auto element : array) {
      int64_t id = 0;
      if (element.get(id) != simdjson::SUCCESS || id < 0)
        return fail(ErrorCode::kInvalidArgument, "prompt: not a list of token ids");
      ++call.prompt_tokens;
      call.prompt_digest = (call.prompt_digest ^ static_cast<uint64_t>(id)) * 0x100000001B3ull;
    }
  } else if (root["messages"].get(array) == simdjson::SUCCESS) {
    for (const auto message : array)
      if (message["content"].get(text) == simdjson::SUCCESS) count_words(text, call);
  } else {
    return fail(ErrorCode::kInvalidArgument, "neither prompt nor messages");
  }
  int64_t number = 0;
  bool flag = false;
  if (root["max_tokens"].get(number) == simdjson::SUCCESS) call.max_tokens = number;
  if (call.max_tokens < 1) return fail(ErrorCode::kInvalidArgument, "max_tokens is below 1");
  if (root["stream"].get(flag) == simdjson::SUCCESS) call.stream = flag;
  if (root["stream_options"]["include_usage"].get(flag) == simdjson::SUCCESS) call.usage = flag;
  return call;
}

}  // namespace headroom::load
