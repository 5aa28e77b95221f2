// Fuzz target: InferenceX's master files and runner tables, down to the recipes made of them.
#include "sweep/inferencex_recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headroom::sweep;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_inferencex_runners(text, "fuzz");
  const auto configs = parse_inferencex(text, "fuzz");
  if (!configs) return 0;
  (void)ix_recipes(*configs);
  const auto points = ix_points(*configs, {});
  if (points)
    for (const IxPoint& point : *points) (void)point.fingerprint();
  return 0;
}
