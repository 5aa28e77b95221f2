// The SSH launcher against a real sshd on a free port, with keys of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "results/store.h"
#include "sweep/server.h"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace headroom;

constexpr const char* kDaemon = "/usr/sbin/sshd";

int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int mocks(const std::string& mark) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name != "headroom") continue;
    std::ifstream arguments(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(arguments)), {});
    if (line.find(mark) != std::string::npos) ++count;
  }
  return count;
}

TEST(SshLauncher, RunsAServerThroughARealDaemonAndLeavesNothingBehind) {
  if (!fs::exists(kDaemon) || shell("command -v ssh ssh-keygen >/dev/null") != 0)
    GTEST_SKIP() << "no sshd and ssh here (Debian: openssh-server, openssh-client)";
  std::string folder = (fs::temp_directory_path() / "headroom-ssh-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  for (const char* key : {"host", "user"})
    ASSERT_EQ(shell(fmt::format("ssh-keygen -q -t ed25519 -N '' -f '{}/{}'", folder, key)), 0);
  fs::copy_file(folder + "/user.pub", folder + "/authorized");
  const int port = sweep::free_port().value();
  std::error_code ignored;
  if (::geteuid() == 0) fs::create_directories("/run/sshd", ignored);
  std::ofstream(folder + "/config") << fmt::format(
      "Port {1}\nListenAddress 127.0.0.1\nHostKey {0}/host\nAuthorizedKeysFile {0}/authorized\n"
      "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
      "SetEnv SHLVL=2\n",  // bash then leaves the user's own start-up files alone, however slow
      folder, port);
  sweep::ChildOptions daemon;
  daemon.command = {kDaemon, "-D", "-e", "-f", folder + "/config"};
  daemon.log = folder + "/sshd.log";
  daemon.grace_s = 1;
  auto sshd = sweep::ChildProcess::start(daemon);
  ASSERT_TRUE(sshd) << sshd.error().message;
  std::ofstream(folder + "/r.yaml") << fmt::format(
      "name: far\nmodel: mock\nserver:\n  command: ['{0}/headroom', mock, --port, \"${{port}}\", "
      "--script, \"ttft=1,interval=${{interval}},model=mock\"]\n"
      "  environment: {{MARK: \"a 'quoted' $value\"}}\n"
      "  launcher: {{ssh: {{host: 127.0.0.1, options: [-p, \"{2}\", -i, '{1}/user', -o, "
      "StrictHostKeyChecking=no, -o, UserKnownHostsFile={1}/known, -o, LogLevel=ERROR]}}}}\n"
      "workload: {{input: 8, output: 4, requests: 4, warmup: 0}}\n"
      "search:\n  - {{set: {{interval: [1, 2]}}, concurrency: [1, 2]}}\ntimeouts: {{health: 20s, "
      "stop: 2s}}\n",
      HEADROOM_BINARY_DIR, folder, port);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const int status = shell(fmt::format("cd '{}' && '{}/headroom' sweep r.yaml --db r.db >out 2>err",
                                       folder, HEADROOM_BINARY_DIR));
  EXPECT_EQ(status, 0) << base::read_file(folder + "/out").value_or("")
                       << base::read_file(folder + "/err").value_or("")
                       << base::read_file(folder + "/sshd.log").value_or("");
  EXPECT_THAT(base::read_file(folder + "/out").value_or(""),
              HasSubstr("4 measured, 0 had, 0 failed"));
  EXPECT_EQ(mocks("ttft=1,interval=1,model=mock"), 0);
  // A sweep that is killed outright takes the far server with it.
  shell(
      fmt::format("cd '{}' && timeout -s KILL 0.7 '{}/headroom' sweep r.yaml --again --db r.db "
                  "--quiet >out 2>err",
                  folder, HEADROOM_BINARY_DIR));
  int left = -1;
  for (int i = 0;
       i < 300 && (left = mocks("interval=1,model=mock") + mocks("interval=2,model=mock")) > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(left, 0);
  sshd->stop();
  fs::remove_all(folder);
}

}  // namespace
