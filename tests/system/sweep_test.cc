// Sweeps from end to end: the program, real servers of its own and others' making, and kills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/file.h"
#include "results/store.h"

namespace {

namespace fs = std::filesystem;
using headroom::results::Store;
using headroom::results::StoredRecord;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = std::string(HEADROOM_BINARY_DIR) + "/headroom";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    std::string name = (fs::temp_directory_path() / "headroom-sweep-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~SweepTest() override { fs::remove_all(folder_); }

  /// A recipe whose server is the mock, with `more` lines behind.
  fs::path recipe(const std::string& search, const std::string& more = "",
                  const std::string& script = "ttft=1,interval=${interval}") const {
    const fs::path file = folder_ / "r.yaml";
    std::ofstream(file) << fmt::format(
        "name: mock\nmodel: mock\nvars: {{interval: \"1\"}}\nserver:\n  command: ['{}', mock, "
        "--port, \"${{port}}\", --script, \"{}\"]\n  facts: {{framework: mock}}\nworkload: "
        "{{input: "
        "8, output: 4, requests: 4, warmup: 0}}\nsearch:\n{}{}",
        kProgram, script, search, more);
    return file;
  }
  int sweep(const std::string& arguments) const {
    const std::string command = fmt::format("cd '{}' && '{}' sweep r.yaml --db r.db {} >out 2>err",
                                            folder_.string(), kProgram, arguments);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text(const char* name) const {
    return headroom::base::read_file(folder_ / name).value_or("");
  }
  std::vector<StoredRecord> records() const {
    if (!fs::exists(folder_ / "r.db")) return {};
    // Opened as a sweep does: a kill may come before the file has its tables.
    auto store = Store::open((folder_ / "r.db").string());
    if (!store) {
      ADD_FAILURE() << store.error().message;
      return {};
    }
    auto all = store->all();
    if (!all) ADD_FAILURE() << all.error().message;
    return all ? std::move(*all) : std::vector<StoredRecord>{};
  }
  /// Mock servers that still run for this test: their command lines carry the folder's mark.
  static int servers(const std::string& mark) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      std::string line((std::istreambuf_iterator<char>(file)), {});
      if (line.find(mark) != std::string::npos && line.find("mock") != std::string::npos) ++count;
    }
    return count;
  }
  fs::path folder_;
};

TEST_F(SweepTest, MeasuresAllPointsOnceAndResumes) {
  recipe("  - {tp: [1, 2], concurrency: [1, 2]}\n",
         "repeats: 2\nhardware: {name: x, devices: \"${tp}\"}\n");
  ASSERT_EQ(sweep("--dry-run"), 0) << text("err");
  EXPECT_THAT(text("out"), HasSubstr("To measure: 8 of 8"));
  ASSERT_EQ(sweep(""), 0) << text("err");
  EXPECT_THAT(text("out"), HasSubstr("8 measured, 0 had, 0 failed, 0 left"));
  const auto first = records();
  ASSERT_EQ(first.size(), 8u);
  std::set<std::string> runs, prints;
  for (const StoredRecord& stored : first) {
    runs.insert(stored.record.run);
    prints.insert(stored.record.server.recipe_fingerprint);
    EXPECT_EQ(stored.record.server.recipe, "mock");
    EXPECT_EQ(stored.record.hardware.devices, stored.record.server.layout.tp);
  }
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_EQ(prints.size(), 2u);
  ASSERT_EQ(sweep(""), 0);
  EXPECT_THAT(text("out"), HasSubstr("0 measured, 8 had"));
  EXPECT_THAT(text("out"), HasSubstr("--again measures it anew"));
  EXPECT_EQ(records().size(), 8u);
  // More of the ladder belongs to the same run; only the new level is measured.
  recipe("  - {tp: [1, 2], concurrency: [1, 2, 4]}\n",
         "repeats: 2\nhardware: {name: x, devices: \"${tp}\"}\n");
  ASSERT_EQ(sweep("--json"), 0);
  EXPECT_THAT(text("out"), HasSubstr(R"("measured":4,"had":8,"failed":0)"));
  ASSERT_EQ(sweep("--again --quiet"), 0);
  EXPECT_EQ(text("err"), "");
  EXPECT_EQ(records().size(), 24u);
}

TEST_F(SweepTest, AReplayLineRepeatsItsPointWithItsVariables) {
  recipe("  - {tp: [1, 2], concurrency: [1, 2]}\n");
  ASSERT_EQ(sweep("--set interval=2"), 0) << text("err");
  ASSERT_EQ(records().size(), 4u);
  const StoredRecord first = records().front();
  EXPECT_THAT(first.record.replay, HasSubstr("headroom sweep r.yaml --set interval=2 --again"));
  const std::string arguments =
      first.record.replay.substr(std::string("headroom sweep r.yaml").size());
  ASSERT_EQ(sweep(arguments), 0) << text("err");
  EXPECT_THAT(text("out"), HasSubstr("1 measured, 0 had, 0 failed, 0 left"));
  const auto all = records();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [&](const auto& r) { return r.record.point == first.record.point; }),
            2);
  EXPECT_EQ(sweep("--point " + first.record.point), 2);  // of another interval
}

TEST_F(SweepTest, AgainIsAFreshRunAlsoWhenTheLastOneIsUnfinished) {
  recipe("  - {set: {limit: [1, 0]}, concurrency: [1, 2]}\n", "",
         "ttft=1,interval=1,die_after=${limit}");
  EXPECT_EQ(sweep(""), 1);
  const size_t first = records().size();
  EXPECT_EQ(sweep("--again"), 1);
  EXPECT_EQ(records().size(), 2 * first);
}

TEST_F(SweepTest, AStoreThatIsDeletedMeanwhileIsAnErrorAndNoMeasuredPoint) {
  recipe("  - {set: {x: [1, 2, 3]}, concurrency: [1, 2]}\n");
  ASSERT_EQ(sweep("--dry-run"), 0);
  std::thread killer([&] {
    for (int i = 0; i < 400 && records().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fs::remove(folder_ / "r.db");
  });
  const int status = sweep("");
  killer.join();
  EXPECT_EQ(status, 1) << text("out");
  EXPECT_THAT(text("err"), HasSubstr("was deleted or replaced"));
}

TEST_F(SweepTest, ATypingErrorIsToldWithItsLine) {
  recipe("  - {concurency: [1]}\n");
  EXPECT_EQ(sweep(""), 2);
  EXPECT_THAT(text("err"), HasSubstr("r.yaml:9: key \"concurency\" is not known here (search[0]); "
                                     "did you mean \"concurrency\"?"));
}

TEST_F(SweepTest, AServerThatDiesFailsItsPointsAndTheNextConfigurationGoesOn) {
  // The first configuration's server breaks off in the second point.
  recipe("  - {set: {limit: [9, 0]}, concurrency: [1, 2, 4]}\n", "",
         "ttft=1,interval=1,die_after=${limit}");
  EXPECT_EQ(sweep(""), 1);
  const std::string out = text("out");
  EXPECT_THAT(out, HasSubstr("limit=9")) << text("err");
  EXPECT_THAT(out, HasSubstr("failed"));
  EXPECT_THAT(out, HasSubstr("the server "));
  EXPECT_GE(records().size(), 3u);
  for (const StoredRecord& stored : records())
    EXPECT_EQ(stored.record.measures.requests_ok, 4) << "half a point was kept";
  // What failed is asked for again, what is there is not.
  recipe("  - {set: {limit: [9, 0]}, concurrency: [1, 2, 4]}\n", "",
         "ttft=1,interval=1,die_after=${limit}");
  EXPECT_EQ(sweep("--json"), 1);
  EXPECT_THAT(text("out"), HasSubstr(R"("had":3)"));
}

TEST_F(SweepTest, AServerThatDoesNotStartIsToldWithItsLog) {
  recipe("  - {concurrency: [1, 2]}\n", "", "ttft=never");
  EXPECT_EQ(sweep(""), 1);
  EXPECT_THAT(text("out"), HasSubstr("not ready: the server exited with status 2; log "));
  EXPECT_THAT(text("out"), HasSubstr("ttft"));
  EXPECT_THAT(text("out"), HasSubstr("0 measured, 0 had, 2 failed"));
}

TEST_F(SweepTest, APhaseThatTakesTooLongIsNamed) {
  recipe("  - {set: {ttft: [1, 60000]}, concurrency: [1, 2]}\n",
         "timeouts: {warmup: 0.5, point: 30s}\n", "ttft=${ttft},interval=1");
  EXPECT_EQ(sweep(""), 1);
  EXPECT_THAT(text("out"), HasSubstr("(timeouts.warmup)"));
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(SweepTest, APointThatTakesTooLongKeepsWhatItHas) {
  recipe("  - {set: {interval: [1, 60]}, concurrency: [1]}\n", "timeouts: {point: 0.5}\n");
  EXPECT_EQ(sweep(""), 0) << text("err");
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[0].record.measures.requests_ok, 4);
  EXPECT_LT(records()[1].record.measures.requests_ok.value_or(0), 4);
  EXPECT_THAT(text("out"), HasSubstr("partial: "));
}

TEST_F(SweepTest, ALimitStopsBeforeTheNextPoint) {
  recipe("  - {concurrency: [1, 2]}\n", "limits: {time: 0.001}\n");
  EXPECT_EQ(sweep(""), 0);
  EXPECT_THAT(text("out"), HasSubstr("stopped by limits.time"));
  EXPECT_THAT(text("out"), HasSubstr("0 measured, 0 had, 0 failed, 2 left"));
}

TEST_F(SweepTest, RefinementBisectsTheServiceLevelAndDropsTheDominatedBranch) {
  // 2 ms a token is within the level, 8 ms is not: the slow configuration is worse everywhere.
  recipe("  - {set: {interval: [2, 8]}, concurrency: [1, 2, 4, 8]}\n",
         "refine: {points: 3, bend: 1}\n", "ttft=1,interval=${interval}");
  ASSERT_EQ(sweep("--json"), 0) << text("err");
  EXPECT_THAT(text("out"), HasSubstr("interval=8: given up after "));
  EXPECT_THAT(text("out"), HasSubstr(R"("left":)"));
  EXPECT_THAT(text("out"), Not(HasSubstr(R"("left":0)")));
}

TEST_F(SweepTest, AnEvalIsBoundToTheServersPointsAndItsBoundIsKept) {
  std::ofstream(folder_ / "task.jsonl") << R"({"question":"1 + 1?","answer":"#### 2"})"
                                        << "\n"
                                        << R"({"question":"1 + 2?","answer":"#### 3"})" << "\n";
  recipe("  - {concurrency: [1, 2]}\n", "eval: {task: task.jsonl, shots: 0, max_tokens: 8}\n");
  ASSERT_EQ(sweep(""), 0) << text("out") << text("err");
  ASSERT_EQ(records().size(), 2u);
  for (const StoredRecord& stored : records()) {
    ASSERT_TRUE(stored.record.measures.eval);
    EXPECT_EQ(stored.record.measures.eval->questions, 2);
    EXPECT_EQ(stored.record.measures.eval->score, 0);  // the mock knows no sums
  }
  recipe("  - {concurrency: [1, 2]}\n",
         "eval: {task: task.jsonl, shots: 0, max_tokens: 8, least: 0.9}\n");
  EXPECT_EQ(sweep("--again"), 1);
  EXPECT_THAT(text("out"), HasSubstr("is below eval.least 0.9"));
  EXPECT_EQ(records().size(), 2u);
}

/// Starts a sweep and kills it after `ms`; true when it had ended by itself before.
bool killed_sweep(const fs::path& folder, int64_t us) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    if (::chdir(folder.c_str()) != 0) ::_exit(1);
    ::freopen("/dev/null", "w", stdout);
    ::freopen("killed.err", "w", stderr);
    ::execl(kProgram.c_str(), "headroom", "sweep", "r.yaml", "--db", "r.db", "--quiet",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(us));
  ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status);
}

TEST_F(SweepTest, KillingItNeverLosesAFinishedPointNorCountsOneTwice) {
  // The mark makes this test's servers findable.
  const std::string mark = "model=" + folder_.filename().string();
  const char* asked = std::getenv("HEADROOM_SLOW");
  const int kills = asked != nullptr && *asked != 0 ? 200 : 15;
  recipe("  - {set: {interval: [1, 2]}, concurrency: [1, 2, 4, 8]}\n", "repeats: 4\n",
         "ttft=1,interval=${interval}," + mark);
  // The mock answers for any model but lists that one.
  std::string file = text("r.yaml");
  file.replace(file.find("model: mock"), 11, "model: " + folder_.filename().string());
  std::ofstream(folder_ / "r.yaml") << file;
  constexpr size_t kPoints = 2 * 4 * 4;
  std::mt19937 random(5);
  std::set<std::string> finished;
  int completions = 0;
  for (int i = 0; i < kills; ++i) {
    if (finished.size() == kPoints) {  // all done: the next round starts a fresh store
      ++completions;
      finished.clear();
      for (const char* name : {"r.db", "r.db-wal", "r.db-shm"}) fs::remove(folder_ / name);
    }
    killed_sweep(folder_, 10'000 + static_cast<int64_t>(random() % 400'000));
    std::set<std::string> now, ids, runs;
    for (const StoredRecord& stored : records()) {
      const std::string key = fmt::format("{} {}", stored.record.point, *stored.record.repeat);
      EXPECT_TRUE(now.insert(key).second) << "counted twice: " << key;
      EXPECT_EQ(stored.record.measures.requests_ok, 4);
      ids.insert(stored.id);
      runs.insert(stored.record.run);
    }
    EXPECT_LE(runs.size(), 1u);
    for (const std::string& id : finished) EXPECT_TRUE(ids.contains(id)) << "lost: " << id;
    finished = ids;
  }
  while (finished.size() < kPoints) {
    ASSERT_EQ(sweep("--quiet"), 0) << text("err");
    for (const StoredRecord& stored : records()) finished.insert(stored.id);
  }
  EXPECT_EQ(records().size(), kPoints);
  // No server outlives its sweep: the last guardians may still be at it.
  int left = -1;
  for (int i = 0; i < 300 && (left = servers(mark)) > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(left, 0);
  fmt::print("{} kills, {} full rounds\n", kills, completions);
}

}  // namespace
