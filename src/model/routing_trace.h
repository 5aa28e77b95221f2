// RoutingTrace: which experts each token took and by how little: what tells a flipped expert at a
// near-tie from a mistake.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/router/desc.h"

namespace headroom::model {

/// One router run of one token.
struct RoutingRow {
  int32_t layer = 0;
  int32_t position = 0;          // of the token in its sequence
  std::vector<int32_t> experts;  // ascending
  float gap = 0;                 // routing_gap()
};
using RoutingTrace = std::vector<RoutingRow>;

/// How much a choice value would have to move for another set of experts to be chosen: the least of
/// (last chosen expert - best expert left out within the chosen groups) and, with groups,
/// (last chosen group's score - best group left out). +inf when nothing is left out.
/// logits, bias: [experts], bias may be null.
float routing_gap(const kernels::RouterDesc& desc, const float* logits, const float* bias);

}  // namespace headroom::model
