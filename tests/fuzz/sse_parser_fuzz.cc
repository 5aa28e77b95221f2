// Fuzzes the event stream parser: the first byte says where to cut; both ways must agree.
#include <cstdint>
#include <cstdlib>

#include "http/sse_parser.h"

namespace {

std::string parse(std::initializer_list<std::string_view> pieces) {
  headroom::http::SseParser parser(1 << 16);
  std::string seen;
  for (const std::string_view piece : pieces)
    if (!parser.feed(piece, [&](const headroom::http::SseEvent& event) {
          seen += fmt::format("{}|{}\n", event.name, event.data);
        }))
      break;
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = text.empty() ? 0 : data[0] % (text.size() + 1);
  if (size < 4096 && parse({text}) != parse({text.substr(0, cut), text.substr(cut)})) std::abort();
  return 0;
}
