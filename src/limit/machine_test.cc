// The machine's own entry: plausible figures, kept and given back, broken files ignored.
#include "limit/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/cpu.h"
#include "base/file.h"
#include "base/rng.h"

namespace headroom::limit {
namespace {

namespace fs = std::filesystem;

double value(const Hardware& h, Quantity q) {
  return h.figure(q, Basis::kMeasured)->value;
}

class MachineTest : public testing::Test {
 protected:
  MachineTest()
      : home_(fs::temp_directory_path() / fmt::format("headroom-machine-{}", ::getpid())) {
    ::setenv("XDG_CACHE_HOME", home_.c_str(), 1);
  }
  ~MachineTest() override {
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(home_);
  }
  fs::path home_;
};

TEST_F(MachineTest, MeasuresOnceAndKeepsTheBest) {
  const auto first = this_machine();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(value(*first, Quantity::kMemoryBandwidth), 1e8);
  EXPECT_LT(value(*first, Quantity::kMemoryBandwidth), 1e13);
  EXPECT_GT(value(*first, Quantity::kFlopsFp32), 1e8);
  const auto& bf16 = first->figure(Quantity::kFlopsBf16, Basis::kMeasured);
  ASSERT_EQ(bf16.has_value(), base::cpu_features().avx512_bf16);
  if (bf16) {
    EXPECT_GT(bf16->value, value(*first, Quantity::kFlopsFp32) / 4);
  }
  for (size_t i = 1; i < first->caches.size(); ++i)
    EXPECT_GT(first->caches[i].bytes, first->caches[i - 1].bytes);

  const auto start = std::chrono::steady_clock::now();
  const auto second = this_machine();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  ASSERT_TRUE(second);
  EXPECT_EQ(value(*second, Quantity::kFlopsFp32), value(*first, Quantity::kFlopsFp32));
  EXPECT_EQ(second->title, first->title);
  ASSERT_EQ(second->caches.size(), first->caches.size());

  // A better figure of the same boot survives a new measurement.
  Hardware better = *first;
  better.figure(Quantity::kFlopsFp32, Basis::kMeasured)->value = 1e18;
  ASSERT_TRUE(base::write_file_atomic(home_ / "headroom" / "machine.json", machine_text(better)));
  const auto third = this_machine(true);
  ASSERT_TRUE(third);
  EXPECT_EQ(value(*third, Quantity::kFlopsFp32), 1e18);
}

TEST_F(MachineTest, ABrokenFileIsMeasuredAnew) {
  fs::create_directories(home_ / "headroom");
  ASSERT_TRUE(base::write_file_atomic(home_ / "headroom" / "machine.json", "{\"figures\": ["));
  const auto machine = this_machine();
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_GT(value(*machine, Quantity::kFlopsFp32), 0);
}

TEST(MachineFile, RefusesWhatItCannotHaveWritten) {
  EXPECT_EQ(parse_machine("[]", "m").error().message, "m: not a JSON object");
  EXPECT_EQ(parse_machine("{}", "m").error().message, "m: figures or caches are missing");
  EXPECT_EQ(parse_machine(R"({"figures":[],"caches":[]})", "m").error().message,
            "m: memory_bandwidth or flops_fp32 is missing");
  EXPECT_EQ(parse_machine(R"({"figures":[{"what":"flops_fp32","value":-1}],"caches":[]})", "m")
                .error()
                .message,
            "m: value is not a positive number");
  base::Rng rng(3);
  Hardware machine;
  machine.figure(Quantity::kFlopsFp32, Basis::kMeasured) = Figure{1e9, "s", "d", "n"};
  machine.figure(Quantity::kMemoryBandwidth, Basis::kMeasured) = Figure{1e9, "s", "d", "n"};
  machine.caches = {{"L2", 1e6, 1e11}};
  const std::string good = machine_text(machine);
  EXPECT_TRUE(parse_machine(good, "m"));
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    if (round % 2) text.resize(rng.below(text.size()));
    if (!text.empty()) text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    (void)parse_machine(text, "m");
  }
}

}  // namespace
}  // namespace headroom::limit
