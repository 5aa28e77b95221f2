// parse_completions: mutated and cut bodies give an answer or an error, never more.
#include "openai/completions_request.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace headroom::openai {
namespace {

TEST(ParseCompletions, MutatedBodies) {
  ServedModel model;
  model.name = "m";
  model.vocab = 1000;
  const std::string seed =
      R"({"model":"m","prompt":[[1,2],[3]],"max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":4,)"
      R"("seed":-7,"stop":["a","b\u00e9"],"stop_token_ids":[1,2],"logprobs":2,"stream":true,)"
      R"("stream_options":{"include_usage":true},"ignore_eos":true,"n":1,"logit_bias":{}})";
  ASSERT_TRUE(parse_completions(seed, model));
  base::Rng rng(9);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string body = seed;
    if (rng.below(4) == 0) body.resize(rng.below(body.size()));
    for (uint64_t i = 0, n = 1 + rng.below(3); i < n && !body.empty(); ++i) {
      const size_t at = rng.below(body.size());
      if (rng.below(2) == 0) {
        body[at] = static_cast<char>(rng.below(256));
      } else {
        body.erase(at, 1 + rng.below(4));
      }
    }
    const auto parsed = parse_completions(body, model);
    if (!parsed) {
      ASSERT_TRUE(parsed.error().status == 400 || parsed.error().status == 404);
      ASSERT_FALSE(parsed.error().message.empty());
      continue;
    }
    ++accepted;
    ASSERT_GE(parsed->sampling.max_tokens, 1);
    ASSERT_GT(parsed->sampling.top_p, 0);
    ASSERT_FALSE(parsed->prompts.empty());
  }
  EXPECT_GT(accepted, 100) << "mutations of values must get through";
}

TEST(ParseCompletions, DeepNestingIsRefused) {
  const std::string deep =
      "{\"prompt\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const auto parsed = parse_completions(deep, ServedModel{});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().status, 400);
}

TEST(ParseCompletions, ModelDefaultsApplyOnlyWhereTheRequestIsSilent) {
  ServedModel model;
  model.sampling = {0.8, 0.95, 20};
  auto silent = parse_completions(R"({"prompt":"a"})", model);
  EXPECT_FLOAT_EQ(silent->sampling.temperature, 0.8f);
  EXPECT_FLOAT_EQ(silent->sampling.top_p, 0.95f);
  EXPECT_EQ(silent->sampling.top_k, 20);
  EXPECT_EQ(silent->sampling.max_tokens, 16);
  EXPECT_FALSE(silent->seed_given);
  auto loud =
      parse_completions(R"({"prompt":"a","temperature":0,"top_p":1,"top_k":0,"seed":0})", model);
  EXPECT_EQ(loud->sampling.temperature, 0);
  EXPECT_EQ(loud->sampling.top_p, 1);
  EXPECT_EQ(loud->sampling.top_k, 0);
  EXPECT_TRUE(loud->seed_given);
}

}  // namespace
}  // namespace headroom::openai
