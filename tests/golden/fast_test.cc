// The fast path beside the reference path: divergence, experts, greedy tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "golden.h"
#include "stream.h"

namespace headroom::golden {
namespace {

using kernels::KvType;

constexpr double kGreedyMargin = 0.25;

struct Comparison {
  double kl_sum = 0, kl_same_sum = 0;  // over all positions; over those with the same experts
  int positions = 0, same = 0;
  int flips = 0;           // (position, layer) pairs whose experts differ
  double largest_gap = 0;  // routing gap in the reference at a flip
  // Largest changes at positions whose experts had not changed in a layer before: of a choice
  // value, and of a logit as a part of its row's largest.
  double choice_error = 0, logit_error = 0;
};

/// Runs the same ids on both paths.
Comparison compare(Runner& reference, Runner& fast, std::span<const int32_t> ids) {
  model::RoutingTrace expected, actual;
  reference.reset();
  fast.reset();
  reference.model().trace_routing(&expected);
  fast.model().trace_routing(&actual);
  const std::vector<float> p = reference.prefill(ids), q = fast.prefill(ids);
  reference.model().trace_routing(nullptr);
  fast.model().trace_routing(nullptr);

  Comparison out;
  EXPECT_EQ(expected.size(), actual.size());
  std::map<int32_t, bool> flipped;  // by position
  for (size_t i = 0; i < expected.size(); ++i) {
    const model::RoutingRow &a = expected[i], &b = actual[i];
    EXPECT_TRUE(a.layer == b.layer && a.position == b.position);
    double moved = 0;
    for (size_t e = 0; e < a.choice.size(); ++e)
      moved = std::max<double>(moved, std::fabs(a.choice[e] - b.choice[e]));
    if (!flipped.contains(a.position)) out.choice_error = std::max(out.choice_error, moved);
    if (a.experts == b.experts) continue;
    flipped[a.position] = true;
    ++out.flips;
    out.largest_gap = std::max<double>(out.largest_gap, a.gap);
    // A flip is explained by what moved the choice values, or the router itself is wrong: a set
    // changes only when two values (or two sums of two) cross.
    EXPECT_LE(a.gap, 4 * moved) << "layer " << a.layer << ", position " << a.position
                                << ": experts changed though no choice value moved enough";
  }
  const auto vocab = static_cast<size_t>(reference.model().vocab_size());
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto row_p = std::span(p).subspan(t * vocab, vocab);
    const auto row_q = std::span(q).subspan(t * vocab, vocab);
    const double divergence = kl(row_p, row_q);
    out.kl_sum += divergence;
    ++out.positions;
    if (flipped.contains(static_cast<int32_t>(t))) continue;
    double top = 0, moved = 0;
    for (size_t i = 0; i < vocab; ++i) {
      top = std::max<double>(top, std::fabs(row_p[i]));
      moved = std::max<double>(moved, std::fabs(row_p[i] - row_q[i]));
    }
    out.logit_error = std::max(out.logit_error, moved / top);
    out.kl_same_sum += divergence;
    ++out.same;
  }
  return out;
}

std::string text_of(const Comparison& c) {
  return fmt::format(
      "{} positions: mean KL {:.2e}, {:.2e} where no expert changed; {} flips, largest gap {:.2e}; "
      "elsewhere choice values moved by at most {:.2e}, logits by {:.2e} of the largest",
      c.positions, c.kl_sum / c.positions, c.kl_same_sum / std::max(c.same, 1), c.flips,
      c.largest_gap, c.choice_error, c.logit_error);
}

void check_divergence(KvType kv) {
  const auto ids = window_ids(1024, 0).first(slow() ? 1024 : 320);
  Runner fast(embedded_model(), fast_options(kv));
  {
    Runner reference(embedded_model(), reference_options());
    const Comparison c = compare(reference, fast, ids);
    fmt::print("{} rows against fp32: {}\n", kernels::kv_type_name(kv), text_of(c));
    EXPECT_LT(c.kl_sum / c.positions, 5e-3);
    EXPECT_LT(c.kl_same_sum / std::max(c.same, 1), 1e-3);
    EXPECT_GT(c.same, c.positions / 2);
  }
  // With the same rows in the cache only the order of float sums differs, 2^-24 of each term, but
  // where a value lies at the middle between two codes it may be stored as the other one: a whole
  // step of the format, in a few of a row's 512 values. The mean over the rows that a query sees
  // divides it by their number; the first rows have few.
  model::LoadOptions options = reference_options();
  options.kv = kv;
  Runner reference(embedded_model(), options);
  const Comparison c = compare(reference, fast, ids);
  fmt::print("{} rows against the reference on the same: {}\n", kernels::kv_type_name(kv),
             text_of(c));
  const double step = kv == KvType::kFp8 ? 0x1.0p-3 : 0x1.0p-8;
  const double few = std::sqrt(4.0 / 512);
  EXPECT_LT(c.logit_error, step * few);
  EXPECT_LT(c.choice_error, step * few);
}

TEST(Fast, DivergesLittleWithBf16Rows) {
  check_divergence(KvType::kBf16);
}
TEST(Fast, DivergesLittleWithFp8Rows) {
  check_divergence(KvType::kFp8);
}

/// Greedy tokens, teacher-forced on the recorded ones, equal wherever the margin is clear.
void check_greedy(const std::string& directory, KvType kv) {
  const auto golden = read_golden(directory + "/golden.json");
  if (!golden) GTEST_SKIP() << directory << " is not here";
  Runner runner(directory, fast_options(kv));
  const auto vocab = static_cast<size_t>(runner.model().vocab_size());
  int clear = 0;
  for (size_t n = 0; n < golden->cases.size(); ++n) {
    const Case& c = golden->cases[n];
    runner.reset();
    const std::vector<float> logits = runner.prefill(c.ids);
    std::vector<float> next(logits.end() - static_cast<std::ptrdiff_t>(vocab), logits.end());
    for (size_t i = 0; i < c.greedy.size(); ++i) {
      if (c.greedy_margin[i] > kGreedyMargin) {
        EXPECT_EQ(argmax(next), c.greedy[i])
            << "case " << n << ", token " << i << ", margin " << c.greedy_margin[i];
        ++clear;
      }
      const auto decoded = runner.decode(c.greedy[i]);
      next.assign(decoded.begin(), decoded.end());
    }
  }
  EXPECT_GT(clear, 15);  // else the goldens have lost their meaning
}

TEST(Fast, GreedyTinyMla) {
  check_greedy(embedded_model(), KvType::kBf16);
  check_greedy(embedded_model(), KvType::kFp8);
}
TEST(Fast, GreedyRandomK2) {
  check_greedy(shared_model("random-k2"), KvType::kBf16);
  check_greedy(shared_model("random-k2"), KvType::kFp8);
}
TEST(Fast, GreedyRandomV2Lite) {
  check_greedy(shared_model("random-v2lite"), KvType::kBf16);
  check_greedy(shared_model("random-v2lite"), KvType::kFp8);
}
TEST(Fast, GreedyRandomV3With16Heads) {
  check_greedy(shared_model("random-v3-16heads"), KvType::kBf16);
  check_greedy(shared_model("random-v3-16heads"), KvType::kFp8);
}

/// The absorbed form (decode) against the plain one (prefill) on the same rows.
TEST(Fast, GeneratedTokensAgreeWithTheSameTokensAsPrompt) {
  const auto ids = window_ids(1024, 3).first(48);
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    Runner runner(embedded_model(), fast_options(kv));
    const auto vocab = static_cast<size_t>(runner.model().vocab_size());
    const std::vector<float> whole = runner.prefill(ids);
    runner.reset();
    runner.prefill(ids.first(32));
    double sum = 0;
    for (size_t i = 32; i < ids.size(); ++i)
      sum += kl(std::span(whole).subspan(i * vocab, vocab), runner.decode(ids[i]));
    // Both read the same stored rows; only the order of float sums differs.
    EXPECT_LT(sum / 16, 1e-6) << kernels::kv_type_name(kv);
  }
}

}  // namespace
}  // namespace headroom::golden
