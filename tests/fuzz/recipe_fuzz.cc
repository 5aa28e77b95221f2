// Recipes: any text is a recipe with a plan or one line of error.
#include <string>

#include "sweep/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recipe = headroom::sweep::parse_recipe(text, "fuzz.yaml");
  if (!recipe) {
    if (recipe.error().message.empty()) __builtin_trap();
    return 0;
  }
  // A product of many axes is legal and merely slow.
  size_t product = 1;
  for (const auto& entry : recipe->search)
    for (const auto& axis : entry.axes) product *= std::min<size_t>(axis.values.size(), 64);
  if (product <= 64) (void)headroom::sweep::make_plan(*recipe);
  return 0;
}
