// Scheduler: order, chunk boundaries, page accounting.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace headroom::engine {
namespace {

std::unique_ptr<Sequence> sequence(int32_t prompt, int32_t max_tokens, std::string id = "r") {
  Request request;
  request.id = std::move(id);
  request.prompt.assign(static_cast<size_t>(prompt), 1);
  request.sampling.max_tokens = max_tokens;
  return std::make_unique<Sequence>(std::move(request), std::make_shared<RequestStream>(nullptr));
}

void advance(std::span<const Scheduler::Part> parts) {
  for (const auto& part : parts) {
    part.sequence->cached += part.tokens;
    if (part.samples) ++part.sequence->generated;
  }
}

TEST(Scheduler, AdmitsInOrderAndReservesTheWorstCase) {
  PagePool pool(8, 16);
  Scheduler scheduler({4, 64, 32}, pool);
  scheduler.add(sequence(40, 25, "a"));  // 64 rows: 4 pages
  scheduler.add(sequence(80, 1, "b"));   // 80 rows: 5 pages, do not fit beside a
  scheduler.add(sequence(1, 1, "c"));    // would fit, must not overtake
  EXPECT_EQ(scheduler.admit(1), 1);
  EXPECT_EQ(pool.used(), 4);
  EXPECT_EQ(scheduler.waiting(), 2u);
  scheduler.retire(scheduler.running_sequences().front().get());
  EXPECT_EQ(pool.used(), 0);
  EXPECT_EQ(scheduler.admit(2), 2);
  EXPECT_EQ(pool.used(), 6);
}

TEST(Scheduler, ChunksEndAtFixedPositionsWhateverElseRuns) {
  PagePool pool(64, 16);
  Scheduler scheduler({4, 40, 32}, pool);
  scheduler.add(sequence(70, 4, "long"));
  scheduler.add(sequence(5, 4, "short"));
  scheduler.add(sequence(33, 4, "middle"));
  scheduler.admit(1);
  std::vector<std::vector<int32_t>> steps;
  for (int i = 0; i < 5; ++i) {
    const auto parts = scheduler.plan();
    std::vector<int32_t> step;
    bool prefill = false;
    for (const auto& part : parts) {
      EXPECT_FALSE(part.decode && prefill) << "decoding sequences come first";
      prefill = prefill || !part.decode;
      step.push_back(part.tokens);
      if (!part.decode) {
        const int32_t end = part.sequence->cached + part.tokens;
        EXPECT_TRUE(end % 32 == 0 || end == part.sequence->prompt_length());
        EXPECT_EQ(part.samples, end == part.sequence->prompt_length());
      }
    }
    steps.push_back(step);
    advance(parts);
  }
  EXPECT_EQ(steps, (std::vector<std::vector<int32_t>>{
                       {32, 5}, {1, 32}, {1, 6, 32}, {1, 1, 1}, {1, 1, 1}}));
}

TEST(Scheduler, RemovesFromBothQueues) {
  PagePool pool(4, 16);
  Scheduler scheduler({4, 64, 32}, pool);
  scheduler.add(sequence(60, 4, "a"));
  scheduler.add(sequence(60, 4, "b"));
  scheduler.admit(1);
  int waiting = 0, running = 0;
  scheduler.remove_if([](const Sequence&) { return true; },
                      [&](Sequence&, bool was_waiting) { ++(was_waiting ? waiting : running); });
  EXPECT_EQ(waiting, 1);
  EXPECT_EQ(running, 1);
  EXPECT_TRUE(scheduler.idle());
  EXPECT_EQ(pool.used(), 0);
}

TEST(SchedulerDeathTest, LimitsMustAllowProgress) {
  PagePool pool(4, 16);
  EXPECT_DEATH(Scheduler({16, 46, 32}, pool), "step of 46 tokens");
}

}  // namespace
}  // namespace headroom::engine
