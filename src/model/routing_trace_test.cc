// Routing gaps of hand-made choices.
#include "model/routing_trace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::model {
namespace {

TEST(RoutingGap, PlainTopK) {
  const kernels::RouterDesc desc{.experts = 4, .top_k = 2};
  EXPECT_FLOAT_EQ(routing_gap(desc, std::vector<float>{0.9f, 0.5f, 0.4f, 0.1f}), 0.1f);
  const kernels::RouterDesc all{.experts = 2, .top_k = 2};
  EXPECT_TRUE(std::isinf(routing_gap(all, std::vector<float>{0.9f, 0.5f})));
}

TEST(RoutingGap, GroupsMayBeTheNearerTie) {
  // Group scores 1.3, 1.25, 0.3. With two groups the nearest tie is between experts 2 and 3; with
  // one it is between the groups.
  kernels::RouterDesc desc{.experts = 6, .top_k = 2, .groups = 3, .top_groups = 2};
  EXPECT_FLOAT_EQ(routing_gap(desc, std::vector<float>{0.9f, 0.4f, 0.75f, 0.5f, 0.2f, 0.1f}),
                  0.25f);
  desc.top_groups = 1;
  EXPECT_NEAR(routing_gap(desc, std::vector<float>{0.9f, 0.4f, 0.75f, 0.5f, 0.2f, 0.1f}), 0.05f,
              1e-6f);
  desc.group_score = kernels::GroupScore::kMax;
  EXPECT_NEAR(routing_gap(desc, std::vector<float>{0.9f, 0.4f, 0.75f, 0.5f, 0.2f, 0.1f}), 0.15f,
              1e-6f);
}

TEST(RoutingGap, ChoiceValuesHoldTheBias) {
  const kernels::RouterDesc sigmoid{.experts = 2, .top_k = 1};
  const float logits[] = {0, 0}, bias[] = {0.25f, 0};
  EXPECT_EQ(choice_values(sigmoid, logits, bias), (std::vector<float>{0.75f, 0.5f}));
  const kernels::RouterDesc softmax{
      .experts = 2, .top_k = 1, .scoring = kernels::Scoring::kSoftmax, .bias = false};
  EXPECT_EQ(choice_values(softmax, logits, bias), (std::vector<float>{0.5f, 0.5f}));
}

}  // namespace
}  // namespace headroom::model
