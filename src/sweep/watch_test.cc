// Triggers, states and commits: the watcher's parts against real files, servers' answers and git.
#include "sweep/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/file.h"
#include "load/mock/mock_server.h"
#include "sweep/file_lock.h"
#include "sweep/trigger.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class WatchTest : public testing::Test {
 protected:
  WatchTest() {
    std::string name = (fs::temp_directory_path() / "headroom-watch-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~WatchTest() override { fs::remove_all(folder_); }
  static base::Result<std::string> value(TriggerKind kind, const std::string& object,
                                         const std::string& ref = "",
                                         const std::string& pointer = "") {
    TriggerSpec spec;
    spec.kind = kind;
    spec.object = object;
    spec.ref = ref;
    spec.pointer = pointer;
    return make_trigger(spec)->value();
  }
  std::string git(const std::string& arguments) const {
    return command_output({"sh", "-c",
                           fmt::format("cd '{}' && git -c user.name=t -c user.email=t@t {}",
                                       folder_.string(), arguments)})
        .value();
  }
  fs::path folder_;
};

TEST_F(WatchTest, ACommandsAnswerMayBeJson) {
  EXPECT_EQ(value(TriggerKind::kCommand, "echo ' 1.2.3 '").value(), "1.2.3");
  EXPECT_EQ(value(TriggerKind::kCommand, R"(echo '{"a":{"v":"4.5"}}')", "", "/a/v").value(), "4.5");
  EXPECT_EQ(value(TriggerKind::kCommand, R"(echo '{"a":[1,2]}')", "", "/a").value(), "[1,2]");
  EXPECT_THAT(value(TriggerKind::kCommand, "echo oh no >&2; exit 3").error().message,
              HasSubstr("exited with status 3: oh no"));
  EXPECT_THAT(value(TriggerKind::kCommand, "echo '{}'", "", "/x").error().message,
              HasSubstr("has no /x"));
  EXPECT_THAT(command_output({"sleep", "9"}, 0.1).error().message, HasSubstr("no answer in 0.1 s"));
}

TEST_F(WatchTest, AFilesDigestMovesWithItsContent) {
  const fs::path file = folder_ / "f";
  std::ofstream(file) << "one";
  const std::string one = value(TriggerKind::kFile, file.string()).value();
  EXPECT_EQ(value(TriggerKind::kFile, file.string()).value(), one);
  std::ofstream(file) << "two";
  EXPECT_NE(value(TriggerKind::kFile, file.string()).value(), one);
  EXPECT_FALSE(value(TriggerKind::kFile, (folder_ / "none").string()));
}

TEST_F(WatchTest, AUrlIsAskedAndPointedInto) {
  const auto server = load::MockServer::start({}, "127.0.0.1", 0).value();
  EXPECT_EQ(value(TriggerKind::kUrl, server->url() + "/v1/models", "", "/data/0/id").value(),
            "mock");
  EXPECT_THAT(value(TriggerKind::kUrl, server->url() + "/health", "", "/nothing").error().message,
              HasSubstr("has no /nothing"));
  server->stop();
  server->wait();
  EXPECT_FALSE(value(TriggerKind::kUrl, server->url() + "/v1/models"));
}

TEST_F(WatchTest, AGitRefAndTheCommitsBetween) {
  git("init -q -b main .");
  for (int i = 0; i < 4; ++i) git(fmt::format("commit -q --allow-empty -m c{}", i));
  const std::string head = git("rev-parse HEAD"), first = git("rev-parse HEAD~3");
  EXPECT_EQ(value(TriggerKind::kGit, folder_.string(), "refs/heads/main").value(), head);
  EXPECT_THAT(value(TriggerKind::kGit, folder_.string(), "refs/heads/none").error().message,
              HasSubstr("exited with status 2"));
  EXPECT_THAT(commits_between(folder_.string(), first, head).value(),
              ElementsAre(git("rev-parse HEAD~2"), git("rev-parse HEAD~1"), head));
}

/// A watcher over recipes whose server is a mock of this process.
class WatcherTest : public WatchTest {
 protected:
  WatcherTest() {
    WatchOptions options;
    options.states = folder_;
    options.sweep.logs = folder_ / "logs";
    options.sweep.quiet = true;
    watcher_.emplace(options, store_, [this](const std::string& line) { said_ += line + "\n"; });
  }
  ~WatcherTest() override {
    server_->stop();
    server_->wait();
  }
  fs::path recipe(const std::string& file, const std::string& more, int output = 2) const {
    std::ofstream(folder_ / file) << fmt::format(
        "name: mock\nmodel: mock\nserver: {{url: '{}'}}\nworkload: {{input: 4, output: {}, "
        "requests: 2, warmup: 0}}\nsearch: [{{concurrency: 1}}]\n{}",
        server_->url(), output, more);
    return folder_ / file;
  }
  WatchState state() const { return read_state(folder_ / "mock.watch.json").value(); }

  std::unique_ptr<load::MockServer> server_ = load::MockServer::start({}, "127.0.0.1", 0).value();
  results::Store store_ = results::Store::open((folder_ / "r.db").string()).value();
  std::optional<Watcher> watcher_;
  std::string said_;
};

TEST_F(WatcherTest, TwoRecipesOfOneNameDoNotRunEachOtherForever) {
  const fs::path one = recipe("one.yaml", ""), two = recipe("two.yaml", "repeats: 2\n");
  ASSERT_TRUE(watcher_->check(one).value());
  const auto second = watcher_->check(two);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("two.yaml: is called mock as "));
  watcher_->new_round();
  EXPECT_FALSE(watcher_->check(one).value());
  fs::remove(one);  // renamed, in the next round
  watcher_->new_round();
  EXPECT_TRUE(watcher_->check(two).value());
}

TEST_F(WatcherTest, AnswersOfMegabytesOrOfBytesKeepTheStateReadable) {
  const fs::path file =
      recipe("r.yaml",
             "watch:\n  on:\n    - {command: \"head -c 9000000 /dev/zero | tr '\\\\0' x\"}\n    - "
             "{command: \"printf '\\\\377\\\\001'\"}\n    - {command: echo 1.0}\n");
  ASSERT_TRUE(watcher_->check(file).value());
  EXPECT_LT(fs::file_size(folder_ / "mock.watch.json"), 4096u);
  EXPECT_LT(said_.size(), 4096u);
  watcher_->new_round();
  const auto again = watcher_->check(file);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(*again);
}

TEST_F(WatcherTest, ARunThatBrokeOffUnderAnotherWordingIsNotContinued) {
  const fs::path file = recipe("r.yaml", "");
  ASSERT_TRUE(watcher_->check(file).value());
  WatchState broken = state();
  broken.pending_run = "half";
  broken.pending_values = {{"recipe", "of another wording"}};
  ASSERT_TRUE(write_state(folder_ / "mock.watch.json", broken));
  recipe("r.yaml", "", 3);
  watcher_->new_round();
  ASSERT_TRUE(watcher_->check(file).value());
  EXPECT_THAT(said_, HasSubstr("run half was broken off and the recipe changed since"));
  EXPECT_NE(state().run, "half");
  for (const auto& stored : store_.all().value()) EXPECT_NE(stored.record.run, "half");
}

TEST_F(WatcherTest, AStateHeldByAnotherWatchIsLeftAlone) {
  const fs::path file = recipe("r.yaml", "");
  {
    const auto other = FileLock::take((folder_ / "mock.watch.json.lock").string(), "");
    const auto ran = watcher_->check(file);
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr("another watch of mock is at work"));
  }
  EXPECT_TRUE(watcher_->check(file).value());
}

TEST_F(WatcherTest, AClockThatWasSetBackDoesNotPutTheScheduleOff) {
  const fs::path file = recipe("r.yaml", "watch: {every: 1d}\n");
  ASSERT_TRUE(watcher_->check(file).value());
  EXPECT_FALSE(watcher_->check(file).value());
  WatchState ahead = state();
  ahead.time_s += 366 * 86400.0;
  ASSERT_TRUE(write_state(folder_ / "mock.watch.json", ahead));
  EXPECT_TRUE(watcher_->check(file).value());
}

TEST_F(WatchTest, TheStateSurvivesAndABadOneIsAnError) {
  const fs::path file = folder_ / "s.json";
  EXPECT_TRUE(read_state(file)->run.empty());
  WatchState state;
  state.values = {{"recipe", "ab\"c"}, {"git x", "1"}};
  state.run = "r1";
  state.time_s = 12.5;
  state.pending_run = "r2";
  state.pending_values = {{"recipe", "d"}};
  state.bisect_to = "z";
  ASSERT_TRUE(write_state(file, state));
  const WatchState again = read_state(file).value();
  EXPECT_EQ(again.values, state.values);
  EXPECT_EQ(again.pending_values, state.pending_values);
  EXPECT_EQ(again.pending_run, "r2");
  EXPECT_EQ(again.time_s, 12.5);
  EXPECT_EQ(again.bisect_to, "z");
  const std::string text = base::read_file(file).value();
  for (size_t n = 0; n + 2 < text.size(); n += 5) {
    std::ofstream(file) << text.substr(0, n);
    EXPECT_FALSE(read_state(file)) << n;
  }
}

}  // namespace
}  // namespace headroom::sweep
