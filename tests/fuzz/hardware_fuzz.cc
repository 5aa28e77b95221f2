// Fuzz target: hardware files, the remembered machine entry and shape files.
#include "limit/machine.h"
#include "limit/shape.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)headroom::limit::parse_hardware(text, "fuzz");
  (void)headroom::limit::parse_machine(text, "fuzz");
  (void)headroom::limit::parse_shape(text, "fuzz");
  return 0;
}
