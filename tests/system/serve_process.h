// ServeProcess: a `headroom serve` of its own for a test, on a port that it chose.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace headroom::testing_system {

/// The embedded model.
inline std::string model_directory() {
  return std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";
}

class ServeProcess {
 public:
  /// `arguments` behind `serve`; `environment` entries "NAME=value" are added.
  explicit ServeProcess(std::vector<std::string> arguments,
                        const std::vector<std::string>& environment = {}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    arguments.insert(arguments.begin(), {HEADROOM_BINARY_DIR "/headroom", "serve"});
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    stderr_ = ends[0];
  }
  ~ServeProcess() {
    if (status_ < 0) {
      ::kill(pid_, SIGKILL);
      wait(10'000);
    }
    ::close(stderr_);
  }
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  /// The port of its ready line; 0 when it ended or took too long.
  uint16_t wait_ready(int milliseconds = 60'000) {
    constexpr std::string_view kMark = "ready at http://127.0.0.1:";
    while (log.find(kMark) == std::string::npos || log.back() != '\n') {
      if (!read_log(milliseconds)) return 0;
    }
    return static_cast<uint16_t>(std::atoi(log.c_str() + log.find(kMark) + kMark.size()));
  }
  /// Its exit status, 128 + signal, or -1 when it still runs.
  int wait(int milliseconds = 30'000) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (status_ < 0 && std::chrono::steady_clock::now() < deadline) {
      read_log(5);
      int raw = 0;
      if (::waitpid(pid_, &raw, WNOHANG) == pid_)
        status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    }
    while (read_log(0)) {
    }
    return status_;
  }
  void signal(int number) const { ::kill(pid_, number); }

  std::string log;  // what it wrote to stderr so far

 private:
  bool read_log(int milliseconds) {
    pollfd waiting{stderr_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return false;
    char bytes[4096];
    const ssize_t n = ::read(stderr_, bytes, sizeof bytes);
    if (n <= 0) return false;
    log.append(bytes, static_cast<size_t>(n));
    return true;
  }

  pid_t pid_ = -1;
  int stderr_ = -1;
  int status_ = -1;
};

}  // namespace headroom::testing_system
