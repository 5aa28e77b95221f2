// The reference path (BF16 weights, fp32 activations and cache) against every golden model.
#include <gtest/gtest.h>

#include "golden.h"
#include "runner.h"

namespace headroom::golden {
namespace {

constexpr double kTolerance = 2e-3;     // logits and log-probabilities
constexpr double kGreedyMargin = 0.01;  // 5 tolerances: a flip beyond it is no rounding

std::span<const float> row(const std::vector<float>& logits, size_t index, size_t vocab) {
  return std::span(logits).subspan(index * vocab, vocab);
}

void check_case(Runner& runner, const Case& golden) {
  const auto vocab = static_cast<size_t>(runner.model().vocab_size());
  runner.reset();
  const std::vector<float> logits = runner.prefill(golden.ids);
  ASSERT_EQ(logits.size(), golden.ids.size() * vocab);
  const auto last = row(logits, golden.ids.size() - 1, vocab);
  for (const auto& [id, value] : golden.top8)
    EXPECT_NEAR(last[static_cast<size_t>(id)], value, kTolerance) << "logit of " << id;
  double sum = 0, squares = 0;
  for (const float logit : last) {
    sum += logit;
    squares += static_cast<double>(logit) * logit;
  }
  // Were every logit off by the tolerance, their sum would be by vocab times it, their norm by
  // sqrt(vocab) times it.
  EXPECT_NEAR(sum, golden.sum, kTolerance * static_cast<double>(vocab));
  EXPECT_NEAR(std::sqrt(squares), golden.norm, kTolerance * std::sqrt(static_cast<double>(vocab)));
  ASSERT_EQ(golden.prompt_logprobs.size() + 1, golden.ids.size());
  for (size_t i = 0; i < golden.prompt_logprobs.size(); ++i)
    EXPECT_NEAR(logprob(row(logits, i, vocab), golden.ids[i + 1]), golden.prompt_logprobs[i],
                kTolerance)
        << "prompt position " << i + 1;

  // Teacher-forced on the recorded tokens, so that a legitimate flip at a small margin does not
  // hide what comes after it.
  std::vector<float> next(last.begin(), last.end());
  for (size_t i = 0; i < golden.greedy.size(); ++i) {
    const int32_t best = argmax(next);
    if (golden.greedy_margin[i] > kGreedyMargin) {
      EXPECT_EQ(best, golden.greedy[i])
          << "generated token " << i << ", margin " << golden.greedy_margin[i];
    }
    // The recorded margin is a difference of two logits, each within the tolerance.
    std::vector<float> sorted = next;
    std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end(), std::greater<>());
    EXPECT_NEAR(*std::max_element(next.begin(), next.end()) - sorted[1], golden.greedy_margin[i],
                2 * kTolerance)
        << "margin of generated token " << i;
    const auto decoded = runner.decode(golden.greedy[i]);
    next.assign(decoded.begin(), decoded.end());
  }
}

void check_model(const std::string& directory) {
  const auto golden = read_golden(directory + "/golden.json");
  if (!golden) GTEST_SKIP() << directory << " is not here";
  ASSERT_NE(golden->arithmetic.find("float64 on the checkpoint weights as stored"),
            std::string::npos)
      << "another arithmetic needs other tolerances: " << golden->arithmetic;
  Runner runner(directory, reference_options());
  for (size_t i = 0; i < golden->cases.size(); ++i) {
    SCOPED_TRACE(fmt::format("case {}", i));
    check_case(runner, golden->cases[i]);
  }
}

TEST(Reference, TinyMla) {
  check_model(embedded_model());
}
TEST(Reference, RandomK2) {
  check_model(shared_model("random-k2"));
}
TEST(Reference, RandomV2Lite) {
  check_model(shared_model("random-v2lite"));
}
TEST(Reference, RandomV3With16Heads) {
  check_model(shared_model("random-v3-16heads"));
}

}  // namespace
}  // namespace headroom::golden
