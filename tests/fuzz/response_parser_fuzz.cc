// Fuzzes the HTTP response parser: the first byte says where to cut; both ways must agree.
#include <cstdint>
#include <cstdlib>

#include "http/response_parser.h"

namespace {

std::string parse(std::initializer_list<std::string_view> pieces) {
  headroom::http::ResponseParser parser;
  std::string body;
  for (const std::string_view piece : pieces)
    if (!parser.feed(piece, [&](std::string_view part) { body += part; })) return body + "|failed";
  const bool closed = parser.close().has_value();
  return fmt::format("{}|{}|{}|{}", body, parser.head().status, closed, parser.keep_alive());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = text.empty() ? 0 : data[0] % (text.size() + 1);
  if (parse({text}) != parse({text.substr(0, cut), text.substr(cut)})) std::abort();
  return 0;
}
