// Reads every data file that is compiled in, and refuses broken ones in one clear line.
#include "limit/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "limit/embedded.h"

namespace headroom::limit {
namespace {

using testing::HasSubstr;

TEST(Catalog, HoldsTheNamedEntriesAndAllOfThemAreValid) {
  EXPECT_THAT(hardware_names(),
              testing::IsSupersetOf({"h100", "h200", "b200", "gb200-nvl72", "mi300x", "mi355x"}));
  EXPECT_THAT(shape_names(), testing::IsSupersetOf({"kimi-k2.5", "kimi-k2", "deepseek-v3",
                                                    "deepseek-v2-lite", "moonlight", "tiny-mla"}));
  for (const std::string& name : hardware_names()) {
    const auto hardware = find_hardware(name);
    ASSERT_TRUE(hardware) << hardware.error().message;
    EXPECT_EQ(hardware->name, name);
  }
  for (const std::string& name : shape_names()) {
    const auto shape = find_shape(name);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_FALSE(shape->name.empty());
  }
}

TEST(Catalog, CountsTheParametersThatThePublishersState) {
  const auto total = [](const Shape& s) {
    return static_cast<double>(
        s.layers * (s.replicated_attention() + s.sharded_attention()) +
        s.moe_layers() * (s.experts * s.expert_weights() + s.shared_weights() + s.gate_weights()) +
        s.dense_layers * s.dense_weights() + 2 * s.lm_head_weights());
  };
  EXPECT_NEAR(total(*find_shape("kimi-k2")) / 1.0265e12, 1, 0.001);
  EXPECT_NEAR(total(*find_shape("deepseek-v3")) / 671e9, 1, 0.001);
  EXPECT_NEAR(total(*find_shape("deepseek-v2-lite")) / 15.7e9, 1, 0.005);
  EXPECT_NEAR(total(*find_shape("moonlight")) / 16e9, 1, 0.01);
}

TEST(Catalog, NamesWhatThereIs) {
  const auto shape = find_shape("kimi-k9");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, base::ErrorCode::kNotFound);
  EXPECT_THAT(shape.error().message, HasSubstr("`kimi-k9`"));
  EXPECT_THAT(shape.error().message, HasSubstr("kimi-k2.5, kimi-k2, moonlight"));
  const auto hardware = find_hardware("h300");
  ASSERT_FALSE(hardware);
  EXPECT_THAT(hardware.error().message, HasSubstr("h100, h200"));
}

TEST(Catalog, ReadsAModelDirectory) {
  const std::string dir = std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << dir << " is not there";
  const auto shape = find_shape(dir);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(shape->name, "tiny-mla");
  EXPECT_EQ(shape->heads, 8);
  EXPECT_EQ(shape->experts, 16);
}

TEST(Hardware, RefusesBrokenFilesByFieldName) {
  const auto message = [](std::string figures) {
    const std::string head =
        "name: x\ntitle: X\ndomain: 1\nin_network_reduction: false\nfigures:\n";
    const auto result = parse_hardware(head + figures, "x.yaml");
    return result ? std::string("accepted") : result.error().message;
  };
  const std::string good =
      "  - {what: memory_bandwidth, basis: measured, value: 1e9, source: s, date: 2026-01-01}\n"
      "  - {what: flops_fp32, basis: measured, value: 1e9, source: s, date: 2026-01-01}\n";
  EXPECT_EQ(message(good), "accepted");
  EXPECT_EQ(message(good + "  - {what: speed, basis: measured, value: 1, source: s, date: d}\n")
                .substr(0, 55),
            "x.yaml: figures[2]: no figure is called `speed`; there ");
  EXPECT_EQ(
      message(good + "  - {what: flops_fp8, basis: measured, value: 0, source: s, date: d}\n"),
      "x.yaml: figures[2]: value `0` is not a positive number");
  EXPECT_EQ(
      message(good + "  - {what: flops_fp8, basis: measured, value: nan, source: s, date: d}\n"),
      "x.yaml: figures[2]: value `nan` is not a positive number");
  EXPECT_EQ(message(good + "  - {what: flops_fp8, basis: guessed, value: 1, source: s, date: d}\n"),
            "x.yaml: figures[2]: basis `guessed` is neither datasheet nor measured");
  EXPECT_EQ(message(good + "  - {what: flops_fp8, basis: measured, value: 1, date: d}\n"),
            "x.yaml: figures[2]: `source` must be a text");
  EXPECT_EQ(
      message(good +
              "  - {what: flops_fp8, basis: measured, value: 1, source: s, date: d, w: 1}\n"),
      "x.yaml: figures[2]: unknown key `w`; there are what, basis, value, source, date, note");
  EXPECT_EQ(message(good.substr(0, good.find('\n') + 1)),
            "x.yaml: flops_bf16 or flops_fp32 is missing");
  EXPECT_THAT(message("  - [1, 2\n"), HasSubstr("x.yaml: line "));
}

TEST(Shape, RefusesBrokenConfigsByFieldName) {
  const auto file = embedded_files();
  std::string text;
  for (const base::EmbeddedFile& f : file)
    if (f.name == "kimi-k2.5.json") text = f.text;
  const auto message = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto result = parse_shape(changed, "c.json");
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(message("\"name\"", "\"nome\""), "accepted");
  EXPECT_EQ(message("\"hidden_size\"", "\"hidden\""), "c.json: `hidden_size` is missing");
  EXPECT_THAT(message("\"hidden_size\": 7168", "\"hidden_size\": -1"),
              HasSubstr("c.json: `hidden_size` is -1"));
  EXPECT_THAT(message("\"num_experts_per_tok\": 8", "\"num_experts_per_tok\": 800"),
              HasSubstr("c.json: `num_experts_per_tok` is 800"));
}

TEST(Readers, SurviveMutatedInput) {
  base::Rng rng(7);
  for (const base::EmbeddedFile& file : embedded_files()) {
    for (int round = 0; round < 60; ++round) {
      std::string text(file.text);
      if (round % 3 == 0) text.resize(rng.below(text.size() + 1));
      for (int change = 0; change < round % 5 && !text.empty(); ++change)
        text[rng.below(text.size())] = static_cast<char>(rng.below(256));
      if (file.name.ends_with(".json"))
        (void)parse_shape(text, "m");
      else
        (void)parse_hardware(text, "m");
    }
  }
}

}  // namespace
}  // namespace headroom::limit
