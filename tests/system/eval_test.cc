// `headroom eval` against `headroom serve`: the golden loss, questions, the store, refusals.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "results/store.h"
#include "serve_process.h"

namespace headroom::testing_system {
namespace {

namespace bj = boost::json;
namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
};

Outcome run(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe =
      popen(fmt::format("{}/headroom {} 2>&1", HEADROOM_BINARY_DIR, arguments).c_str(), "r");
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) outcome.out.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class Eval : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    process_ = std::make_unique<ServeProcess>(
        std::vector<std::string>{model_directory(), "--port", "0", "--allow-reference",
                                 "--max-context", "1026", "--max-sequences", "4", "--kv", "fp32"});
    const uint16_t port = process_->wait_ready();
    ASSERT_NE(port, 0) << process_->log;
    url_ = fmt::format("http://127.0.0.1:{}", port);
    folder_ = fs::path(testing::TempDir()) / fmt::format("eval-{}", ::getpid());
    fs::create_directories(folder_);
  }
  static void TearDownTestSuite() {
    process_.reset();
    fs::remove_all(folder_);
  }
  static inline std::unique_ptr<ServeProcess> process_;
  static inline std::string url_;
  static inline fs::path folder_;
};

TEST_F(Eval, TheGoldenLossFromAnOrdinaryClient) {
  std::ostringstream golden_text;
  golden_text << std::ifstream(model_directory() + "/golden.json").rdbuf();
  const bj::value golden = bj::parse(golden_text.str());
  const auto& losses = golden.at("validation").at("mean_nll_per_window").as_array();
  const double expected = (losses.at(0).to_number<double>() + losses.at(1).to_number<double>()) / 2;
  const std::string db = (folder_ / "points.db").string();
  const std::string command = fmt::format(
      "eval {}/validation.txt --url {} --limit 2 --json --quiet", model_directory(), url_);
  const Outcome by_server = run(command + " --db " + db);
  ASSERT_EQ(by_server.status, 0) << by_server.out;
  const bj::value json = bj::parse(by_server.out);
  EXPECT_EQ(json.at("tokens"), 2048);
  EXPECT_EQ(json.at("form"), "echo");
  EXPECT_EQ(json.at("tokens_from"), "server");
  EXPECT_EQ(json.at("scores").at(0).at("metric"), "nll_per_token");
  EXPECT_NEAR(json.at("scores").at(0).at("score").to_number<double>(), expected, 0.0005);
  // Bits per byte of the same text by another cut: between one and three for prose and this model.
  const double bits = json.at("scores").at(1).at("score").to_number<double>();
  EXPECT_GT(bits, 1);
  EXPECT_LT(bits, 3);
  const Outcome own = run(command + " --tokenizer " + model_directory());
  EXPECT_EQ(bj::parse(own.out).at("nll_sum"), json.at("nll_sum")) << "to the last bit";

  auto store = results::Store::open(db, results::Store::Mode::kRead);
  ASSERT_TRUE(store);
  const auto records = store->all();
  ASSERT_TRUE(records && records->size() == 1);
  const results::Record& record = records->front().record;
  EXPECT_EQ(record.server.framework, "headroom");
  ASSERT_TRUE(record.measures.eval);
  EXPECT_NEAR(*record.measures.eval->score, expected, 0.0005);
  EXPECT_TRUE(record.measures.client.environment.contains("kernel.release"));
}

TEST_F(Eval, QuestionsOneByOne) {
  const fs::path task = folder_ / "task.jsonl", items = folder_ / "items.jsonl";
  std::ofstream(task) << "{\"question\":\"2+3?\",\"answer\":\"#### 5\"}\n"
                         "{\"question\":\"2+4?\",\"answer\":\"#### 6\"}\n"
                         "{\"question\":\"2+5?\",\"answer\":\"#### 7\"}\n";
  const Outcome outcome =
      run(fmt::format("eval {} --url {} --shots 1 --max-tokens 8 --output {} --quiet",
                      task.string(), url_, items.string()));
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("exact_match,strict-match"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2 questions"), std::string::npos) << outcome.out;
  std::ifstream in(items);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    EXPECT_TRUE(bj::parse(line).as_object().contains("answer")) << line;
  EXPECT_EQ(lines, 2);
}

TEST_F(Eval, Refusals) {
  const fs::path bad = folder_ / "bad.jsonl";
  std::ofstream(bad) << "{\"question\":\"2+3?\",\"answer\":\"5\"}\n";
  const Outcome line = run(fmt::format("eval {} --url {}", bad.string(), url_));
  EXPECT_EQ(line.status, 1);
  EXPECT_NE(line.out.find("bad.jsonl:1: `answer` must end in"), std::string::npos) << line.out;
  EXPECT_EQ(run(fmt::format("eval {} --url {} --model other", bad.string(), url_)).status, 1);
  EXPECT_EQ(run(fmt::format("eval /no/such --url {}", url_)).status, 2);
  const Outcome nowhere = run(
      fmt::format("eval {}/validation.txt --url {} --db /no/such/x.db", model_directory(), url_));
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_NE(nowhere.out.find("the folder /no/such does not exist"), std::string::npos);
  EXPECT_EQ(nowhere.out.find("nll_per_token"), std::string::npos) << "told when all was scored";
  EXPECT_EQ(run(fmt::format("eval {} --url {} --limit -1", bad.string(), url_)).status, 2);
  EXPECT_EQ(
      run(fmt::format("eval {}/validation.txt --url http://127.0.0.1:9", model_directory())).status,
      1);
}

TEST(ImportRecipes, WritesRecipesAndTellsTheRest) {
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("recipes-{}", ::getpid());
  const std::string seeds = HEADROOM_SOURCE_DIR "/tests/fuzz/seeds/inferencex";
  const std::string command =
      fmt::format("import --recipes {}/master.yaml --runners {}/runners.yaml", seeds, seeds);
  const Outcome table = run(command + " --out " + folder.string());
  EXPECT_EQ(table.status, 0) << table.out;
  EXPECT_NE(table.out.find("2 configurations, 16 points; 2 recipes written to"), std::string::npos)
      << table.out;
  EXPECT_TRUE(fs::exists(folder / "a-fp8-h200-vllm-8k1k.yaml"));
  const bj::value json = bj::parse(run(command + " --json").out);
  EXPECT_EQ(json.at("points"), 16);
  EXPECT_EQ(json.at("entries").as_array().size(), 14u);
  EXPECT_EQ(json.at("entries").at(0).at("matrix").at("max-model-len"), 9472);
  const Outcome twice =
      run(fmt::format("import --recipes {}/master.yaml {}/master.yaml", seeds, seeds));
  EXPECT_EQ(twice.status, 2);
  EXPECT_NE(twice.out.find("is in "), std::string::npos) << twice.out;
  EXPECT_EQ(run("import").status, 2);
  EXPECT_EQ(run(fmt::format("import rows.csv --recipes {}/master.yaml", seeds)).status, 2);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace headroom::testing_system
