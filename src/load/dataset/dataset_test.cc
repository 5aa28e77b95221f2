// Datasets: what each sends, what it refuses, and that no broken file breaks its reader.
#include "load/dataset/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/rng.h"
#include "load/dataset/file_dataset.h"
#include "load/dataset/filler.h"
#include "load/dataset/mooncake.h"
#include "load/mock/mock_request.h"
#include "load/workload.h"

namespace headroom::load {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

WorkloadOptions options(const std::string& dataset = "random") {
  WorkloadOptions o;
  o.model = "m";
  o.dataset = dataset;
  o.input_tokens = 100;
  o.output_tokens = 10;
  o.salt = "s";
  return o;
}

std::string file_with(const char* name, std::string_view text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path.string();
}

Workload made(const WorkloadOptions& o) {
  auto workload = Workload::create(o);
  EXPECT_TRUE(workload) << workload.error().message;
  return std::move(*workload);
}

std::string refused(const WorkloadOptions& o) {
  const auto workload = Workload::create(o);
  return workload ? "" : workload.error().message;
}

Turn first_turn(const Workload& workload, uint64_t index) {
  return *workload.conversation(index)->next("");
}

std::vector<int64_t> ids_of(const Turn& turn) {
  const size_t begin = turn.body.find("\"prompt\":[") + 10, end = turn.body.find(']', begin);
  std::vector<int64_t> ids;
  for (size_t at = begin; at < end; at = turn.body.find_first_of(",]", at) + 1)
    ids.push_back(std::atoll(turn.body.c_str() + at));
  return ids;
}

TEST(Dataset, names_and_files_choose) {
  EXPECT_EQ(choose_dataset("random")->kind->name, "random");
  EXPECT_EQ(choose_dataset("mooncake:a:b")->file, "a:b");
  EXPECT_EQ(choose_dataset(file_with("a.json", "[]"))->kind->name, "sharegpt");
  EXPECT_EQ(choose_dataset(file_with("a.jsonl", "{}"))->kind->name, "jsonl");
  EXPECT_EQ(choose_dataset(file_with("a.md", "x"))->kind->name, "lines");
  EXPECT_THAT(choose_dataset("sharegpt").error().message, HasSubstr("sharegpt:FILE"));
  EXPECT_THAT(choose_dataset("random:x").error().message, HasSubstr("reads no file"));
  const std::string pipe = testing::TempDir() + fmt::format("/pipe-{}", ::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refused(options("lines:" + pipe)), HasSubstr("not a regular file"));  // and no wait
  ::unlink(pipe.c_str());
  EXPECT_THAT(choose_dataset("nope").error().message, HasSubstr("nope: neither a file nor one of"));
}

TEST(Dataset, lengths_are_spread_as_asked_and_do_not_hang_on_the_salt) {
  auto o = options();
  o.input_spread = o.output_spread = *parse_length_spread("uniform:0.8");
  const Workload workload = made(o);
  EXPECT_EQ(workload.input_lengths(), "uniform 0.8-1");
  o.salt = "other";
  const Workload other = made(o);
  std::map<int64_t, int> inputs, outputs;
  double product = 0;
  constexpr int kCount = 4200;
  for (int i = 0; i < kCount; ++i) {
    const Turn turn = first_turn(workload, static_cast<uint64_t>(i));
    const Turn again = first_turn(other, static_cast<uint64_t>(i));
    EXPECT_EQ(turn.input_tokens, static_cast<int64_t>(ids_of(turn).size()));
    EXPECT_EQ(turn.input_tokens, again.input_tokens);
    EXPECT_EQ(turn.output_tokens, again.output_tokens);
    EXPECT_NE(turn.body, again.body);
    ++inputs[*turn.input_tokens];
    ++outputs[turn.output_tokens];
    product += static_cast<double>((*turn.input_tokens - 90) * (turn.output_tokens - 9));
  }
  EXPECT_EQ(inputs.begin()->first, 80);
  EXPECT_EQ(inputs.rbegin()->first, 100);
  EXPECT_EQ(inputs.size(), 21u);
  for (const auto& [length, count] : inputs) EXPECT_NEAR(count, kCount / 21, 75) << length;
  EXPECT_EQ(outputs.size(), 3u);  // 8, 9, 10
  EXPECT_LT(std::abs(product / kCount), 0.5) << "input and output are drawn together";

  o.input_spread = *parse_length_spread("normal:0.1");
  const Workload normal = made(o);
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto n = static_cast<double>(*first_turn(normal, i).input_tokens);
    sum += n;
    squares += n * n;
  }
  EXPECT_NEAR(sum / 2000, 100, 1);
  EXPECT_NEAR(std::sqrt(squares / 2000 - sum / 2000 * sum / 2000), 10, 1);
  for (const char* bad : {"", "uniform", "uniform:0", "uniform:1.5", "normal:x", "fixed:1"})
    EXPECT_FALSE(parse_length_spread(bad)) << bad;
}

TEST(Dataset, input_of_one_token_is_one_token) {
  auto o = options();
  o.input_tokens = 1;
  for (const char* spread : {"fixed", "uniform:0.8", "normal:0.5"}) {
    o.input_spread = *parse_length_spread(spread);
    EXPECT_GE(*first_turn(made(o), 3).input_tokens, 1);
    EXPECT_LE(*first_turn(made(o), 3).input_tokens, 2);
  }
}

TEST(Dataset, prefixes_are_shared_inside_a_run_and_not_between_runs) {
  auto o = options();
  o.prefix_tokens = 60;
  o.prefixes = 3;
  const Workload workload = made(o);
  const auto ids = [&](const Workload& w, uint64_t i) { return ids_of(first_turn(w, i)); };
  const auto prefix = [&](const Workload& w, uint64_t i) {
    auto all = ids(w, i);
    all.resize(60);
    return all;
  };
  EXPECT_EQ(ids(workload, 0).size(), 100u);
  EXPECT_EQ(prefix(workload, 0), prefix(workload, 3));
  EXPECT_NE(prefix(workload, 0), prefix(workload, 1));
  EXPECT_NE(ids(workload, 0), ids(workload, 3));
  std::set<std::vector<int64_t>> distinct;
  for (uint64_t i = 0; i < 30; ++i) distinct.insert(prefix(workload, i));
  EXPECT_EQ(distinct.size(), 3u);
  o.salt = "t";
  EXPECT_NE(prefix(workload, 0), prefix(made(o), 0));
  o.prefix_tokens = 100;
  EXPECT_THAT(refused(o), HasSubstr("prefix of 100 tokens"));
  o = options(file_with("a.txt", "x"));
  o.prefix_tokens = 3;
  EXPECT_THAT(refused(o), HasSubstr("only datasets random and text"));
}

TEST(Dataset, a_tokenizer_gives_exact_text_and_keeps_special_ids_out) {
  const std::string folder = std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";
  const auto tokenizer = text::Tokenizer::load(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto o = options("text");
  o.tokenizer = folder;
  const int64_t bos = tokenizer->special_ids().add_bos ? 1 : 0;
  for (const int64_t length : {3, 17, 100, 333}) {
    o.input_tokens = length;
    const Workload workload = made(o);
    EXPECT_EQ(workload.input_lengths(), "fixed");
    for (uint64_t i = 0; i < 20; ++i) {
      const Turn turn = first_turn(workload, i);
      EXPECT_EQ(turn.input_tokens, length);
      const size_t begin = turn.body.find("\"prompt\":\"") + 10;
      const std::string prompt = turn.body.substr(begin, turn.body.find('"', begin) - begin);
      EXPECT_EQ(static_cast<int64_t>(tokenizer->encode(prompt)->size()) + bos, length);
    }
  }
  if (bos > 0) {
    o.input_tokens = 1;  // the BOS alone
    EXPECT_THAT(refused(o), HasSubstr("input of 1 tokens: no text of random words has so few"));
  }
  o = options();
  o.tokenizer = folder;
  o.token_low = 0;
  o.token_high = INT32_MAX;
  o.input_tokens = 20'000;
  std::set<int64_t> seen;
  for (const int64_t id : ids_of(first_turn(made(o), 0))) seen.insert(id);
  for (const int64_t id : seen) {
    EXPECT_FALSE(tokenizer->is_special(static_cast<int32_t>(id))) << id;
    EXPECT_FALSE(tokenizer->token_bytes(static_cast<int32_t>(id)).empty()) << id;
  }
  EXPECT_GT(seen.size(), 100u);
  o.tokenizer = "nowhere";
  EXPECT_THAT(refused(o), HasSubstr("nowhere"));
}

TEST(Dataset, a_tokenizer_counts_the_prompts_of_files) {
  const std::string folder = std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";
  const auto tokenizer = text::Tokenizer::load(folder);
  ASSERT_TRUE(tokenizer);
  auto o = options(file_with("counted.txt", "the water of time\nan other prompt\n"));
  EXPECT_FALSE(first_turn(made(o), 0).input_tokens);
  o.tokenizer = folder;
  EXPECT_EQ(first_turn(made(o), 1).input_tokens,
            static_cast<int64_t>(tokenizer->encode("[s] an other prompt")->size()) +
                (tokenizer->special_ids().add_bos ? 1 : 0));
}

TEST(Dataset, jsonl_rows_bring_their_own_fields) {
  auto o = options(file_with("rows.jsonl",
                             "{\"prompt\":\"hello\",\"max_tokens\":7,\"top_p\":0.5}\n"
                             "\n{\"prompt\":[5,6,7],\"output_tokens\":3}\n"));
  o.extra_body = R"({"top_p":0.9,"stop":["x"],"temperature":1})";
  const Workload workload = made(o);
  EXPECT_EQ(workload.distinct_prompts(), 2u);
  const Turn first = first_turn(workload, 0);
  EXPECT_THAT(first.body, HasSubstr(R"("prompt":"[s] hello")"));
  EXPECT_THAT(first.body, HasSubstr(R"("max_tokens":7)"));
  EXPECT_THAT(first.body, HasSubstr(R"("top_p":0.5)"));
  EXPECT_THAT(first.body, HasSubstr(R"("stop":["x"])"));
  EXPECT_THAT(first.body, HasSubstr(R"("temperature":1)"));
  EXPECT_EQ(first.body.find("top_p"), first.body.rfind("top_p"));
  EXPECT_EQ(first.body.find("temperature"), first.body.rfind("temperature"));
  EXPECT_EQ(first.output_tokens, 7);
  const Turn second = first_turn(workload, 1);
  EXPECT_EQ(ids_of(second), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(second.input_tokens, 3);
  EXPECT_EQ(second.output_tokens, 3);
}

TEST(Dataset, jsonl_messages_go_to_chat_with_the_salt_in_the_first) {
  auto o = options(file_with(
      "chat.jsonl",
      R"({"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]})"));
  EXPECT_THAT(refused(o), HasSubstr("chat.jsonl:1: messages: pass --endpoint chat"));
  o.endpoint = Endpoint::kChat;
  EXPECT_THAT(first_turn(made(o), 0).body,
              HasSubstr(R"([{"role":"system","content":"[s] be kind"},{"role":"user")"));
}

TEST(Dataset, broken_jsonl_is_told_by_line_and_field) {
  const auto told = [&](std::string_view text) {
    return refused(options(file_with("bad.jsonl", text)));
  };
  EXPECT_THAT(told("{\"prompt\":\"a\"}\nnonsense\n"), HasSubstr("bad.jsonl:2: nonsense is not"));
  EXPECT_THAT(told("{\"x\":1}"), HasSubstr("bad.jsonl:1: no \"prompt\""));
  EXPECT_THAT(told("{\"prompt\":3}"), HasSubstr("prompt 3 is neither a text nor a list"));
  EXPECT_THAT(told("{\"prompt\":[1,-2]}"), HasSubstr("prompt: -2 is not a token id"));
  EXPECT_THAT(told("{\"prompt\":\"a\",\"max_tokens\":0}"), HasSubstr("max_tokens 0 is not"));
  EXPECT_THAT(told("{\"prompt\":\"a\",\"stream\":true}"), HasSubstr("stream: the client sets"));
  EXPECT_THAT(told("{\"prompt\":\"a\",\"messages\":[]}"), HasSubstr("is enough"));
  EXPECT_THAT(told("\n"), HasSubstr("has no prompt"));
}

constexpr std::string_view kShareGpt = R"([
 {"id":"a","conversations":[{"from":"human","value":"q1"},{"from":"gpt","value":"w w w"},
                            {"from":"human","value":"q2"},{"from":"gpt","value":"w"}]},
 {"id":"b","conversations":[{"from":"gpt","value":"no question"}]},
 {"id":"c","conversations":[{"from":"user","value":"q3"},{"from":"assistant","value":"w w w w w w"}]}])";

TEST(Dataset, sharegpt_sends_questions_and_takes_lengths_from_answers) {
  auto o = options(file_with("share.json", kShareGpt));
  const Workload workload = made(o);
  EXPECT_EQ(workload.distinct_prompts(), 2u);
  const Turn first = first_turn(workload, 0);
  EXPECT_THAT(first.body, HasSubstr(R"("prompt":"[s] q1")"));
  EXPECT_EQ(first.output_tokens, 4);
  EXPECT_EQ(first_turn(workload, 1).output_tokens, 8);
  EXPECT_FALSE(first.keep_answer);
  o.turns = 5;
  o.endpoint = Endpoint::kChat;
  o.think.seconds = 2;
  const Workload chat = made(o);
  const auto talk = chat.conversation(0);
  EXPECT_TRUE(talk->next("")->keep_answer);
  const auto second = talk->next("the \"real\" answer");
  ASSERT_TRUE(second);
  EXPECT_THAT(
      second->body,
      HasSubstr(
          R"([{"role":"user","content":"[s] q1"},{"role":"assistant","content":"the \"real\" answer"},{"role":"user","content":"q2"}])"));
  EXPECT_EQ(second->think_ns, 2'000'000'000);
  EXPECT_FALSE(second->keep_answer);
  EXPECT_FALSE(talk->next("x"));
  o.dataset = file_with("share.json", "{\"a\":1}");
  EXPECT_THAT(refused(o), HasSubstr("share.json: not a list of conversations"));
  o.dataset = file_with("share.json", "[{\"a\":1}]");
  EXPECT_THAT(refused(o), HasSubstr("conversation 0: no list \"conversations\""));
  o.dataset = file_with("share.json", "[{]");
  EXPECT_THAT(refused(o), HasSubstr("share.json: not JSON"));
}

TEST(Dataset, sessions_grow_and_think) {
  auto o = options();
  o.turns = 3;
  o.think = {2, true};
  const Workload workload = made(o);
  double sum = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    const auto talk = workload.conversation(i);
    std::vector<int64_t> before;
    for (int turn = 0; turn < 3; ++turn) {
      const auto next = talk->next("");
      ASSERT_TRUE(next);
      const auto ids = ids_of(*next);
      EXPECT_EQ(ids.size(), 100u * static_cast<size_t>(turn + 1));
      EXPECT_EQ(next->input_tokens, static_cast<int64_t>(ids.size()));
      EXPECT_TRUE(std::equal(before.begin(), before.end(), ids.begin()));
      before = ids;
      EXPECT_EQ(next->think_ns > 0, turn > 0);
      sum += static_cast<double>(next->think_ns) * 1e-9;
    }
    EXPECT_FALSE(talk->next(""));
  }
  EXPECT_NEAR(sum / 1000, 2, 0.25);
  o.dataset = "text";
  const Workload text = made(o);
  const auto talk = text.conversation(0);
  talk->next("");
  const auto second = talk->next("ANSWER");
  EXPECT_THAT(second->body, HasSubstr("ANSWER\\n\\n"));
  EXPECT_FALSE(second->input_tokens);
}

constexpr std::string_view kTrace =
    R"({"timestamp":3000,"input_length":1200,"output_length":4,"hash_ids":[7,8,9]}
{"timestamp":0,"input_length":1100,"output_length":3,"hash_ids":[7,8,1]}
{"timestamp":10,"input_length":30,"output_length":9}
)";

TEST(Dataset, a_trace_shares_its_blocks) {
  const std::string path = file_with("trace.jsonl", kTrace);
  const Workload workload = made(options("mooncake:" + path));
  EXPECT_EQ(workload.distinct_prompts(), 3u);
  EXPECT_TRUE(workload.shares_prefixes());
  const auto a = ids_of(first_turn(workload, 0)), b = ids_of(first_turn(workload, 1)),
             c = ids_of(first_turn(workload, 2));
  EXPECT_EQ(a.size(), 1100u);  // in the order of their times
  EXPECT_EQ(b.size(), 30u);
  EXPECT_EQ(c.size(), 1200u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 1024, c.begin()));
  EXPECT_NE(a[1024], c[1024]);
  EXPECT_EQ(first_turn(workload, 0).output_tokens, 3);
  const auto next_replay = ids_of(first_turn(workload, 3));
  EXPECT_EQ(next_replay.size(), 1100u);
  EXPECT_NE(next_replay, a) << "a second replay must not meet the first one's cache";
  const auto told = [&](std::string_view text) {
    return refused(options("mooncake:" + file_with("bad.jsonl", text)));
  };
  EXPECT_THAT(told("{\"timestamp\":1}"), HasSubstr("bad.jsonl:1: no \"input_length\""));
  EXPECT_THAT(told(R"({"timestamp":-1,"input_length":1,"output_length":1})"),
              HasSubstr("timestamp -1 is not"));
  EXPECT_THAT(told(R"({"timestamp":1,"input_length":0,"output_length":1})"),
              HasSubstr("input_length 0 is not"));
  EXPECT_THAT(told(R"({"timestamp":1,"input_length":9,"output_length":1,"hash_ids":[1,2]})"),
              HasSubstr("hash_ids: 2 blocks of 512 for input_length 9"));
}

TEST(Dataset, bodies_take_extra_fields_and_refuse_ours) {
  auto o = options();
  o.stream = false;
  o.force_length = false;
  o.extra_body = R"({"max_tokens":3})";
  const std::string body = first_turn(made(o), 0).body;
  EXPECT_THAT(body, HasSubstr(R"("stream":false)"));
  EXPECT_EQ(body.find("ignore_eos"), std::string::npos);
  EXPECT_EQ(body.find("stream_options"), std::string::npos);
  EXPECT_THAT(body, HasSubstr(R"("max_tokens":3)"));
  EXPECT_EQ(first_turn(made(o), 0).output_tokens, 3) << "the length that is asked for";
  o.force_length = true;
  EXPECT_THAT(first_turn(made(o), 0).body, HasSubstr(R"("min_tokens":3)"));
  o.extra_body = R"({"max_tokens":0})";
  EXPECT_THAT(refused(o), HasSubstr("must be at least 1"));
  o.extra_body = R"({"stream":true})";
  EXPECT_THAT(refused(o), HasSubstr("extra body: stream is set by the client itself"));
  o.extra_body = "[1]";
  EXPECT_THAT(refused(o), HasSubstr("extra body [1] is not a JSON object"));
  o.extra_body = R"({"a":1,"a":2})";
  EXPECT_THAT(refused(o), HasSubstr("a comes twice"));
}

/// Every reader on thousands of damaged files: rows that can be sent, or one line that says where.
template <typename Parse>
void expect_no_harm(std::string_view text, Parse parse) {
  ASSERT_TRUE(parse(text));
  base::Rng rng(11);
  for (int i = 0; i < 3000; ++i) {
    std::string bad(text);
    for (uint64_t n = 1 + rng.below(4); n > 0; --n)
      bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    if (i % 2 == 0) bad.resize(rng.below(bad.size() + 1));
    const auto rows = parse(bad);
    if (!rows) {
      EXPECT_THAT(rows.error().message, StartsWith("f:")) << bad;
      EXPECT_EQ(rows.error().message.find('\n'), std::string::npos) << rows.error().message;
    }
  }
}

TEST(Dataset, damaged_files_are_read_or_refused) {
  auto o = options();
  const auto with = [&](RowParser parse) {
    return [&o, parse](std::string_view text) { return parse(o, "f", text); };
  };
  expect_no_harm("a prompt\n\xC3\xA4 second\n", with(parse_lines));
  expect_no_harm(
      "{\"prompt\":\"hello\",\"max_tokens\":7,\"top_p\":0.5}\n{\"prompt\":[5,6,7],\"x\":{}}\n",
      with(parse_jsonl));
  expect_no_harm(kShareGpt, with(parse_sharegpt));
  expect_no_harm(kTrace, [](std::string_view text) { return parse_mooncake("f", text); });
  o.endpoint = Endpoint::kChat;
  expect_no_harm(R"({"messages":[{"role":"user","content":"x","name":"y"}],"n":1})",
                 with(parse_jsonl));
}

}  // namespace
}  // namespace headroom::load
