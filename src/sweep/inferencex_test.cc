// InferenceX's files: ladders, layouts, evals, fingerprints, every rule's error, and our recipes.
#include "sweep/inferencex.h"

#include <simdjson.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include "sweep/inferencex_recipe.h"
#include "sweep/plan.h"
#include "sweep/recipe.h"

namespace headroom::sweep {
namespace {

constexpr std::string_view kMaster = R"(
a-fp8-h200-vllm:
  image: registry.example#org/vllm:1.0
  model: org/A
  model-prefix: a
  runner: cluster:h200-x
  precision: fp8
  framework: vllm
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - { tp: 8, conc-start: 4, conc-end: 100 }
      - { tp: 4, ep: 4, dp-attn: true, conc-list: [8, 64] }
      - { tp: 8, spec-decoding: mtp, conc-start: 4, conc-end: 4 }
    - isl: 2048
      osl: 128
      search-space:
      - { tp: 8, pp: 2, dcp-size: 4, pcp-size: 2, conc-list: [1_6] }
    agentic-coding:
    - dram-utilization: 0.80
      search-space:
      - { tp: 4, kv-offloading: dram, kv-offload-backend: { name: lmcache }, conc-list: [2] }
      - { tp: 8, kv-offloading: none, spec-decoding: mtp, conc-list: [3] }
b-fp4-gb200-dynamo-trt:
  image: img
  model: org/B
  model-prefix: b
  runner: gb200
  precision: fp4
  framework: dynamo-trt
  multinode: true
  disagg: true
  router: { name: r, version: "0.3" }
  kv-p2p-transfer: nixl
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - spec-decoding: mtp
        prefill: { num-worker: 2, tp: 4, ep: 4, dp-attn: true, additional-settings: ["A=é"] }
        decode: { num-worker: 1, tp: 8, ep: 8, dp-attn: false }
        conc-list: [8, 2048]
      - prefill: { num-worker: 1, tp: 4, ep: 1, dp-attn: false }
        decode: { num-worker: 1, tp: 4, ep: 1, dp-attn: false }
        conc-list: [4, 8]
)";
constexpr std::string_view kRunners = R"(
labels:
  cluster:h200-x: [h200-x_0]
hardware:
  cluster:h200-x: { available-cpu-dram-mib: 1_000_000, gpus-per-node: 8 }
)";

struct Generated {
  std::vector<IxConfig> configs;
  std::vector<IxPoint> points;
};
Generated generate(std::string_view master, std::string_view runners = kRunners) {
  Generated out;
  auto configs = parse_inferencex(master, "m.yaml");
  EXPECT_TRUE(configs) << (configs ? "" : configs.error().message);
  if (!configs) return out;
  out.configs = std::move(*configs);
  auto points = ix_points(out.configs, parse_inferencex_runners(runners, "r.yaml").value());
  EXPECT_TRUE(points) << (points ? "" : points.error().message);
  if (points) out.points = std::move(*points);
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(InferenceX, LaddersDoubleAndEndAtTheirEnd) {
  using Levels = std::vector<int64_t>;
  EXPECT_EQ(ix_ladder(4, 64), (Levels{4, 8, 16, 32, 64}));
  EXPECT_EQ(ix_ladder(4, 100), (Levels{4, 8, 16, 32, 64, 100}));
  EXPECT_EQ(ix_ladder(4, 4), (Levels{4}));
  EXPECT_EQ(ix_ladder(3, 4), (Levels{3, 4}));
  EXPECT_EQ(ix_ladder(1, 10, 3), (Levels{1, 3, 9, 10}));
  EXPECT_EQ(ix_ladder(INT64_MAX - 1, INT64_MAX), (Levels{INT64_MAX - 1, INT64_MAX}));
}

TEST(InferenceX, EntriesInOrderWithTheirFields) {
  const Generated g = generate(kMaster);
  ASSERT_EQ(g.points.size(), 6u + 2 + 1 + 1 + 1 + 1 + 1 + 1);
  EXPECT_EQ(g.points[5].json(),
            R"({"conc":100,"dcp-size":1,"disagg":false,"dp-attn":false,"ep":1,)"
            R"("exp-name":"a_8k1k","framework":"vllm","image":"registry.example#org/vllm:1.0",)"
            R"("isl":8192,"max-model-len":9472,"model":"org/A","model-prefix":"a","osl":1024,)"
            R"("pcp-size":1,"pp":1,"precision":"fp8","run-eval":true,"runner":"cluster:h200-x",)"
            R"("spec-decoding":"none","tp":8})");
  EXPECT_EQ(g.points[9].experiment(), "a_2048_128");
  EXPECT_EQ(g.points[9].concurrency, std::vector<int64_t>{16});
  // 1,000,000 MiB × 0.8 × 4 of 8 devices = 419.4304 GB.
  EXPECT_EQ(g.points[10].cpu_dram_gb, 419);
  EXPECT_EQ(g.points[10].experiment(), "a_tp4_conc2_kvdram-lmcache");
  EXPECT_FALSE(g.points[10].fields().contains("disagg"));
  EXPECT_EQ(g.points[11].experiment(), "a_tp8_conc3_kvnone_spec-mtp");
  const auto fields = g.points[12].fields();
  EXPECT_EQ(fields.at("prefill"),
            R"({"additional-settings":["A=\u00e9"],"dcp-size":1,"dp-attn":true,"ep":4,)"
            R"("num-worker":2,"pcp-size":1,"pp":1,"tp":4})");
  EXPECT_EQ(fields.at("conc"), "[8,2048]");
  EXPECT_EQ(fields.at("router"), R"({"name":"r","version":"0.3"})");
  EXPECT_EQ(fields.at("kv-p2p-transfer"), R"("nixl")");
}

TEST(InferenceX, EvalsAtTheHighestAndTheMedianLevel) {
  const Generated g = generate(kMaster);
  std::string marks;
  for (const IxPoint& point : g.points) marks += point.run_eval ? 'x' : '.';
  // Plain tensor parallel: of 16, 32, 64, 100 the third and the last. With dp-attention: 64.
  // Speculation has no level from 16 on, nor has the last layout.
  EXPECT_EQ(marks, "....xx.x....x.");
  EXPECT_EQ(g.points[12].eval_concurrency, 2048);
}

TEST(InferenceX, FingerprintsForgetConcurrencyAndName) {
  const Generated g = generate(kMaster);
  EXPECT_EQ(g.points[0].fingerprint(), g.points[5].fingerprint());
  EXPECT_NE(g.points[0].fingerprint(), g.points[6].fingerprint());
  // By an independent program: the JSON of the sorted fields, hashed.
  EXPECT_EQ(g.points[0].fingerprint(),
            "b51438ba22de40b89cc23e1a8622b2940eda70a3756057f4f95c51723d19b8bc");
  EXPECT_EQ(g.points[12].fingerprint(),
            "a453c70ed64fdff40ef921b23116be57676878c7706f26e981de47a9c7df3460");
}

TEST(InferenceX, TheOlderLayout) {
  const Generated g = generate(
      "k:\n  image: i\n  model: m\n  model-prefix: p\n  runner: mi355x\n  precision: fp4\n"
      "  framework: sglang\n  multinode: false\n  seq-len-configs:\n  - isl: 1024\n    osl: 8192\n"
      "    search-space:\n    - { tp: 8, conc-start: 4, conc-end: 6 }\n");
  ASSERT_EQ(g.points.size(), 2u);
  EXPECT_EQ(g.points[0].experiment(), "p_1k8k");
  EXPECT_EQ(g.points[0].max_model_len(), 1024 + 8192 + 200);
  EXPECT_EQ(g.points[1].concurrency.front(), 6);
}

TEST(InferenceX, EveryRuleHasItsLine) {
  const struct {
    const char *what, *with, *words;
  } cases[] = {
      {"image: registry", "imagee: registry", "m.yaml:3: "},
      {"  model: org/A\n", "", "key \"model\" is missing"},
      {"{ tp: 8, conc-start: 4, conc-end: 100 }", "{ tp: 8, conc-start: 4 }",
       "m.yaml:15: a-fp8-h200-vllm.scenarios.fixed-seq-len[0].search-space[0]: conc-start is there "
       "without conc-end"},
      {"conc-list: [8, 64] }", "conc-list: [8], conc-start: 1, conc-end: 2 }", "only one may be"},
      {"conc-list: [8, 64] }", "conc-list: [] }", "needs conc-list, or"},
      {"conc-list: [8, 64] }", "conc-list: [0] }", "m.yaml:16: "},
      {"conc-start: 4, conc-end: 100", "conc-start: 400, conc-end: 100", "above conc-end, 100"},
      {"dcp-size: 4", "dcp-size: 3", "tp 8 is not divisible by dcp-size 3"},
      {"{ tp: 8, pp: 2", "{ tp: 8, pp: 0", "value 0 is not at least 1"},
      {"spec-decoding: mtp, conc-start", "spec-decoding: eagle, conc-start", "eagle"},
      {"{ tp: 8, conc-start", "{ conc-start", "needs tp"},
      {"multinode: false", "multinode: maybe", "neither true nor false"},
      {"multinode: false", "multinode: false\n  disagg: true", "only for multinode: true"},
      {"multinode: false", "multinode: false\n  kv-p2p-transfer: x", "only for multinode: true"},
      {"runner: cluster:h200-x", "runner: h200", "must be cluster:NAME"},
      {"dram-utilization: 0.80\n", "# none\n", "needs dram-utilization"},
      {"dram-utilization: 0.80", "dram-utilization: 1.5", "dram-utilization"},
      {", kv-offload-backend: { name: lmcache }", "", "needs kv-offload-backend"},
      {"kv-offloading: none,", "kv-offloading: none, kv-offload-backend: { name: x },",
       "only for a kv-offloading other than none"},
      {"kv-offloading: none, spec", "spec", "\"kv-offloading\" is missing"},
      {"  kv-p2p-transfer: nixl\n", "", "needs kv-p2p-transfer"},
      {"version: \"0.3\"", "version: \"image:x\"", "not an image"},
      {", version: \"0.3\"", "", "\"version\" is missing"},
      {"      - spec-decoding: mtp\n", "      - router: { name: r, version: \"1\" }\n",
       "router stands on top and in"},
      {"ep: 8, dp-attn: false }", "ep: 8, dp-attn: false, hardware: h }", "for neither"},
      {"num-worker: 2, ", "", "\"num-worker\" is missing"},
      {"b-fp4-gb200-dynamo-trt:", "b-*:", "wildcard"},
      {"b-fp4-gb200-dynamo-trt:", "a-fp8-h200-vllm:", "m.yaml:"},
      {"    agentic-coding:\n", "    agentic-codin:\n", "m.yaml:"},
      {"  scenarios:\n    fixed-seq-len:\n    - isl: 8192",
       "  seq-len-configs: []\n  scenarios:\n"
       "    fixed-seq-len:\n    - isl: 8192",
       "only one may be there"},
  };
  for (const auto& c : cases) {
    const auto configs = parse_inferencex(replaced(std::string(kMaster), c.what, c.with), "m.yaml");
    ASSERT_FALSE(configs) << c.what << " → " << c.with;
    EXPECT_NE(configs.error().message.find(c.words), std::string::npos) << configs.error().message;
    EXPECT_TRUE(configs.error().message.starts_with("m.yaml:")) << configs.error().message;
    EXPECT_EQ(configs.error().message.find('\n'), std::string::npos);
  }
  for (const char* runners :
       {"labels: {}\nhardware: { x: { gpus-per-node: 8 } }", "hardware: {}", "labels: { a: [] }",
        "labels: { a: [b] }\nmore: 1",
        "labels: {}\nhardware: { x: { gpus-per-node: 0, available-cpu-dram-mib: 1 } }"}) {
    const auto parsed = parse_inferencex_runners(runners, "r.yaml");
    ASSERT_FALSE(parsed) << runners;
    EXPECT_TRUE(parsed.error().message.starts_with("r.yaml:")) << parsed.error().message;
  }
  const auto configs = parse_inferencex(kMaster, "m.yaml").value();
  EXPECT_NE(ix_points(configs, {}).error().message.find("give the runner table (--runners)"),
            std::string::npos);
}

TEST(InferenceX, RecipesOfOursWithTheSamePoints) {
  const Generated g = generate(kMaster);
  const IxConversion made = ix_recipes(g.configs);
  ASSERT_EQ(made.recipes.size(), 2u);
  EXPECT_EQ(made.recipes[0].name, "a-fp8-h200-vllm-8k1k");
  EXPECT_EQ(made.recipes[1].name, "a-fp8-h200-vllm-2048_128");
  size_t taken = 0, left = 0;
  for (const IxRecipe& recipe : made.recipes) {
    const auto parsed = parse_recipe(recipe.text, recipe.name + ".yaml");
    ASSERT_TRUE(parsed) << parsed.error().message << "\n" << recipe.text;
    const auto plan = make_plan(*parsed);
    ASSERT_TRUE(plan) << plan.error().message << "\n" << recipe.text;
    EXPECT_EQ(plan->points.size(), recipe.points);
    taken += recipe.points;
  }
  const auto plan = make_plan(parse_recipe(made.recipes[0].text, "r").value()).value();
  ASSERT_EQ(plan.configurations.size(), 2u);
  EXPECT_EQ(plan.configurations[0].image, "registry.example/org/vllm:1.0");
  EXPECT_EQ(plan.configurations[0].devices, 8);
  EXPECT_EQ(plan.configurations[1].devices, 4);
  const auto& command = plan.configurations[1].command;
  EXPECT_NE(std::find(command.begin(), command.end(), "--data-parallel-size"), command.end());
  EXPECT_EQ(make_plan(parse_recipe(made.recipes[1].text, "r").value())->configurations[0].devices,
            32);
  for (const IxGap& gap : made.gaps) left += gap.points;
  EXPECT_EQ(made.gaps.size(), 5u);
  size_t all = 0;
  for (const IxPoint& point : g.points) all += point.concurrency.size();
  EXPECT_EQ(taken + left, all) << "each point is in a recipe or has its reason";
}

TEST(InferenceX, MutatedFilesNeverCrash) {
  std::mt19937 random(11);
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text(kMaster.substr(0, 200 + random() % (kMaster.size() - 200)));
    for (auto changes = random() % 3; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(32 + random() % 95);
    const auto configs = parse_inferencex(text, "m.yaml");
    if (!configs) {
      EXPECT_TRUE(configs.error().message.starts_with("m.yaml")) << configs.error().message;
      continue;
    }
    ++accepted;
    (void)ix_recipes(*configs);
  }
  EXPECT_GT(accepted, 0);
}

/// HEADROOM_INFERENCEX: a folder with master.yaml files' copies named *-master.yaml, runners.yaml
/// and, as their generator printed it for all of them in order of name, matrix.json.
TEST(InferenceX, TheRealFilesGiveWhatTheirGeneratorPrints) {
  const char* folder = std::getenv("HEADROOM_INFERENCEX");
  if (folder == nullptr) GTEST_SKIP() << "HEADROOM_INFERENCEX names no folder with the real files";
  const auto read = [&](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  const std::filesystem::path base(folder);
  std::vector<std::filesystem::path> masters;
  for (const auto& entry : std::filesystem::directory_iterator(base))
    if (entry.path().string().ends_with("-master.yaml")) masters.push_back(entry.path());
  std::sort(masters.begin(), masters.end());
  ASSERT_FALSE(masters.empty());
  std::vector<IxConfig> configs;
  for (const auto& path : masters) {
    auto some = parse_inferencex(read(path), path.filename().string());
    ASSERT_TRUE(some) << some.error().message;
    std::move(some->begin(), some->end(), std::back_inserter(configs));
  }
  const auto runners = parse_inferencex_runners(read(base / "runners.yaml"), "runners.yaml");
  ASSERT_TRUE(runners) << runners.error().message;
  const auto points = ix_points(configs, *runners);
  ASSERT_TRUE(points) << points.error().message;
  simdjson::dom::parser parser, own;
  const auto matrix = parser.load((base / "matrix.json").string()).value().get_array().value();
  ASSERT_EQ(points->size(), matrix.size());
  const std::function<bool(simdjson::dom::element, simdjson::dom::element)> equal =
      [&](simdjson::dom::element a, simdjson::dom::element b) {
        if (a.type() != b.type()) return false;
        if (a.is_object()) {
          size_t count = 0;
          for (const auto& [key, value] : a.get_object().value()) {
            auto other = b[key];
            if (other.error() || !equal(value, other.value())) return false;
            ++count;
          }
          return count == b.get_object().value().size();
        }
        return simdjson::minify(a) == simdjson::minify(b);
      };
  size_t index = 0;
  for (const simdjson::dom::element entry : matrix) {
    const std::string json = points->at(index++).json();
    ASSERT_TRUE(equal(own.parse(simdjson::padded_string(json)).value(), entry))
        << json << "\n"
        << simdjson::minify(entry);
  }
  const IxConversion made = ix_recipes(configs);
  for (const IxRecipe& recipe : made.recipes) {
    const auto parsed = parse_recipe(recipe.text, recipe.name);
    ASSERT_TRUE(parsed) << parsed.error().message << "\n" << recipe.text;
    EXPECT_TRUE(make_plan(*parsed));
  }
}

}  // namespace
}  // namespace headroom::sweep
