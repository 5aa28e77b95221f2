// InferenceX's configurations as recipes of ours, and what of them has no equivalent.
#pragma once

#include <string>
#include <vector>

#include "sweep/inferencex_points.h"

namespace headroom::sweep {

struct IxRecipe {
  std::string name;  // "dsr1-fp8-h200-sglang-8k1k"
  std::string text;  // YAML that parse_recipe reads
  size_t points = 0;
};

/// What was not taken over, in one line: the place in their file and why.
struct IxGap {
  std::string config, where, reason;
  size_t points = 0;
};

struct IxConversion {
  std::vector<IxRecipe> recipes;
  std::vector<IxGap> gaps;
};

/// Single-node vLLM and SGLang configurations of fixed lengths without speculation become
/// container recipes, one for each pair of lengths. Their master file holds no launch flags beyond
/// the layout (scripts do): the recipes say so.
IxConversion ix_recipes(const std::vector<IxConfig>& configs);

}  // namespace headroom::sweep
