// Recipes: expansion, templates, fingerprints, and what a typing error is told.
#include "sweep/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/launcher.h"
#include "sweep/plan.h"
#include "sweep/sweep.h"

namespace headroom::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kText = R"(name: kimi
model: moonshotai/Kimi-K2.5
vars: {version: "0.18.0"}
server:
  container:
    image: vllm/vllm-openai-rocm:v${version}
    options: [--network=host]
    args: [--model, "${model}", --tensor-parallel-size, "${tp}", --port, "${port}"]
  environment: {VLLM_ROCM_USE_AITER: "1", TOKEN: "${env:HF_TOKEN}"}
  facts: {framework: vllm, version: "${version}"}
hardware: {name: mi355x, devices: "${tp}"}
workload:
  preset: inferencex-8k1k
search:
  - tp: [8, 4]
    flags: {block-size: [1, 64], enforce-eager: true, quiet: false}
    concurrency: {start: 4, end: 50}
  - tp: 8
    flags: {block-size: 1, enforce-eager: true, quiet: false}
    concurrency: [4, 128]
)";

std::string replaced(std::string_view what, std::string_view with) {
  std::string text(kText);
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

std::string message(const std::string& text) {
  const auto recipe = parse_recipe(text, "kimi.yaml");
  if (!recipe) return recipe.error().message;
  const auto plan = make_plan(*recipe);
  return plan ? "" : plan.error().message;
}

TEST(Recipe, ExpandsTheProductAndMergesEqualConfigurations) {
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  const Plan plan = make_plan(recipe).value();
  ASSERT_EQ(plan.configurations.size(), 4u);
  const Configuration& first = plan.configurations.front();
  EXPECT_EQ(first.label, "tp=8 block-size=1");
  EXPECT_EQ(first.image, "vllm/vllm-openai-rocm:v0.18.0");
  EXPECT_EQ(first.devices, 8);
  EXPECT_THAT(first.command,
              ElementsAre("--model", "moonshotai/Kimi-K2.5", "--tensor-parallel-size", "8",
                          "--port", "${port}", "--block-size", "1", "--enforce-eager"));
  EXPECT_EQ(first.environment.at("TOKEN"), "${env:HF_TOKEN}");
  EXPECT_EQ(first.facts.at("version"), "0.18.0");
  EXPECT_EQ(first.facts.at("tp"), "8");
  std::vector<int64_t> levels;
  for (const PlannedPoint& point : plan.points)
    if (point.configuration == 0) levels.push_back(*point.load.concurrency);
  EXPECT_THAT(levels, ElementsAre(4, 8, 16, 32, 50, 128));
  EXPECT_EQ(plan.points.size(), 6u + 3 * 5u);
}

TEST(Recipe, PresetsGiveInferenceXCounts) {
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  const Plan plan = make_plan(recipe).value();
  const auto bench = bench_options(recipe, plan.configurations[0], {int64_t{16}, std::nullopt});
  EXPECT_EQ(bench.requests, 160);
  EXPECT_EQ(bench.warmup, 32);
  EXPECT_EQ(bench.workload.input_tokens, 8192);
  EXPECT_EQ(bench.workload.output_tokens, 1024);
  EXPECT_EQ(load::length_spread_text(bench.workload.input_spread), "uniform:0.8");
  EXPECT_THAT(bench.concurrency, ElementsAre(16));
}

TEST(Recipe, FingerprintsForgetTheLoadAndTheWordingAndNothingElse) {
  const auto prints = [](const std::string& text) {
    const Recipe recipe = parse_recipe(text, "kimi.yaml").value();
    std::vector<std::string> result;
    const Plan plan = make_plan(recipe).value();
    for (const Configuration& c : plan.configurations) result.push_back(c.fingerprint);
    return result;
  };
  const auto base = prints(std::string(kText));
  EXPECT_EQ(prints(replaced("end: 50", "end: 80")), base);
  EXPECT_EQ(
      prints(replaced("preset: inferencex-8k1k", "# a remark\n  'preset': \"inferencex-8k1k\"")),
      base);
  for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
           {"USE_AITER: \"1\"", "USE_AITER: \"0\""},
           {"0.18.0", "0.16.0"},
           {"mi355x", "mi300x"},
           {"8k1k", "1k1k"},
           {"enforce-eager: true", "enforce-eager: false"},
           {"--network=host", "--ipc=host"}})
    EXPECT_NE(prints(replaced(what, with)).front(), base.front()) << what;
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  const Configuration c = make_plan(recipe)->configurations.front();
  EXPECT_NE(point_digest(c, {int64_t{4}, std::nullopt}),
            point_digest(c, {int64_t{8}, std::nullopt}));
  EXPECT_NE(point_digest(c, {int64_t{4}, std::nullopt}), point_digest(c, {std::nullopt, 4.0}));
}

TEST(Recipe, VariablesCanBeSetFromOutside) {
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  EXPECT_EQ(make_plan(recipe, {{"version", "0.17.1"}})->configurations[0].image,
            "vllm/vllm-openai-rocm:v0.17.1");
  EXPECT_EQ(make_plan(recipe, {{"verson", "1"}}).error().message,
            "kimi.yaml: vars has no \"verson\" to be set to \"1\"; there are: version");
}

TEST(Recipe, ErrorsNameTheLineAndWhatWouldBeRight) {
  EXPECT_THAT(message(replaced("concurrency: {", "concurency: {")),
              HasSubstr("kimi.yaml:17: key \"concurency\" is not known here (search[0]); did you "
                        "mean \"concurrency\"?; known: tp, "));
  EXPECT_EQ(message(replaced("start: 4, end: 50", "start: 4, end: 2")),
            "kimi.yaml:17: search[0].concurrency.end: value 2 is not from 4 to 100000");
  EXPECT_EQ(message(replaced("[8, 4]", "[8, four]")),
            "kimi.yaml:15: search[0].tp[1]: value \"four\" is not a whole number");
  EXPECT_THAT(message(replaced("inferencex-8k1k", "inferencex-8k1")),
              HasSubstr("kimi.yaml:13: workload.preset: value \"inferencex-8k1\" is not one of"));
  EXPECT_THAT(message(replaced("${tp}\", --port", "${tpp}\", --port")),
              HasSubstr("kimi.yaml:15: \"${tpp}\": no variable is called \"tpp\"; did you mean "
                        "\"tp\"?; known: port, node, "));
  EXPECT_THAT(message(replaced("devices: \"${tp}\"", "devices: \"${model}\"")),
              HasSubstr("gives \"moonshotai/Kimi-K2.5\", not a positive number"));
  EXPECT_EQ(message(replaced("  container:", "  url: http://x\n  container:")),
            "kimi.yaml:5: server: exactly one of headroom, command, container and url says what "
            "serves");
  EXPECT_EQ(message(replaced("name: kimi\n", "")), "kimi.yaml:1: key \"name\" is missing");
  EXPECT_THAT(message(replaced("name: kimi", "name: a/b")),
              HasSubstr("value \"a/b\" is not a name"));
  EXPECT_THAT(message(std::string(kText) + "limits: {time: 3 weeks}\n"),
              HasSubstr("limits.time: value \"3 weeks\" is not a time such as 90, 90s, 15m"));
  EXPECT_THAT(message(std::string(kText) + "limits: {dollars: 3}\n"),
              HasSubstr("needs dollars_per_device_hour"));
  EXPECT_THAT(message(std::string(kText) + "eval: {tsk: a.jsonl}\n"), HasSubstr("\"task\""));
}

TEST(Recipe, FillReplacesKeepsAndRefuses) {
  const std::map<std::string, std::string> variables = {{"a", "1"}};
  EXPECT_EQ(fill("x${a}y$$z$", variables).value(), "x1y$z$");
  EXPECT_EQ(fill("${port}${a}", variables, {"port"}).value(), "${port}1");
  EXPECT_THAT(fill("${a", variables).error().message, HasSubstr("${ without }"));
  EXPECT_THAT(fill("${b}", variables).error().message, HasSubstr("known: a"));
}

TEST(Recipe, EveryTruncationAndMutationIsReadOrRefused) {
  const std::string text(kText);
  for (size_t n = 0; n < text.size(); n += 3) {
    const auto recipe = parse_recipe(text.substr(0, n), "r");
    if (recipe) (void)make_plan(*recipe);
  }
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string mutated = text;
    mutated[random() % mutated.size()] = "{}[]:,&*|>'\"\n \t-#$%0x9"[random() % 23];
    const auto recipe = parse_recipe(mutated, "r");
    if (!recipe || !make_plan(*recipe)) ++refused;
  }
  EXPECT_GT(refused, 300);
}

TEST(Recipe, SecretsOfTheEnvironmentReachNoRecord) {
  const std::string text = replaced(R"({VLLM_ROCM_USE_AITER: "1", TOKEN: "${env:HF_TOKEN}"})",
                                    R"({SGLANG_MAX_TOKENS: "64", HF_TOKEN: hf_geheim,
    TOKEN: "${env:HF_TOKEN}", CACHE: "redis://me:geheim@host"})");
  const Recipe recipe = parse_recipe(text, "r").value();
  const Configuration c = make_plan(recipe).value().configurations[0];
  const std::map<std::string, std::string> expected = {{"SGLANG_MAX_TOKENS", "64"},
                                                       {"HF_TOKEN", "***"},
                                                       {"TOKEN", "${env:HF_TOKEN}"},
                                                       {"CACHE", "***"}};
  EXPECT_EQ(bench_options(recipe, c, {1, std::nullopt}).server_environment, expected);
  EXPECT_EQ(c.environment.at("HF_TOKEN"), "hf_geheim") << "the server gets it";
}

TEST(Sweep, AKeyThatIsNotSetIsToldBeforeAnythingStarts) {
  const std::string text = replaced("  preset: inferencex-8k1k\n",
                                    "  preset: inferencex-8k1k\n  api_key_env: HEADROOM_NO_SUCH\n");
  const Recipe recipe = parse_recipe(text, "kimi.yaml").value();
  auto store = results::Store::open(testing::TempDir() + "no_key_test.db");
  ASSERT_TRUE(store);
  const SweepOutcome outcome = run_sweep(recipe, {}, *store);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->message,
            "kimi.yaml: workload.api_key_env: the variable HEADROOM_NO_SUCH is not set");
  EXPECT_TRUE(outcome.points.empty());
}

Launch launch_by(const std::string& launcher) {
  const std::string text(kText);
  const std::string server =
      "server:\n  command: [serve, --port, \"${port}\"]\n  launcher: " + launcher +
      "\n  environment: {HF_TOKEN: hf_geheim}\n";
  const size_t from = text.find("server:"), to = text.find("hardware:");
  const Recipe recipe =
      parse_recipe(text.substr(0, from) + server + text.substr(to), "kimi.yaml").value();
  const Plan plan = make_plan(recipe).value();
  const std::string log = testing::TempDir() + "launcher_test.log";
  return launch_of(recipe, plan.configurations[0], log, "job-1").value();
}

TEST(Launcher, SshIsReachedAtTheNearEndOfItsTunnel) {
  const Launch launch = launch_by("{ssh: {host: node}}");
  const auto& words = launch.process->command;
  const auto tunnel = std::find(words.begin(), words.end(), "-L");
  ASSERT_NE(tunnel, words.end());
  const std::string& ends = *(tunnel + 1);  // 127.0.0.1:NEAR:127.0.0.1:FAR
  EXPECT_EQ(launch.url, "http://" + ends.substr(0, ends.find(':', ends.find(':') + 1)));
}

TEST(Recipe, HugeProductsAreRefusedBeforeAnythingIsMade) {
  std::string thousand = "[0";
  for (int i = 1; i < 1000; ++i) thousand += fmt::format(", {}", i);
  thousand += "]";
  const std::string flags =
      "flags: {block-size: [1, 64], enforce-eager: true, quiet: false}\n    conc";
  EXPECT_THAT(message(replaced(
                  flags, fmt::format("flags: {{a: {0}, b: {0}, c: {0}}}\n    conc", thousand))),
              HasSubstr("kimi.yaml:15: 2000000000 server configurations, at most 10000"));
  EXPECT_THAT(message(replaced("start: 4, end: 50}", "start: 1, end: 100000, step: 1.01}") +
                      "repeats: 1000\n"),
              HasSubstr("points with the entries before and all repeats, at most 1000000"));
}

TEST(Recipe, NamesThatCannotMeanOneThingAreErrors) {
  EXPECT_THAT(message(replaced("enforce-eager: true, quiet: false}\n    concurrency: {",
                               "tp: 2}\n    concurrency: {")),
              HasSubstr("kimi.yaml:16: search[0].flags.tp: \"tp\" is given twice in this entry"));
  EXPECT_THAT(message(replaced("version: \"0.18.0\"}", "version: \"0.18.0\", port: 80}")),
              HasSubstr("kimi.yaml:3: vars.port: \"port\" is chosen when the server starts"));
  const std::string watched = "watch:\n  on:\n    - {git: x, as: REF}\n";
  EXPECT_THAT(message(replaced("vars: {", "vars: {ref: a, ") + watched),
              HasSubstr("kimi.yaml:23: watch.on[0].as: vars has no \"REF\""));
  EXPECT_THAT(message(replaced("vars: {", "vars: {ref: a, ") +
                      "watch:\n  on:\n    - {git: x}\n  bisect: {repository: x}\n"),
              HasSubstr("no git trigger of watch.on has `as: ref`"));
}

TEST(Recipe, ALimitInDollarsThatCannotBeKeptIsAnError) {
  const std::string limits = "limits: {dollars: 1, dollars_per_device_hour: 2}\n";
  EXPECT_EQ(message(std::string(kText) + limits), "");
  EXPECT_THAT(message(replaced(", devices: \"${tp}\"", "") + limits),
              HasSubstr("limits.dollars needs hardware.devices"));
}

TEST(Recipe, OnePointCanBePickedByItsDigest) {
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  Plan plan = make_plan(recipe).value();
  const PlannedPoint wanted = plan.points[3];
  ASSERT_TRUE(keep_points(plan, wanted.digest.substr(0, kShortDigest)));
  ASSERT_EQ(plan.points.size(), 1u);
  EXPECT_EQ(plan.points[0].digest, wanted.digest);
  EXPECT_FALSE(keep_points(plan, "zz"));
}

TEST(Launcher, SlurmsScriptWithItsSecretsIsNeverAFile) {
  const Launch launch = launch_by("{slurm: {options: [--nodes=1]}}");
  EXPECT_FALSE(std::filesystem::exists(launch.process->log.string() + ".sbatch"));
  for (const std::string& word : launch.process->command)
    EXPECT_EQ(word.find("hf_geheim"), std::string::npos) << "ps shows it";
  EXPECT_THAT(launch.process->environment.at("HEADROOM_SBATCH"), HasSubstr("HF_TOKEN=hf_geheim"));
}

TEST(Launcher, AContainerIsRunByItsCommandLineAndStopped) {
  setenv("HF_TOKEN", "secret", 1);
  const Recipe recipe = parse_recipe(kText, "kimi.yaml").value();
  const Plan plan = make_plan(recipe).value();
  const Launch launch = launch_of(recipe, plan.configurations[0], "/tmp/x.log", "job-1").value();
  ASSERT_EQ(launch.process->command.size(), 3u);
  const std::string& script = launch.process->command[2];
  const std::string port = launch.url.substr(launch.url.rfind(':') + 1);
  EXPECT_THAT(script, HasSubstr("docker run --rm --init --name job-1 --env TOKEN=secret --env "
                                "VLLM_ROCM_USE_AITER=1 --network=host "
                                "vllm/vllm-openai-rocm:v0.18.0 --model moonshotai/Kimi-K2.5"));
  EXPECT_THAT(script, HasSubstr("--port " + port));
  EXPECT_THAT(script, HasSubstr("docker stop --time 20 job-1"));
  unsetenv("HF_TOKEN");
  EXPECT_THAT(launch_of(recipe, plan.configurations[0], "/tmp/x.log", "j").error().message,
              HasSubstr("the variable HF_TOKEN is not set"));
}

}  // namespace
}  // namespace headroom::sweep
