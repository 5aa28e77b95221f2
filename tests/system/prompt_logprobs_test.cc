// Prompt log-probabilities over HTTP against the golden values, in both forms, alone and in a
// crowd.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "http/raw_client_test.h"
#include "serve_process.h"

namespace headroom::testing_system {
namespace {

namespace bj = boost::json;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bj::value golden() {
  return bj::parse(read(model_directory() + "/golden.json"));
}

/// The chunk is small and odd, so that prompts cross many of its borders.
class PromptLogprobs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    process_ = std::make_unique<ServeProcess>(std::vector<std::string>{
        model_directory(), "--port", "0", "--allow-reference", "--max-context", "1025",
        "--max-sequences", "8", "--kv", "fp32", "--prefill-chunk", "37"});
    port_ = process_->wait_ready();
    ASSERT_NE(port_, 0) << process_->log;
  }
  static void TearDownTestSuite() { process_.reset(); }
  static std::string complete(const bj::object& body) {
    return http::fetch(port_, "POST", "/v1/completions", bj::serialize(body)).body;
  }
  static inline std::unique_ptr<ServeProcess> process_;
  static inline uint16_t port_ = 0;
};

/// The rows' own log-probabilities, whichever form they came in.
std::vector<double> echoed(const std::string& answer) {
  std::vector<double> out;
  const bj::value json = bj::parse(answer);
  const auto& row = json.at("choices").at(0).at("logprobs").at("token_logprobs").as_array();
  for (size_t i = 1; i < row.size(); ++i) out.push_back(row[i].to_number<double>());
  return out;
}
std::vector<double> scored(const std::string& answer, const bj::array& ids) {
  std::vector<double> out;
  const bj::value json = bj::parse(answer);
  const auto& rows = json.at("choices").at(0).at("prompt_logprobs").as_array();
  for (size_t i = 1; i < rows.size(); ++i)
    out.push_back(
        rows[i].at(std::to_string(ids.at(i).as_int64())).at("logprob").to_number<double>());
  return out;
}

TEST_F(PromptLogprobs, GoldenInBothFormsAloneAndInACrowd) {
  const bj::value all = golden();
  const auto& cases = all.at("cases").as_array();
  std::vector<std::vector<double>> alone;
  for (const bj::value& c : cases) {
    const bj::array& ids = c.at("ids").as_array();
    alone.push_back(
        echoed(complete({{"prompt", ids}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}})));
    const auto& expected = c.at("logprobs_of_prompt").as_array();
    ASSERT_EQ(alone.back().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(alone.back()[i], expected[i].to_number<double>(), 2e-3) << i;
  }
  std::vector<std::vector<double>> crowd(cases.size());
  std::vector<std::thread> threads;
  for (size_t k = 0; k < cases.size(); ++k)
    threads.emplace_back([&, k] {
      const bj::array& ids = cases[k].at("ids").as_array();
      crowd[k] =
          scored(complete({{"prompt", ids}, {"max_tokens", 1}, {"prompt_logprobs", 3}}), ids);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(crowd, alone) << "to the last bit, whatever else the server does";
}

TEST_F(PromptLogprobs, TheFirstValidationWindow) {
  const bj::value all = golden();
  const std::string text = read(model_directory() + "/validation.txt").substr(0, 12'000);
  const auto tokens = bj::parse(
      http::fetch(port_, "POST", "/tokenize", bj::serialize(bj::object{{"prompt", text}})).body);
  bj::array ids = tokens.at("tokens").as_array();
  ASSERT_GE(ids.size(), 1025u);
  ids.resize(1025);  // fills the context: nothing is drawn
  const std::vector<double> scores =
      echoed(complete({{"prompt", ids}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}}));
  ASSERT_EQ(scores.size(), 1024u);
  double sum = 0;
  for (const double score : scores) sum -= score;
  EXPECT_NEAR(sum / 1024, all.at("validation").at("mean_nll_per_window").at(0).to_number<double>(),
              0.0005);
}

}  // namespace
}  // namespace headroom::testing_system
