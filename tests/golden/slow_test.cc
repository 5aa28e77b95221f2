// The whole of the held-out text, on every path: minutes, so only with HEADROOM_SLOW=1.
#include <gtest/gtest.h>

#include "golden.h"
#include "stream.h"

namespace headroom::golden {
namespace {

constexpr int kAll = 24;

void check(const model::LoadOptions& options, double tolerance) {
  if (!slow()) GTEST_SKIP() << "set HEADROOM_SLOW=1";
  Runner runner(embedded_model(), options);
  const double difference = validation_difference(runner, kAll);
  fmt::print("mean NLL differs by {:.2e}\n", difference);
  EXPECT_NEAR(difference, 0, tolerance);
}

TEST(ValidationSlow, Reference) {
  check(reference_options(), 0.0005);
}
TEST(ValidationSlow, FastBf16) {
  check(fast_options(kernels::KvType::kBf16), 0.002);
}
TEST(ValidationSlow, FastFp8) {
  check(fast_options(kernels::KvType::kFp8), 0.002);
}

}  // namespace
}  // namespace headroom::golden
