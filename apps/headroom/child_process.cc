// Starts, watches and ends child processes.
#include "child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace headroom::apps {

using base::ErrorCode;
using base::fail;

base::Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command,
                                               const std::filesystem::path& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0) return fail(ErrorCode::kIo, "{}: {}", log.string(), std::strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int code = errno;
    ::close(out);
    return fail(ErrorCode::kIo, "{}: cannot start: {}", command.front(), std::strerror(code));
  }
  if (pid == 0) {  // only calls that are safe after fork
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it died before the line above
    ::setpgid(0, 0);  // Ctrl-C is for the parent, which then ends us in good order
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    const int none = ::open("/dev/null", O_RDONLY);
    if (none >= 0) ::dup2(none, STDIN_FILENO);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  ::close(out);
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    stop();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  stop();
}

bool ChildProcess::running() {
  if (pid_ < 0) return false;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
  pid_ = -1;
  return false;
}

void ChildProcess::stop(std::chrono::milliseconds patience) {
  if (!running()) return;
  ::kill(pid_, SIGTERM);
  for (auto waited = patience.zero(); waited < patience && running();
       waited += std::chrono::milliseconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

base::Result<std::filesystem::path> own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorCode::kIo, "/proc/self/exe: {}", error.message());
  return path;
}

}  // namespace headroom::apps
