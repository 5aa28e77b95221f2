// Loss on the held-out text: the reference path against the golden value, the fast path near it.
#include <gtest/gtest.h>

#include "golden.h"
#include "stream.h"

namespace headroom::golden {
namespace {

TEST(Validation, ReferenceReproducesTheFirstWindow) {
  Runner runner(embedded_model(), reference_options());
  EXPECT_NEAR(validation_difference(runner, 1), 0, 0.0005);
}

TEST(Validation, FastPathBf16) {
  Runner runner(embedded_model(), fast_options(kernels::KvType::kBf16));
  EXPECT_NEAR(validation_difference(runner, 4), 0, 0.002);
}

TEST(Validation, FastPathFp8) {
  Runner runner(embedded_model(), fast_options(kernels::KvType::kFp8));
  EXPECT_NEAR(validation_difference(runner, 4), 0, 0.002);
}

}  // namespace
}  // namespace headroom::golden
