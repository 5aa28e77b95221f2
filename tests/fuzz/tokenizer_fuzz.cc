// Fuzz target: any bytes as a tokenizer.json; an accepted one must encode and decode without fault.
#include <string_view>

#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = headroom::text::Tokenizer::parse("input", text);
  if (!tokenizer) return 0;
  const auto ids = tokenizer->encode("Hello, 東京 🚀 123  <|user|>\n", true);
  if (ids) tokenizer->decode(*ids, false);
  return 0;
}
