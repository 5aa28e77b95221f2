// BenchProcess: a `headroom bench` of its own for a test, and what it works against.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "load/mock/mock_server.h"
#include "results/store.h"

namespace headroom::load {

struct Finished {
  int status = -1;
  std::string out, err;
};

/// The program with files for its output.
class BenchProcess {
 public:
  explicit BenchProcess(std::vector<std::string> arguments, rlim_t file_bytes = RLIM_INFINITY) {
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("bench_{}_{}", ::getpid(), counter_++);
    std::filesystem::create_directories(folder_);
    arguments.insert(arguments.begin(), {HEADROOM_BINARY_DIR "/headroom", "bench"});
    pid_ = ::fork();
    if (pid_ == 0) {
      const rlimit limit{file_bytes, file_bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      if (!std::freopen((folder_ / "out").c_str(), "w", stdout) ||
          !std::freopen((folder_ / "err").c_str(), "w", stderr))
        ::_exit(126);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~BenchProcess() { std::filesystem::remove_all(folder_); }
  std::string read(const char* name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void signal(int number) const { ::kill(pid_, number); }
  void interrupt_after_first_line() const {
    for (int i = 0; i < 3000 && read("out").find('\n') == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(pid_, SIGINT);
  }
  Finished finish() const {
    int raw = 0;
    ::waitpid(pid_, &raw, 0);
    return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), read("out"), read("err")};
  }

 private:
  static inline int counter_ = 0;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
};

inline std::unique_ptr<MockServer> mock(const std::string& script) {
  const auto parsed = parse_mock_script(script);
  EXPECT_TRUE(parsed) << parsed.error().message;
  auto server = MockServer::start(*parsed);
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

inline std::string database(const char* name) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / fmt::format("{}_{}.db", name, ::getpid());
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  return path.string();
}

inline std::vector<results::StoredRecord> stored(const std::string& path) {
  const auto store = results::Store::open(path, results::Store::Mode::kRead);
  EXPECT_TRUE(store) << store.error().message;
  const auto records = store->all();
  EXPECT_TRUE(records);
  return *records;
}

}  // namespace headroom::load
