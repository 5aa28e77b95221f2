// The watcher from end to end: a git repository whose commits change a server's speed.
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
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = std::string(HEADROOM_BINARY_DIR) + "/headroom";

class WatchSystemTest : public testing::Test {
 protected:
  WatchSystemTest() {
    std::string name = (fs::temp_directory_path() / "headroom-watch-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    shell("git init -q -b main repo");
    std::ofstream(folder_ / "version") << "1.0\n";
  }
  ~WatchSystemTest() override { fs::remove_all(folder_); }

  int shell(const std::string& command) const {
    const int status =
        std::system(fmt::format("cd '{}' && {} >out 2>err", folder_.string(), command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string out() const { return headroom::base::read_file(folder_ / "out").value(); }
  std::string err() const { return headroom::base::read_file(folder_ / "err").value(); }
  void commit(const std::string& speed, const std::string& subject) const {
    std::ofstream(folder_ / "repo/speed") << speed;
    ASSERT_EQ(shell(fmt::format("git -C repo add -A && git -C repo -c user.name=t -c "
                                "user.email=t@t commit -q --allow-empty -m '{}'",
                                subject)),
              0)
        << err();
  }
  /// The mock's interval is what the repository says at ${ref}.
  void recipe(const std::string& more = "") const {
    std::ofstream(folder_ / "r.yaml") << fmt::format(
        "name: mock\nmodel: mock\nvars: {{ref: main, version: none}}\nserver:\n"
        "  command: exec '{0}' mock --port ${{port}} --script ttft=1,interval=$(git -C '{1}/repo' "
        "show ${{ref}}:speed)\n"
        "  facts: {{framework: mock, version: \"${{version}}\"}}\n"
        "workload: {{input: 8, output: 8, requests: 6, warmup: 0}}\nsearch:\n  - {{concurrency: "
        "[1, "
        "2]}}\nrepeats: 3\nwatch:\n  on:\n    - {{git: '{1}/repo', ref: refs/heads/main, as: ref, "
        "name: upstream}}\n    - {{command: cat '{1}/version', as: version, name: package}}\n"
        "  bisect: {{repository: '{1}/repo'}}\n"
        "  threshold: 0.2\n{2}",
        kProgram, folder_.string(), more);
  }
  int watch(const std::string& arguments = "") const {
    return shell(fmt::format("'{}' watch r.yaml --db r.db --once --quiet {}", kProgram, arguments));
  }
  std::set<std::string> runs() const {
    std::set<std::string> result;
    using headroom::results::Store;
    const Store store = Store::open((folder_ / "r.db").string(), Store::Mode::kRead).value();
    const auto all = store.all().value();
    for (const auto& stored : all) result.insert(stored.record.run);
    return result;
  }
  fs::path folder_;
};

TEST_F(WatchSystemTest, OneRunPerChangeAndWhatMovedAndTheCommitThatDidIt) {
  commit("5", "start");
  recipe();
  ASSERT_EQ(watch(), 0) << out() << err();
  EXPECT_THAT(out(), HasSubstr("mock: first run"));
  EXPECT_EQ(runs().size(), 1u);
  ASSERT_EQ(watch(), 0);
  EXPECT_EQ(out(), "");  // nothing changed
  EXPECT_EQ(runs().size(), 1u);

  // A new version that is as fast.
  std::ofstream(folder_ / "version") << "1.1\n";
  ASSERT_EQ(watch(), 0);
  EXPECT_THAT(out(), HasSubstr("package: 1.0 → 1.1"));
  EXPECT_THAT(out(), HasSubstr("0 of 2 points moved"));
  EXPECT_EQ(runs().size(), 2u);

  // Five commits; the third makes it slow.
  commit("5", "harmless one");
  commit("5.05", "harmless two");
  commit("10", "the slow one");
  commit("10", "harmless three");
  commit("10.1", "harmless four");
  ASSERT_EQ(watch("--bisect"), 0) << err();
  EXPECT_THAT(out(), HasSubstr("upstream: "));
  EXPECT_THAT(out(), HasSubstr("2 of 2 points moved, by 0."));
  EXPECT_THAT(out(), HasSubstr("moved: slower"));
  EXPECT_THAT(out(), HasSubstr("bisecting 5 commits"));
  EXPECT_THAT(out(), HasSubstr("the first that is slower: "));
  EXPECT_THAT(out(), HasSubstr("the slow one\n"));
  ASSERT_EQ(watch("--bisect"), 0);
  EXPECT_EQ(out(), "");

  // The recipe itself is a trigger too, a schedule another.
  recipe("limits: {time: 1h}\n");
  ASSERT_EQ(watch(), 0);
  EXPECT_THAT(out(), HasSubstr("recipe: "));
  ASSERT_EQ(watch("--every 0.001"), 0);
  EXPECT_THAT(out(), HasSubstr("mock: on schedule"));
  EXPECT_THAT(out(), HasSubstr("nothing outside changed"));
}

TEST_F(WatchSystemTest, ATriggerThatFailsIsALineAndTheWatchGoesOn) {
  commit("1", "start");
  recipe();
  ASSERT_EQ(watch(), 0) << out();
  fs::remove(folder_ / "version");
  commit("1", "next");
  ASSERT_EQ(watch(), 0);
  EXPECT_THAT(out(), HasSubstr("mock: package cannot be told: sh -c cat"));
  EXPECT_THAT(out(), HasSubstr("upstream: "));
  EXPECT_EQ(runs().size(), 2u);
  // A recipe with an error is told, and others are still looked at.
  std::ofstream(folder_ / "bad.yaml") << "name: bad\nmodle: x\n";
  commit("1", "more");
  EXPECT_EQ(shell(fmt::format("'{}' watch . --db r.db --once --quiet", kProgram)), 1);
  EXPECT_THAT(out(),
              HasSubstr("bad.yaml:2: key \"modle\" is not known here; did you mean \"model\"?"));
  EXPECT_EQ(runs().size(), 3u);
}

TEST_F(WatchSystemTest, ARecipeThatDisappearsIsALineAndOthersAreStillLookedAt) {
  commit("1", "start");
  recipe();
  EXPECT_EQ(shell(fmt::format("'{}' watch gone.yaml r.yaml --db r.db --once --quiet", kProgram)),
            1);
  EXPECT_THAT(out(), HasSubstr("gone.yaml: no such recipe or folder"));
  EXPECT_EQ(runs().size(), 1u);
}

TEST_F(WatchSystemTest, AKillNeitherLosesNorDoublesTheRunOfAChange) {
  commit("1", "start");
  recipe();
  std::mt19937 random(3);
  const std::string command =
      fmt::format("exec timeout -s KILL {{}} '{}' watch r.yaml --db r.db --once --quiet", kProgram);
  for (int change = 1; change <= 3; ++change) {
    for (int kill = 0; kill < 4; ++kill)
      shell(fmt::format(fmt::runtime(command), 0.02 + 0.001 * static_cast<double>(random() % 150)));
    ASSERT_EQ(watch(), 0) << out() << err();
    EXPECT_EQ(runs().size(), static_cast<size_t>(change));
    commit("1", "next");
  }
}

}  // namespace
