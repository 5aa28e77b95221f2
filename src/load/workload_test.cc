// Prompts: exact lengths, no repeats, salt and seed, files.
#include "load/workload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "load/mock/mock_request.h"
#include "load/mock/mock_script.h"
#include "load/openai_chunk.h"

namespace headroom::load {
namespace {

WorkloadOptions options() {
  WorkloadOptions o;
  o.model = "m \"quoted\"";
  o.input_tokens = 100;
  o.output_tokens = 5;
  return o;
}

Turn first_turn(const Workload& workload, uint64_t index) {
  return *workload.conversation(index)->next("");
}

TEST(Workload, random_ids_have_the_exact_length_and_never_repeat) {
  const auto workload = Workload::create(options());
  ASSERT_TRUE(workload);
  std::set<uint64_t> digests;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto prompt = first_turn(*workload, i);
    const auto call = parse_mock_call(prompt.body);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->prompt_tokens, 100);
    EXPECT_EQ(prompt.input_tokens, 100);
    EXPECT_EQ(call->max_tokens, 5);
    EXPECT_EQ(call->model, "m \"quoted\"");
    EXPECT_TRUE(call->stream && call->usage);
    digests.insert(call->prompt_digest);
  }
  EXPECT_EQ(digests.size(), 200u);
}

TEST(Workload, salt_and_seed_change_every_prompt) {
  auto a = options(), b = options(), c = options();
  b.salt = "x";
  c.seed = 1;
  const auto wa = Workload::create(a), wb = Workload::create(b), wc = Workload::create(c);
  EXPECT_EQ(first_turn(*wa, 3).body, first_turn(*Workload::create(a), 3).body);
  EXPECT_NE(first_turn(*wa, 3).body, first_turn(*wb, 3).body);
  EXPECT_NE(first_turn(*wa, 3).body, first_turn(*wc, 3).body);
  EXPECT_NE(fresh_salt(), fresh_salt());
}

TEST(Workload, files) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto lines = folder / "prompts.txt", json = folder / "prompts.jsonl";
  std::ofstream(lines) << "first prompt\r\n\nsecond\n";
  std::ofstream(json) << "{\"prompt\": \"a \\\"b\\\"\"}\n";
  auto o = options();
  o.dataset = lines.string();
  const auto workload = Workload::create(o);
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->distinct_prompts(), 2u);
  EXPECT_EQ(workload->dataset_name(), "prompts.txt");
  EXPECT_NE(first_turn(*workload, 0).body.find("\"prompt\":\"first prompt\""), std::string::npos);
  EXPECT_FALSE(first_turn(*workload, 0).input_tokens);
  o.dataset = json.string();
  EXPECT_NE(first_turn(*Workload::create(o), 0).body.find(R"("prompt":"a \"b\"")"),
            std::string::npos);
  std::ofstream(json, std::ios::app) << "{\"text\": 1}\n";
  const auto bad = Workload::create(o);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("prompts.jsonl:2"), std::string::npos);
}

TEST(Workload, refusals_name_the_value) {
  auto o = options();
  o.dataset = "nowhere.txt";
  EXPECT_NE(Workload::create(o).error().message.find("nowhere.txt"), std::string::npos);
  o = options();
  o.input_tokens = 0;
  EXPECT_FALSE(Workload::create(o));
  o = options();
  o.input_tokens = 9'999'999'999'999;
  EXPECT_EQ(Workload::create(o).error().message.find("input 9999999999999"), 0u);
  for (const double temperature : {-1.0, std::nan("")}) {
    o = options();
    o.temperature = temperature;
    EXPECT_FALSE(Workload::create(o));
  }
  o = options();
  o.token_low = o.token_high = 5;
  EXPECT_FALSE(Workload::create(o));
  o = options();
  o.endpoint = Endpoint::kChat;
  EXPECT_FALSE(Workload::create(o));
}

TEST(ChunkReader, what_counts_as_content) {
  ChunkReader reader;
  const auto content = [&](std::string_view json) { return reader.read(json)->content; };
  EXPECT_TRUE(content(R"({"choices":[{"text":" "}]})"));
  EXPECT_FALSE(content(R"({"choices":[{"text":""}]})"));
  EXPECT_FALSE(content(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"));
  EXPECT_FALSE(content(R"({"choices":[{"delta":{"content":null}}]})"));
  EXPECT_TRUE(content(R"({"choices":[{"delta":{"reasoning_content":"x"}}]})"));
  EXPECT_TRUE(content(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})"));
  EXPECT_TRUE(content(R"({"choices":[{"text":"","token_ids":[5]}]})"));
  EXPECT_FALSE(content(R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})"));
  EXPECT_EQ(reader.read(R"({"usage":{"prompt_tokens":3,"completion_tokens":2}})")->prompt_tokens,
            3);
  EXPECT_FALSE(reader.read(R"({"usage":null})")->prompt_tokens);
  EXPECT_FALSE(
      reader.read(R"({"usage":{"completion_tokens":9223372036854775807}})")->output_tokens);
  EXPECT_TRUE(reader.read(R"({"choices":[{"finish_reason":"stop"}]})")->finished);
  EXPECT_EQ(reader.read(R"({"error":{"message":"no"}})")->error, "no");
  EXPECT_EQ(reader.read(R"({"object":"error","message":"no"})")->error, "no");
  EXPECT_FALSE(reader.read(R"({"error":null,"choices":[]})")->error);
  for (const char* bad : {"", "[]", "nonsense", "{\"a\":", "3"})
    EXPECT_FALSE(reader.read(bad)) << bad;
}

TEST(MockScript, reads_and_refuses) {
  const auto script = parse_mock_script("ttft=1.5,usage=none,lines=crlf,end=error,end_after=3");
  ASSERT_TRUE(script);
  EXPECT_EQ(script->ttft_ns, 1'500'000);
  EXPECT_EQ(script->line_end, "\r\n");
  EXPECT_FALSE(parse_mock_script("ttfx=1"));
  EXPECT_FALSE(parse_mock_script("ttft=x"));
  EXPECT_FALSE(parse_mock_script("usage=maybe"));
}

}  // namespace
}  // namespace headroom::load
