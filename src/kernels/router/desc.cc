// Text form of a router descriptor.
#include "kernels/router/desc.h"

namespace headroom::kernels {

std::string RouterDesc::text() const {
  return fmt::format(
      "router experts={} top_k={} groups={} top_groups={} scoring={} group_score={} bias={} "
      "normalize={} scaling={}",
      experts, top_k, groups, top_groups, scoring == Scoring::kSoftmax ? "softmax" : "sigmoid",
      group_score == GroupScore::kMax ? "max" : "top_two_sum", bias ? "yes" : "no",
      normalize ? "yes" : "no", scaling);
}

}  // namespace headroom::kernels
