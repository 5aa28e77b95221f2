// A sequence's logits do not depend on its company, its chunks, its pages or the threads: bit for
// bit.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/rng.h"
#include "golden.h"
#include "stream.h"

namespace headroom::golden {
namespace {

using kernels::KvType;
using model::StepSequence;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

struct Path {
  const char* name;
  model::LoadOptions options;
};

std::vector<Path> paths() {
  return {{"fast bf16", fast_options(KvType::kBf16)},
          {"fast fp8", fast_options(KvType::kFp8)},
          {"reference fp32", reference_options()}};
}

TEST(Invariance, ChunksOfAnySize) {
  for (const Path& path : paths()) {
    const bool reference = std::string_view(path.name) == "reference fp32";
    const auto ids = window_ids(1024, 1).first(reference ? 40 : 120);  // a slow path
    Runner runner(embedded_model(), path.options);
    const std::vector<float> whole = runner.prefill(ids);
    for (const int chunk : {1, 7, 64, 100}) {
      runner.reset();
      EXPECT_TRUE(same_bits(runner.prefill(ids, chunk), whole)) << path.name << ", chunk " << chunk;
    }
  }
}

/// Three sequences: two decode beside one that still prefills, in one step or each alone.
TEST(Invariance, BatchedEqualsAlone) {
  constexpr int kRounds = 4;
  for (Path& path : paths()) {
    Runner holder(embedded_model(), path.options);
    model::Deepseek& model = holder.model();
    const auto page = static_cast<size_t>(model.page_size());
    const std::span<const int32_t> prompts[] = {window_ids(1024, 2).first(37),
                                                window_ids(1024, 4).first(90),
                                                window_ids(1024, 6).first(64)};
    // Different pages for the two ways, so that neither sees the other's rows.
    const auto run = [&](bool together, int32_t first_page) {
      std::vector<std::vector<int32_t>> pages(3);
      for (size_t s = 0; s < 3; ++s)
        for (size_t i = 0; i < prompts[s].size() / page + 2; ++i)
          pages[s].push_back(first_page + static_cast<int32_t>(i * 3 + s));
      std::vector<std::vector<float>> logits(3);
      const auto step = [&](std::vector<size_t> which, std::vector<StepSequence> sequences) {
        for (StepSequence& s : sequences) s.logits = StepSequence::Logits::kLast;
        const auto vocab = static_cast<size_t>(model.vocab_size());
        const auto take = [&](std::span<const StepSequence> part, std::span<const size_t> of) {
          const auto rows = model.step(part);
          for (size_t i = 0; i < of.size(); ++i)
            logits[of[i]].insert(logits[of[i]].end(),
                                 rows.begin() + static_cast<std::ptrdiff_t>(i * vocab),
                                 rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * vocab));
        };
        if (together) return take(sequences, which);
        for (size_t i = 0; i < which.size(); ++i)
          take(std::span(sequences).subspan(i, 1), std::span(which).subspan(i, 1));
      };
      step({0, 1}, {{.tokens = prompts[0], .pages = pages[0].data()},
                    {.tokens = prompts[1], .pages = pages[1].data()}});
      for (int round = 0; round < kRounds; ++round) {
        // Sequence 2 prefills a quarter each time, between the two that decode.
        const auto quarter = prompts[2].size() / kRounds;
        const auto at = static_cast<int32_t>(quarter) * round;
        step({0, 2, 1}, {{.tokens = prompts[1].subspan(static_cast<size_t>(round), 1),
                          .position = static_cast<int32_t>(prompts[0].size()) + round,
                          .pages = pages[0].data(),
                          .decode = true},
                         {.tokens = prompts[2].subspan(static_cast<size_t>(at), quarter),
                          .position = at,
                          .pages = pages[2].data()},
                         {.tokens = prompts[0].subspan(static_cast<size_t>(round), 1),
                          .position = static_cast<int32_t>(prompts[1].size()) + round,
                          .pages = pages[1].data(),
                          .decode = true}});
      }
      return logits;
    };
    const auto together = run(true, 0);
    const auto alone = run(false, 60);
    for (size_t s = 0; s < 3; ++s)
      EXPECT_TRUE(same_bits(together[s], alone[s])) << path.name << ", sequence " << s;
  }
}

TEST(Invariance, AnyNumberOfThreads) {
  const auto ids = window_ids(1024, 5).first(80);
  for (const Path& path : paths()) {
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
      base::ThreadPool some(threads);
      const auto loaded = model::Deepseek::load(embedded_model(), path.options, some);
      ASSERT_TRUE(loaded) << loaded.error().message;
      std::vector<int32_t> pages(16);
      std::iota(pages.begin(), pages.end(), 3);
      const StepSequence prompt{
          .tokens = ids, .pages = pages.data(), .logits = StepSequence::Logits::kAll};
      const auto rows = (*loaded)->step({&prompt, 1});
      std::vector<float> all(rows.begin(), rows.end());
      const StepSequence next{.tokens = ids.first(1),
                              .position = static_cast<int32_t>(ids.size()),
                              .pages = pages.data(),
                              .decode = true,
                              .logits = StepSequence::Logits::kLast};
      const auto last = (*loaded)->step({&next, 1});
      all.insert(all.end(), last.begin(), last.end());
      if (first.empty()) first = all;
      EXPECT_TRUE(same_bits(all, first)) << path.name << ", " << threads << " threads";
    }
  }
}

TEST(Invariance, RunsAreCountedPerOp) {
  Runner runner(embedded_model(), fast_options(KvType::kBf16));
  runner.prefill(window_ids(1024, 0).first(8));
  runner.decode(7);
  const auto& plan = runner.model().plan();
  const auto runs = runner.model().op_runs();
  ASSERT_EQ(plan.size(), runs.size());
  for (size_t i = 0; i < plan.size(); ++i) {
    const bool one_kind = plan[i].op == "mla_prefill" || plan[i].op == "mla_decode" ||
                          plan[i].role.find("W_U") != std::string::npos;
    const auto steps = plan[i].op == "sample" ? 0u : one_kind ? 1u : 2u;
    EXPECT_EQ(runs[i], steps * static_cast<unsigned>(plan[i].count)) << plan[i].op << plan[i].role;
  }
}

}  // namespace
}  // namespace headroom::golden
