// Child processes: ends, reasons, and that nothing outlives its parent.
#include "sweep/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "sweep/server.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ChildTest : public testing::Test {
 protected:
  ChildTest() {
    std::string name = (fs::temp_directory_path() / "headroom-child-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ChildTest() override { fs::remove_all(folder_); }
  ChildOptions shell(const std::string& script) const {
    ChildOptions options;
    options.command = {"sh", "-c", script};
    options.log = folder_ / "log";
    options.grace_s = 1;
    return options;
  }
  std::string wait_file(const char* name) const {
    for (int i = 0; i < 500; ++i) {
      const auto text = base::read_file(folder_ / name);
      if (text && text->ends_with('\n')) return text->substr(0, text->size() - 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }
  static bool gone(pid_t pid) {
    for (int i = 0; i < 400; ++i) {
      if (::kill(pid, 0) != 0) return true;
      std::ifstream stat(fmt::format("/proc/{}/stat", pid));
      std::string text;
      std::getline(stat, text);
      if (text.find(") Z ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void wait_end(ChildProcess& child) const {
    for (int i = 0; i < 500 && child.running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_FALSE(child.running());
  }
  fs::path folder_;
};

TEST_F(ChildTest, TellsHowItEndedAndKeepsTheLog) {
  auto options = shell("echo $GREETING; echo two >&2; exit 3");
  options.environment["GREETING"] = "hello there";
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child) << child.error().message;
  wait_end(*child);
  EXPECT_EQ(child->end_text(), "exited with status 3");
  EXPECT_EQ(child->exit_code(), 3);
  EXPECT_EQ(log_tail(options.log), "hello there\ntwo");
  EXPECT_EQ(log_tail(options.log, 1), "two");
  auto killed = ChildProcess::start(shell("kill -9 $$"));
  wait_end(*killed);
  EXPECT_EQ(killed->end_text(), "was ended by signal 9 (SIGKILL)");
}

TEST_F(ChildTest, ARelativeProgramIsLookedForWhereItRuns) {
  std::ofstream(folder_ / "here") << "#!/bin/sh\nexit 7\n";
  fs::permissions(folder_ / "here", fs::perms::owner_all);
  ChildOptions options;
  options.command = {"./here"};
  options.directory = folder_;
  options.log = folder_ / "log";
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child) << child.error().message;
  while (child->running()) ::usleep(1000);
  EXPECT_EQ(child->exit_code(), 7);
}

TEST_F(ChildTest, TheTailOfALogIsShortAndPrintable) {
  std::ofstream(folder_ / "l") << std::string(9000, 'x') + "\n\x1b[31mred\xff\n";
  const std::string tail = log_tail(folder_ / "l", 2);
  EXPECT_LT(tail.size(), 400u);
  EXPECT_EQ(tail.find('\x1b'), std::string::npos);
  EXPECT_THAT(tail, testing::EndsWith(" [31mred\xEF\xBF\xBD"));
}

TEST_F(ChildTest, AMissingProgramIsToldAtOnce) {
  ChildOptions options;
  options.command = {"no-such-program-here"};
  options.log = folder_ / "log";
  EXPECT_THAT(ChildProcess::start(options).error().message,
              HasSubstr("no-such-program-here: no such program in PATH"));
}

TEST_F(ChildTest, StopEndsThoseThatIgnoreItAndThoseThatLeftTheGroup) {
  const std::string script = fmt::format(
      "trap '' TERM; setsid sh -c 'echo $$ > {0}/left; exec sleep 1000' & "
      "sh -c 'trap \"\" TERM; echo $$ > {0}/same; sleep 1000' & echo $$ > {0}/self; while true; do "
      "sleep 0.1; done",
      folder_.string());
  auto child = ChildProcess::start(shell(script));
  ASSERT_TRUE(child) << child.error().message;
  std::vector<pid_t> pids;
  for (const char* name : {"left", "same", "self"}) pids.push_back(std::stoi(wait_file(name)));
  child->stop();
  EXPECT_EQ(child->end_text(), "was ended by signal 9 (SIGKILL)");
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST_F(ChildTest, NothingOutlivesAKilledParent) {
  const std::string script = fmt::format(
      "setsid sh -c 'echo $$ > {0}/left; exec sleep 1000' & echo $$ > {0}/self; exec sleep 1000",
      folder_.string());
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child = ChildProcess::start(shell(script));
    ::pause();
    ::_exit(0);
  }
  const pid_t left = std::stoi(wait_file("left")), self = std::stoi(wait_file("self"));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(gone(self));
  EXPECT_TRUE(gone(left));
}

TEST_F(ChildTest, AHeldInputStaysOpen) {
  auto options = shell(fmt::format("cat; echo end > {}/end", folder_.string()));
  auto child = ChildProcess::start(options);
  EXPECT_EQ(wait_file("end"), "end");
  fs::remove(folder_ / "end");
  options.hold_stdin = true;
  auto held = ChildProcess::start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_TRUE(held->running());
  held->stop();
}

TEST_F(ChildTest, AServerThatEndsEarlyIsToldWithItsLastLines) {
  Launch launch;
  launch.process = shell("echo loading; echo no memory left >&2; exit 1");
  launch.url = fmt::format("http://127.0.0.1:{}", free_port().value());
  const auto server = Server::start(launch, {}, nullptr);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message,
              HasSubstr("not ready: the server exited with status 1; log "));
  EXPECT_THAT(server.error().message, HasSubstr("loading\nno memory left"));
}

TEST_F(ChildTest, AServerThatNeverAnswersIsGivenUp) {
  Launch launch;
  launch.process = shell("sleep 1000");
  launch.url = fmt::format("http://127.0.0.1:{}", free_port().value());
  const auto server = Server::start(launch, {.start_s = 1, .health_s = 0.3}, nullptr);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("not healthy after 0"));
  launch.node_file = folder_ / "node";
  const auto queued = Server::start(launch, {.start_s = 0.2, .health_s = 0.3}, nullptr);
  EXPECT_THAT(queued.error().message, HasSubstr("(timeouts.start)"));
}

}  // namespace
}  // namespace headroom::sweep
