// `headroom generate`, `plan`, `limit` and `inspect` as a user calls them: goldens, refusals, exit
// statuses.
#include <gmock/gmock.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cpu.h"
#include "golden.h"

namespace headroom::golden {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string out, error;  // error: the lines that are not log
};

Outcome run(const std::string& arguments) {
  const std::string errors = fmt::format("{}/cli-{}.txt", ::testing::TempDir(), getpid());
  const std::string command =
      fmt::format("{}/headroom {} 2>{}", HEADROOM_BINARY_DIR, arguments, errors);
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) outcome.out.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ifstream in(errors);
  for (std::string line; std::getline(in, line);)
    if (line.find(" info ") == std::string::npos) outcome.error += line + "\n";
  std::filesystem::remove(errors);
  return outcome;
}

void expect_refused(const std::string& arguments, int status, const std::string& words) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr(words)) << arguments;
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  EXPECT_EQ(outcome.out, "") << arguments;
}

TEST(Generate, GoldenThroughTheCommandLine) {
  const auto golden = read_golden(embedded_model() + "/golden.json");
  const Case& c = golden->cases[1];
  // fp32 rows have a tuned kernel too, so they need no --allow-reference.
  for (const char* attention : {"reference", "auto"}) {
    if (!base::cpu_features().avx2 && std::string_view(attention) == "auto") continue;
    const Outcome outcome =
        run(fmt::format("generate {} --ids {} --max-tokens 12 --top-logits 8 --attention {} "
                        "--kv fp32 --json",
                        embedded_model(), fmt::join(c.ids, ","), attention));
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(outcome.out);
    const simdjson::dom::array top = root["top_logits"];
    ASSERT_EQ(top.size(), 8u);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(int64_t(top.at(i).at(0)), c.top8[i].first);
      EXPECT_NEAR(double(top.at(i).at(1)), c.top8[i].second, 2e-3);
    }
    const simdjson::dom::array scores = root["prompt_logprobs"];
    ASSERT_EQ(scores.size(), c.prompt_logprobs.size());
    for (size_t i = 0; i < scores.size(); ++i)
      EXPECT_NEAR(double(scores.at(i)), c.prompt_logprobs[i], 2e-3);
    const simdjson::dom::array ids = root["ids"];
    ASSERT_EQ(ids.size(), 12u);
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(int64_t(ids.at(i)), c.greedy[i]) << i;
    EXPECT_FALSE(std::string_view(root["text"]).empty());
  }
}

TEST(Generate, TextPromptsGetABos) {
  const Outcome outcome = run("generate " + embedded_model() +
                              " --prompt 'Once upon a time there was a little' --max-tokens 3 "
                              "--allow-reference --json");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\"prompt_ids\":[0,50,1922,649,262,598,498,314,262,538]"),
                    HasSubstr("\"text\":\" house in the\"")));
}

TEST(Generate, RefusalsInOneLine) {
  const std::string generate = "generate " + embedded_model();
  expect_refused(generate + " --prompt ''", 2, "--prompt: is empty");
  expect_refused(generate + " --max-tokens 3", 2, "give --prompt TEXT or --ids");
  expect_refused(generate + " --ids 3,4096", 2, "id 4096 at place 1");
  expect_refused(generate + " --ids 3 --tp 2", 1, "this build runs one rank");
  expect_refused(generate + " --ids 3 --device cuda", 1, "no CUDA backend");
  expect_refused("generate /nowhere --ids 3", 1, "/nowhere");
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "word ";
  expect_refused(generate + " --prompt '" + words + "'", 1, "in a context of 4096");
  EXPECT_EQ(run(generate + " --ids 3 --kv int3").status, 2);
  // Ids that would silently become others: CLI11 takes "" for 0 and drops what is empty.
  for (const char* ids : {"''", "1,,2", "1,2,", "1.5", "0x10", "99999999999", "'1 2'"})
    expect_refused(generate + " --ids " + ids, 2, "--ids: `");
  for (const char* wrong : {"--temperature nan", "--top-p nan", "--temperature -1"})
    EXPECT_EQ(run(generate + " --ids 3 " + wrong).status, 2) << wrong;
  expect_refused("generat x", 2, "no subcommand `generat`");
}

TEST(Generate, IdsMayStandBeforeTheModel) {
  const Outcome outcome = run("generate --ids ' 3, 4 ,5' " + embedded_model() +
                              " --max-tokens 0 --allow-reference --json");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("\"prompt_ids\":[3,4,5]"));
}

TEST(Generate, SpoiledModelFolders) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / fmt::format("spoiled-{}", getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(embedded_model()))
    fs::create_symlink(entry.path(), folder / entry.path().filename());
  const std::string generate = "generate " + folder.string() + " --ids 3";
  const char* shard = "model-00002-of-00004.safetensors";
  fs::remove(folder / shard);
  expect_refused(generate, 1, "model-00002-of-00004.safetensors: shard missing");
  fs::copy(embedded_model() + "/" + shard, folder / shard);
  fs::permissions(folder / shard, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(folder / shard, 1000000);
  expect_refused(generate, 1, "truncated");
  fs::remove(folder / "config.json");
  std::ofstream(folder / "config.json") << R"({"model_type": "llama"})";
  expect_refused(generate, 1, "`model_type` is `llama`");
  std::ofstream(folder / "config.json") << R"({"model_type": )";
  expect_refused(generate, 1, "config.json: not valid JSON");
  fs::remove_all(folder);
}

TEST(Output, AFullDiskIsAFailure) {
  for (const char* command :
       {"inspect ", "plan --allow-reference --json ", "plan --allow-reference "}) {
    const Outcome outcome = run(command + embedded_model() + " >/dev/full");
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_THAT(outcome.error, HasSubstr("headroom: standard output: ")) << command;
  }
}

TEST(Plan, TableAndJsonForManyRanks) {
  const Outcome table = run("plan " + embedded_model() + " --tp 8 --allow-reference");
  EXPECT_EQ(table.status, 0) << table.error;
  EXPECT_THAT(table.out, AllOf(HasSubstr("mla_decode"), HasSubstr("heads=1 ")));
  const Outcome json =
      run("plan " + embedded_model() + " --tp 2 --kv fp8 --allow-reference --json");
  ASSERT_EQ(json.status, 0) << json.error;
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json.out);
  int attention = 0;
  for (const simdjson::dom::element op : root["ops"].get_array()) {
    EXPECT_FALSE(std::string_view(op["chosen"]).empty());
    EXPECT_GT(int64_t(op["count"]), 0);
    EXPECT_GE(op["refused"].get_array().size(), 1u);
    if (std::string_view(op["op"]).starts_with("mla_")) {
      EXPECT_EQ(int64_t(op["rows"]["logical"]), 4);
      ++attention;
    }
  }
  EXPECT_EQ(attention, 2);
  expect_refused("plan " + embedded_model() + " --tp 3", 2, "8 heads");
}

/// Bytes of UTF-8 that are no continuation: columns, for text without wide characters.
int64_t columns(std::string_view line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

TEST(Plan, KnowsTheCatalogueAndFitsATerminal) {
  for (const char* name : {"kimi-k2.5", "deepseek-v2-lite"}) {
    for (const char* more : {" --tp 1", " --tp 8 --kv fp8", " --tp 16 --attention reference"}) {
      const Outcome plan = run(std::string("plan ") + name + more + " --allow-reference");
      ASSERT_EQ(plan.status, 0) << plan.error;
      EXPECT_THAT(plan.out, AllOf(HasSubstr("max_length="), HasSubstr("not chosen")));
      std::istringstream lines(plan.out);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 120) << line;
    }
  }
  EXPECT_THAT(run("inspect kimi-k2.5 --json").out, HasSubstr("\"experts\":384"));
  expect_refused("plan kimi-k9", 1, "`kimi-k9`");
}

TEST(Limit, PublishedBoundsAndRefusals) {
  // TPOT of Kimi K2.5, one rank of eight, 8192 tokens of context, 656-byte rows.
  constexpr std::pair<double, double> kPublished[] = {
      {4, 2.24}, {8, 3.55}, {16, 5.94}, {32, 9.90}, {64, 15.59}};
  const std::string command =
      "limit kimi-k2.5 --hardware h200 --precision mxfp4 --tp 8 --kv fp8 --context 8192";
  const Outcome outcome = run(command + " --concurrency 4,8,16,32,64 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(outcome.out);
  const simdjson::dom::array points = root["points"];
  ASSERT_EQ(points.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const simdjson::dom::element point = points.at(i);
    const auto [concurrency, tpot] = kPublished[i];
    EXPECT_EQ(double(point["concurrency"]), concurrency);
    EXPECT_NEAR(double(point["tpot_ms"]) / tpot, 1, 0.03);
    EXPECT_NEAR(double(point["tok_s_user"]) * double(point["tpot_ms"]), 1000, 1e-6);
    EXPECT_EQ(std::string_view(point["bound"]), "memory");
    EXPECT_GT(double(point["bytes"]), 1e9);
    EXPECT_GT(double(point["flops"]), 1e9);
  }
  const Outcome serving = run(command + " --input 8192 --output 1024 --concurrency 64 --json");
  ASSERT_EQ(serving.status, 0) << serving.error;
  const simdjson::dom::element point = parser.parse(serving.out)["points"].at(0);
  EXPECT_NEAR(double(point["tpot_ms"]) / 21.5, 1, 0.03);
  EXPECT_NEAR(double(point["tok_s_user"]) * double(point["tpot_ms"]), 1000, 1e-6);
  expect_refused("limit nowhere --hardware h200", 1, "nowhere");
  expect_refused("limit kimi-k2.5 --hardware h900", 1, "h900");
  expect_refused("limit kimi-k2.5 --hardware h200 --tp 3", 2, "does not divide the 64 heads");
  expect_refused("limit kimi-k2.5 --hardware h200 --concurrency 0", 2, "concurrency 0");
  expect_refused("limit kimi-k2.5 --hardware h200 --input 5", 2, "--input and --output");
}

TEST(Inspect, SummaryOfTheEmbeddedModel) {
  const Outcome outcome = run("inspect " + embedded_model() + " --json");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\"cache_bytes_per_token\":{\"fp32\":9216,"
                                           "\"bf16\":4608,\"fp8\":2624}"),
                                 HasSubstr("\"experts\":16")));
}

}  // namespace
}  // namespace headroom::golden
