// Fuzzes the readers of foreign JSON result files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "results/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)headroom::results::import_text(
      std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json",
      headroom::results::ImportFormat::kJson);
  return 0;
}
