// ServerFacts: a server's plan as a record keeps it, and plans that are none.
#include "load/server_facts.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace headroom::load {
namespace {

constexpr std::string_view kPlan = R"({"framework":"headroom","version":"0.1.0",
"checkpoint_digest":"sha256:ab","machine":{"cpu":"Some CPU","cores":2,"isa":"avx512",
"memory_bytes":8589934592},"vocab_size":4096,"precision":"bf16","kv":"fp8","attention":"avx2",
"settings":{"threads":2,"max_sequences":8,"note":"x"},"ops":[
{"op":"gemm","role":"q_a","descriptor":"gemm n=1","count":3,"chosen":"avx2","rows":null,
 "refused":[{"kernel":"avx512","reason":"needs AVX-512"}]},
{"op":"mla_decode","descriptor":"mla_decode heads=8","count":3,"chosen":"avx2",
 "rows":{"logical":8,"kernel":16},"refused":[]}]})";

TEST(ServerFacts, APlanIsKeptWhole) {
  const auto facts = parse_plan(kPlan);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->server.framework, "headroom");
  EXPECT_EQ(facts->server.checkpoint_digest, "sha256:ab");
  EXPECT_EQ(facts->server.precision, "bf16");
  EXPECT_EQ(facts->server.kv, "fp8");
  EXPECT_EQ(facts->server.attention, "avx2");
  EXPECT_EQ(facts->server.flags.at("max_sequences"), "8");
  EXPECT_EQ(facts->server.flags.at("note"), "x");
  EXPECT_EQ(facts->server.environment.at("machine.isa"), "avx512");
  EXPECT_EQ(facts->vocabulary, 4096);
  EXPECT_EQ(facts->hardware.name, "Some CPU");
  EXPECT_EQ(facts->hardware.devices, 1);
  ASSERT_EQ(facts->plan.size(), 2u);
  EXPECT_FALSE(facts->plan[0].logical_rows);
  ASSERT_EQ(facts->plan[0].refused.size(), 1u);
  EXPECT_EQ(facts->plan[0].refused[0].kernel, "avx512");
  EXPECT_EQ(facts->plan[1].logical_rows, 8);
  EXPECT_EQ(facts->plan[1].kernel_rows, 16);
}

TEST(ServerFacts, WhatIsNoPlanIsAnError) {
  for (const char* bad : {"", "[]", "{}", R"({"ops":3})", R"({"ops":[1]})", R"({"ops":[)"}) {
    const auto facts = parse_plan(bad);
    ASSERT_FALSE(facts) << bad;
    EXPECT_EQ(facts.error().code, base::ErrorCode::kDataLoss);
  }
}

TEST(ServerFacts, MutatedPlansAreReadOrRefused) {
  base::Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string text(kPlan.substr(0, 1 + rng.below(kPlan.size())));
    if (round % 2 == 0) text = kPlan;
    for (uint64_t i = 0, n = 1 + rng.below(3); i < n; ++i)
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    const auto facts = parse_plan(text);
    EXPECT_TRUE(!facts || facts->plan.size() <= 2) << text;
  }
}

}  // namespace
}  // namespace headroom::load
