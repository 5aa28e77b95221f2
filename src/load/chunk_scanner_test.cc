// The scanner against the full reader: where it answers it says the same, and it answers the usual.
#include "load/chunk_scanner.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "load/openai_chunk.h"

namespace headroom::load {
namespace {

bool same(const ChunkFacts& a, const ChunkFacts& b) {
  return a.content == b.content && a.reasoning == b.reasoning && a.choice == b.choice &&
         a.finished == b.finished && a.token_ids == b.token_ids &&
         a.prompt_tokens == b.prompt_tokens && a.output_tokens == b.output_tokens;
}

/// True when the scanner answered; then it must have answered as the full reader does.
bool agrees(std::string_view json) {
  static ChunkReader reader;
  const auto facts = scan_chunk(json);
  if (!facts) return false;
  const auto full = reader.read(json);
  EXPECT_TRUE(full) << json;
  if (!full) return true;
  EXPECT_FALSE(full->error) << json;
  EXPECT_TRUE(same(*facts, *full)) << json;
  return true;
}

const std::vector<std::string> kUsual = {
    R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m","choices":[{"index":0,"text":" tok","logprobs":null,"finish_reason":null}]})",
    R"({"id":"cmpl-1","choices":[{"index":0,"text":"","finish_reason":null}],"usage":null})",
    R"({"choices":[{"index":0,"text":"é \"quoted\" \\ \n 日本語","finish_reason":"length","stop_reason":null}]})",
    R"({"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})",
    R"({"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}})",
    R"({"choices":[{"delta":{"reasoning_content":"hm","content":null}}]})",
    R"({"choices":[{"delta":{"reasoning":"hm","content":"x"}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[]}}]})",
    R"({"choices":[{"text":"","token_ids":[1,2,3]}]})",
    R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})",
    R"({"error":null,"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1.5e-3]}}]})",
    R"( { "choices" : [ { "text" : "a" } , { "text" : "" } ] } )",
    R"({"choices":[{"text":"a long text of more than eight plain bytes","x":true,"y":false}]})",
};

TEST(ChunkScanner, answers_the_usual_chunks_as_the_full_reader_does) {
  for (const std::string& json : kUsual) EXPECT_TRUE(agrees(json)) << json;
}

TEST(ChunkScanner, leaves_what_is_in_doubt_to_the_full_reader) {
  for (const char* json : {R"({"error":{"message":"x"}})",
                           R"({"object":"error","message":"x"})",
                           R"([1])",
                           "",
                           "{",
                           R"({"choices":[{"text":"a"}]} x)",
                           R"({"choices":[{"text":"a\u00e9"}]})",
                           R"({"ch\u006fices":[{"text":"a"}]})",
                           R"({"choices":[{"text":"a"}],"choices":[]})",
                           R"({"choices":[{"delta":{"content":"","content":"x"}}]})",
                           R"({"choices":[{"text":7}]})",
                           R"({"usage":{"completion_tokens":-1}})",
                           R"({"usage":{"completion_tokens":1.5}})",
                           R"({"usage":{"completion_tokens":4611686018427387904}})",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\xFF\"}",
                           R"({"choices":[{"text":"a",}]})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"choices":[{"message":{"content":"whole"}}]})"})
    EXPECT_FALSE(scan_chunk(json)) << json;
}

TEST(ChunkScanner, mutated_chunks_are_read_alike_or_left_alone) {
  base::Rng rng(11);
  int answered = 0;
  constexpr std::string_view kBytes = "{}[]\",:\\ntf0123-.eE \x80\xC3\xA9";
  for (int i = 0; i < 60'000; ++i) {
    std::string json = kUsual[rng.below(kUsual.size())];
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      const size_t at = rng.below(json.size());
      switch (rng.below(3)) {
        case 0:
          json[at] = kBytes[rng.below(kBytes.size())];
          break;
        case 1:
          json.erase(at, 1 + rng.below(4));
          break;
        default:
          json.insert(at, 1, kBytes[rng.below(kBytes.size())]);
      }
      if (json.empty()) break;
    }
    answered += agrees(json);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(answered, 5'000);
}

}  // namespace
}  // namespace headroom::load
