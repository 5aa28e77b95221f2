// RoutingTrace: which experts each token took and by how little: what tells a flipped expert at a
// near-tie from a mistake.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/router/desc.h"

namespace headroom::model {

/// One router run of one token.
struct RoutingRow {
  int32_t layer = 0;
  int32_t position = 0;            // of the token in its sequence
  std::vector<int32_t> experts{};  // ascending
  std::vector<float> choice{};     // [experts] what the choice was made by: score + bias
  float gap = 0;                   // routing_gap() of `choice`
};
using RoutingTrace = std::vector<RoutingRow>;

/// What the router chooses by: softmax or sigmoid of the logits, plus the bias (null: none).
std::vector<float> choice_values(const kernels::RouterDesc& desc, const float* logits,
                                 const float* bias);

/// How much choice values must move for another set of experts to be chosen: the least of (last
/// chosen expert - best expert left out within the chosen groups) and, with groups, (last chosen
/// group's score - best group left out). A change of every value by less than half of it (a quarter
/// where a group's score is a sum of two) flips nothing. +inf when nothing is left out.
float routing_gap(const kernels::RouterDesc& desc, std::span<const float> choice);

}  // namespace headroom::model
