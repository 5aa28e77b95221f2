// Fuzzes the CSV import and the selectors: an error or records that can be kept.
#include <cstdint>
#include <cstdlib>

#include "results/import.h"
#include "results/selector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headroom::results;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto imported = import_csv(text, "fuzz"))
    for (const auto& row : imported->rows)
      if (!record_from_json(to_json(row.entry.record))) std::abort();
  if (const auto selector = parse_selector(text)) (void)selector->matches(Record{});
  return 0;
}
