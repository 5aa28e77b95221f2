// Engine: the same tokens whatever the batch, prompt freeing, failures that stay with one request.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>

#include "engine/scripted_model_test.h"

namespace headroom::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A consumer that waits for the finish.
struct Client {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::shared_ptr<RequestStream> stream = std::make_shared<RequestStream>([this] {
    const std::lock_guard lock(mutex);
    ready = true;
    changed.notify_all();
  });
  std::vector<int32_t> ids;
  std::vector<model::TokenScore> prompt_scores;
  std::string text;
  std::optional<Finish> finish;

  bool read_until(size_t tokens) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    RequestStream::Batch batch;
    while (ids.size() < tokens && !finish) {
      {
        std::unique_lock lock(mutex);
        if (!changed.wait_until(lock, deadline, [&] { return ready; })) return false;
        ready = false;
      }
      stream->drain(batch);
      if (!batch.prompt_scores.empty()) {
        EXPECT_TRUE(prompt_scores.empty() && ids.empty()) << "once, before the first token";
        prompt_scores = batch.prompt_scores;
      }
      for (const TokenOutput& token : batch.tokens) {
        ids.push_back(token.id);
        text += token.text;
      }
      if (batch.finish) finish = batch.finish;
    }
    return true;
  }
  bool wait() { return read_until(SIZE_MAX); }
};

constexpr model::StepLimits kLimits{64, 8, 8, 256};

struct Fixture {
  explicit Fixture(int32_t pages = 64, std::vector<int32_t> eos = {}) : model(kLimits, 8, pages) {
    options.max_sequences = 8;
    options.max_step_tokens = 64;
    options.prefill_chunk = 16;
    options.eos_ids = std::move(eos);
    options.token_bytes = [](int32_t id) {
      static const std::vector<std::string> kBytes = [] {
        std::vector<std::string> bytes;
        for (int i = 0; i < ScriptedModel::kVocab; ++i) bytes.push_back(fmt::format("<{}>", i));
        return bytes;
      }();
      return std::string_view(kBytes[static_cast<size_t>(id)]);
    };
  }
  Engine& start() {
    auto started = Engine::start(model, options);
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    engine = std::move(*started);
    return *engine;
  }
  bool eventually(const std::function<bool(const EngineMetrics&)>& holds) const {
    for (int i = 0; i < 1000; ++i) {
      if (holds(engine->metrics())) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  ScriptedModel model;
  EngineOptions options;
  std::unique_ptr<Engine> engine;
};

Request request(std::vector<int32_t> prompt, int32_t max_tokens) {
  Request r;
  r.id = "test";
  r.prompt = std::move(prompt);
  r.sampling.max_tokens = max_tokens;
  r.sampling.temperature = 0;
  return r;
}

std::vector<int32_t> expected_greedy(std::vector<int32_t> tokens, int32_t n) {
  const size_t prompt = tokens.size();
  for (int32_t i = 0; i < n; ++i) tokens.push_back(ScriptedModel::next(tokens));
  return {tokens.begin() + static_cast<ptrdiff_t>(prompt), tokens.end()};
}

std::vector<int32_t> prompt_of(int32_t length, int32_t salt) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < length; ++i) prompt.push_back((i * 7 + salt) % ScriptedModel::kVocab);
  return prompt;
}

TEST(Engine, GreedyTokensThroughChunksAndPages) {
  Fixture f;
  Engine& engine = f.start();
  for (const int32_t length : {1, 15, 16, 17, 100}) {
    Client client;
    ASSERT_TRUE(engine.submit(request(prompt_of(length, 3), 20), client.stream));
    ASSERT_TRUE(client.wait());
    EXPECT_EQ(client.ids, expected_greedy(prompt_of(length, 3), 20)) << length;
    EXPECT_EQ(client.finish->reason, FinishReason::kLength);
    EXPECT_EQ(client.finish->prompt_tokens, length);
    EXPECT_EQ(client.finish->completion_tokens, 20);
  }
}

TEST(Engine, ManyAtOnceGiveWhatEachGivesAlone) {
  Fixture f(60);  // fewer pages than all need at once, so that some must wait
  Engine& engine = f.start();
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Request> asked;
  for (int32_t i = 0; i < 40; ++i) {
    Request r = request(prompt_of(1 + i * 3, i), 5 + i % 13);
    r.sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
    r.sampling.seed = static_cast<uint64_t>(i);
    asked.push_back(r);
    clients.push_back(std::make_unique<Client>());
    ASSERT_TRUE(engine.submit(std::move(r), clients.back()->stream));
  }
  for (auto& client : clients) ASSERT_TRUE(client->wait());
  for (size_t i = 0; i < asked.size(); ++i) {
    Client alone;
    ASSERT_TRUE(engine.submit(asked[i], alone.stream));
    ASSERT_TRUE(alone.wait());
    EXPECT_EQ(clients[i]->ids, alone.ids) << i;
  }
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.pages_used == 0 && m.running == 0; }));
  EXPECT_LE(f.model.largest_step.load(), 64);
  const EngineMetrics metrics = engine.metrics();
  EXPECT_EQ(metrics.finished[static_cast<size_t>(FinishReason::kLength)], 80u);
  EXPECT_EQ(metrics.e2e.count(), 80u);
  EXPECT_EQ(metrics.op_runs.at(0), metrics.steps);
}

/// What the scripted model says of prompt[1…], by its definition.
void expect_scores(const std::vector<int32_t>& prompt, const Client& client) {
  ASSERT_EQ(client.prompt_scores.size() + 1, prompt.size());
  for (size_t i = 1; i < prompt.size(); ++i) {
    const int32_t best =
        ScriptedModel::next({prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(i)});
    std::vector<float> row(ScriptedModel::kVocab);
    for (size_t v = 0; v < row.size(); ++v) row[v] = -static_cast<float>(v) * 0.01f - 1;
    row[static_cast<size_t>(best)] = 5;
    double sum = 0;
    for (const float x : row) sum += std::exp(double{x});
    const model::TokenScore& score = client.prompt_scores[i - 1];
    EXPECT_NEAR(score.logprob, row[static_cast<size_t>(prompt[i])] - std::log(sum), 1e-5) << i;
    const auto better = std::count_if(
        row.begin(), row.end(), [&](float x) { return x > row[static_cast<size_t>(prompt[i])]; });
    EXPECT_EQ(score.rank, better + 1) << i;
    ASSERT_EQ(score.top.size(), 3u);
    EXPECT_EQ(score.top[0].first, best);
    EXPECT_EQ(score.top[1].first, best == 0 ? 1 : 0);
  }
}

TEST(Engine, PromptsAreScoredThroughChunksAmongOthers) {
  Fixture f;
  Engine& engine = f.start();
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Request> asked;
  for (const int32_t length : {1, 2, 15, 16, 17, 33, 100, 256}) {
    Request r = request(prompt_of(length, length), length == 256 ? 0 : length % 3);
    r.sampling.prompt_logprobs = 3;
    asked.push_back(r);
    clients.push_back(std::make_unique<Client>());
    ASSERT_TRUE(engine.submit(r, clients.back()->stream)) << length;
    clients.push_back(std::make_unique<Client>());
    ASSERT_TRUE(engine.submit(request(prompt_of(20, length), 9), clients.back()->stream));
  }
  for (auto& client : clients) ASSERT_TRUE(client->wait());
  for (size_t i = 0; i < asked.size(); ++i) {
    const Client& client = *clients[2 * i];
    const auto& prompt = asked[i].prompt;
    expect_scores(prompt, client);
    EXPECT_EQ(client.finish->reason, FinishReason::kLength);
    EXPECT_EQ(client.finish->prompt_tokens, std::ssize(prompt));
    EXPECT_EQ(client.finish->completion_tokens, asked[i].sampling.max_tokens);
    EXPECT_EQ(client.ids, expected_greedy(prompt, asked[i].sampling.max_tokens));
    EXPECT_TRUE(clients[2 * i + 1]->prompt_scores.empty());
  }
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.pages_used == 0 && m.running == 0; }));
}

TEST(Engine, AScoreThatIsNotFiniteFailsTheRequestInItsChunk) {
  Fixture f;
  f.model.poison = 63;
  Engine& engine = f.start();
  for (const int32_t max_tokens : {0, 4}) {
    Request bad = request(prompt_of(60, 1), max_tokens),
            good = request(prompt_of(5, 1), max_tokens);
    for (int32_t& id : bad.prompt) id = id == 63 ? 0 : id;
    bad.prompt[20] = 63;  // in the second chunk of four
    bad.sampling.prompt_logprobs = good.sampling.prompt_logprobs = 3;
    Client fails, stays;
    ASSERT_TRUE(engine.submit(bad, fails.stream));
    ASSERT_TRUE(engine.submit(good, stays.stream));
    ASSERT_TRUE(fails.wait());
    ASSERT_TRUE(stays.wait());
    EXPECT_EQ(fails.finish->reason, FinishReason::kError);
    EXPECT_TRUE(fails.prompt_scores.empty());
    EXPECT_EQ(stays.finish->reason, FinishReason::kLength);
    expect_scores(good.prompt, stays);
  }
  EXPECT_EQ(engine.metrics().corrupted, 2u);
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.pages_used == 0 && m.running == 0; }));
}

TEST(Engine, CancelFreesBeforeTheNextStep) {
  Fixture f;
  std::atomic<int> steps{0};
  std::atomic<int> steps_with_two{0};
  f.model.observe = [&](auto sequences) {
    ++steps;
    steps_with_two += sequences.size() == 2;
    std::this_thread::sleep_for(milliseconds(2));
  };
  Engine& engine = f.start();
  Client stays, goes;
  ASSERT_TRUE(engine.submit(request(prompt_of(4, 1), 200), stays.stream));
  ASSERT_TRUE(engine.submit(request(prompt_of(4, 2), 200), goes.stream));
  ASSERT_TRUE(goes.read_until(3));
  goes.stream->cancel();
  const int before = steps_with_two.load();
  goes.stream->cancel();
  ASSERT_TRUE(goes.wait());
  EXPECT_EQ(goes.finish->reason, FinishReason::kCancelled);
  ASSERT_TRUE(stays.wait());
  EXPECT_LE(steps_with_two.load(), before + 1) << "at most the step under way";
  EXPECT_EQ(stays.ids, expected_greedy(prompt_of(4, 1), 200));
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.pages_used == 0; }));
}

TEST(Engine, WhoSeesATokenFindsItCounted) {
  Fixture f;
  Engine& engine = f.start();
  std::shared_ptr<RequestStream> stream;
  std::vector<std::array<uint64_t, 4>> seen;  // tokens got, counted, running, finished
  std::atomic<bool> done{false};
  stream = std::make_shared<RequestStream>([&] {  // on the engine's thread, at the push
    RequestStream::Batch batch;
    stream->drain(batch);
    const EngineMetrics m = engine.metrics();
    seen.push_back({batch.tokens.size() + (seen.empty() ? 0 : seen.back()[0]), m.generation_tokens,
                    static_cast<uint64_t>(m.running),
                    m.finished[static_cast<size_t>(FinishReason::kLength)]});
    if (batch.finish) done = true;
  });
  ASSERT_TRUE(engine.submit(request({1, 2, 3}, 3), stream));
  for (int i = 0; i < 5000 && !done; ++i) std::this_thread::sleep_for(milliseconds(2));
  ASSERT_TRUE(done);
  engine.stop();  // `seen` is ours now
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [got, counted, running, finished] : seen) {
    EXPECT_EQ(counted, got);
    EXPECT_EQ(running, got < 3 ? 1u : 0u);
    EXPECT_EQ(finished, got < 3 ? 0u : 1u);
  }
}

TEST(Engine, CancelWhileWaiting) {
  Fixture f(4);  // one request at a time
  std::atomic<bool> open{false};
  f.model.gate = [&] {
    while (!open) std::this_thread::sleep_for(milliseconds(1));
  };
  Engine& engine = f.start();
  Client first, second;
  ASSERT_TRUE(engine.submit(request(prompt_of(20, 1), 8), first.stream));
  ASSERT_TRUE(engine.submit(request(prompt_of(20, 2), 8), second.stream));
  second.stream->cancel();
  open = true;
  ASSERT_TRUE(second.wait());
  EXPECT_EQ(second.finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(second.ids.size(), 0u);
  ASSERT_TRUE(first.wait());
  EXPECT_EQ(first.ids.size(), 8u);
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.waiting == 0 && m.pages_used == 0; }));
}

TEST(Engine, NanLogitsFailOneRequestOnly) {
  Fixture f;
  f.model.poison = 63;
  Engine& engine = f.start();
  Client good, bad;
  std::vector<int32_t> poisoned = prompt_of(4, 2);
  poisoned.push_back(63);
  // A greedy continuation that never meets the poison.
  std::vector<int32_t> clean = prompt_of(4, 1);
  for (int salt = 1;; ++salt) {
    clean = prompt_of(4, salt);
    const auto tokens = expected_greedy(clean, 10);
    if (std::count(tokens.begin(), tokens.end(), 63) == 0) break;
  }
  ASSERT_TRUE(engine.submit(request(clean, 10), good.stream));
  ASSERT_TRUE(engine.submit(request(poisoned, 10), bad.stream));
  ASSERT_TRUE(bad.wait());
  EXPECT_EQ(bad.finish->reason, FinishReason::kError);
  EXPECT_TRUE(bad.ids.empty()) << "no token may stand for a failure";
  ASSERT_TRUE(good.wait());
  EXPECT_EQ(good.ids, expected_greedy(clean, 10));
  EXPECT_TRUE(f.eventually([](const auto& m) { return m.corrupted == 1 && m.pages_used == 0; }));
}

TEST(Engine, StopIdsTextsAndMinimum) {
  const std::vector<int32_t> prompt = prompt_of(6, 5);
  const std::vector<int32_t> free = expected_greedy(prompt, 12);
  // The first id that has not come before it, so that it is where the output ends.
  size_t at = 3;
  while (std::find(free.begin(), free.begin() + static_cast<ptrdiff_t>(at), free[at]) !=
         free.begin() + static_cast<ptrdiff_t>(at))
    ++at;
  Fixture f(64, {free[at]});
  Engine& engine = f.start();

  Client eos;
  ASSERT_TRUE(engine.submit(request(prompt, 12), eos.stream));
  ASSERT_TRUE(eos.wait());
  EXPECT_EQ(eos.ids.size(), at + 1);
  EXPECT_EQ(eos.finish->reason, FinishReason::kStop);
  EXPECT_EQ(eos.finish->stop_id, free[at]);
  EXPECT_EQ(eos.text.find(fmt::format("<{}>", free[at])), std::string::npos);

  Client ignoring;
  Request r = request(prompt, 12);
  r.sampling.ignore_eos = true;
  ASSERT_TRUE(engine.submit(r, ignoring.stream));
  ASSERT_TRUE(ignoring.wait());
  EXPECT_EQ(ignoring.ids, free);

  Client texts;
  r.sampling.stop = {fmt::format("<{}><{}>", free[1], free[2])};
  ASSERT_TRUE(engine.submit(r, texts.stream));
  ASSERT_TRUE(texts.wait());
  EXPECT_EQ(texts.ids.size(), 3u);
  EXPECT_EQ(texts.text, fmt::format("<{}>", free[0]));
  EXPECT_EQ(texts.finish->stop_text, r.sampling.stop[0]);

  Client minimum;
  r = request(prompt, 12);
  r.sampling.min_tokens = static_cast<int32_t>(at) + 1;
  ASSERT_TRUE(engine.submit(r, minimum.stream));
  ASSERT_TRUE(minimum.wait());
  EXPECT_GT(minimum.ids.size(), at + 1);
  EXPECT_NE(minimum.ids[at], free[at]);
}

TEST(Engine, ContextFullIsLength) {
  Fixture f;
  Engine& engine = f.start();
  Client client;
  ASSERT_TRUE(engine.submit(request(prompt_of(250, 1), 100), client.stream));
  ASSERT_TRUE(client.wait());
  EXPECT_EQ(client.ids.size(), 6u);
  EXPECT_EQ(client.finish->reason, FinishReason::kLength);
}

TEST(Engine, RefusesWhatCanNeverRun) {
  Fixture f(8);
  Engine& engine = f.start();
  Client client;
  auto result = engine.submit(request(prompt_of(256, 1), 1), client.stream);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("256 tokens"), std::string::npos);
  EXPECT_NE(result.error().message.find("255"), std::string::npos);
  EXPECT_FALSE(engine.submit(request({}, 1), client.stream));
  EXPECT_FALSE(engine.submit(request({1, 64}, 1), client.stream));
  EXPECT_FALSE(engine.submit(request({-1}, 1), client.stream));
  result = engine.submit(request(prompt_of(60, 1), 10), client.stream);  // 9 pages of 8
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("9 cache pages, the cache has 8"), std::string::npos);
}

TEST(Engine, FullQueueRefusesAndDrainFinishesWhatRuns) {
  Fixture f;
  f.options.max_sequences = 1;
  f.options.max_waiting = 2;
  std::atomic<bool> open{false};
  std::atomic<bool> stepping{false};
  f.model.gate = [&] {
    stepping = true;
    while (!open) std::this_thread::sleep_for(milliseconds(1));
  };
  Engine& engine = f.start();
  Client first, second, third, fourth;
  ASSERT_TRUE(engine.submit(request({1}, 3), first.stream));
  while (!stepping) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(engine.submit(request({2}, 3), second.stream));
  ASSERT_TRUE(engine.submit(request({3}, 3), third.stream));
  auto full = engine.submit(request({4}, 3), fourth.stream);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, base::ErrorCode::kResourceExhausted);
  EXPECT_EQ(engine.metrics().waiting, 2);
  engine.drain();
  auto draining = engine.submit(request({4}, 3), fourth.stream);
  ASSERT_FALSE(draining);
  EXPECT_EQ(draining.error().code, base::ErrorCode::kUnavailable);
  EXPECT_FALSE(engine.wait_idle(milliseconds(20)));
  open = true;
  EXPECT_TRUE(engine.wait_idle(seconds(10)));
  for (Client* client : {&first, &second, &third}) {
    ASSERT_TRUE(client->wait());
    EXPECT_EQ(client->ids.size(), 3u);
  }
  EXPECT_EQ(engine.metrics().rejected, 2u);
}

TEST(Engine, StopEndsWhatRunsAndMayBeCalledTwice) {
  Fixture f;
  f.model.observe = [](auto) { std::this_thread::sleep_for(milliseconds(1)); };
  Engine& engine = f.start();
  Client running;
  ASSERT_TRUE(engine.submit(request({1}, 250), running.stream));
  ASSERT_TRUE(running.read_until(2));
  engine.stop();
  engine.stop();
  ASSERT_TRUE(running.wait());
  EXPECT_EQ(running.finish->reason, FinishReason::kCancelled);
  Client late;
  EXPECT_FALSE(engine.submit(request({1}, 2), late.stream));
}

TEST(Engine, LogprobsAreSortedAndAbsentUnlessAsked) {
  Fixture f;
  Engine& engine = f.start();
  Client unused;
  Request r = request({5}, 1);
  r.sampling.logprobs = 3;
  ASSERT_TRUE(engine.submit(r, unused.stream));
  ASSERT_TRUE(engine.wait_idle(seconds(10)));
  RequestStream::Batch batch;
  unused.stream->drain(batch);
  ASSERT_EQ(batch.tokens.size(), 1u);
  const auto& top = batch.tokens[0].top;
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].first, batch.tokens[0].id);
  EXPECT_GT(top[0].second, top[1].second);
  EXPECT_GT(top[1].second, top[2].second);
}

TEST(Engine, OptionsMustFitTheModel) {
  Fixture f;
  f.options.max_sequences = 9;
  EXPECT_FALSE(Engine::start(f.model, f.options));
  f.options.max_sequences = 8;
  f.options.max_step_tokens = 22;
  EXPECT_FALSE(Engine::start(f.model, f.options));
  f.options.max_step_tokens = 65;
  EXPECT_FALSE(Engine::start(f.model, f.options));
}

}  // namespace
}  // namespace headroom::engine
