// Fuzzes the reader of records: what it accepts must survive writing and reading unchanged.
#include <cstdint>
#include <cstdlib>

#include "results/import.h"
#include "results/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headroom::results;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = record_from_json(text)) {
    const std::string kept = to_json(*record);
    const auto again = record_from_json(kept);
    if (!again || to_json(*again) != kept) std::abort();
  }
  (void)import_records(text, "fuzz");
  return 0;
}
