// Starts, watches and ends child processes through their guardians.
#include "sweep/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/utf8.h"
#include "sweep/guardian.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
namespace fs = std::filesystem;

namespace {

base::Result<std::string> find_program(const std::string& name, const std::string& path,
                                       const fs::path& directory) {
  if (name.find('/') != std::string::npos) {
    const fs::path file = directory / name;  // the child enters the directory first
    if (::access(file.c_str(), X_OK) == 0) return name;
    return fail(ErrorCode::kNotFound, "{}: {}", file.string(), std::strerror(errno));
  }
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    if (end > at && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return fail(ErrorCode::kNotFound, "{}: no such program in PATH ({})", name, path);
}

std::map<std::string, std::string> whole_environment(const ChildOptions& options) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const size_t equals = text.find('='); equals != std::string_view::npos)
      all[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.environment) all[name] = value;
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

base::Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  if (options.command.empty()) return fail(ErrorCode::kInvalidArgument, "an empty command");
  const auto variables = whole_environment(options);
  const auto path = variables.find("PATH");
  HEADROOM_TRY(
      const std::string program,
      find_program(options.command.front(),
                   path == variables.end() ? "/usr/bin:/bin" : path->second, options.directory));
  std::vector<std::string> words = options.command, assignments;
  for (const auto& [name, value] : variables) assignments.push_back(name + "=" + value);
  const std::vector<char*> arguments = pointers(words), environment = pointers(assignments);

  const int log =
      ::open(options.log.c_str(),
             O_WRONLY | O_CREAT | O_CLOEXEC | (options.append ? O_APPEND : O_TRUNC), 0644);
  if (log < 0) return fail(ErrorCode::kIo, "{}: {}", options.log.string(), std::strerror(errno));
  int control[2] = {-1, -1}, report[2] = {-1, -1};
  if (::pipe2(control, O_CLOEXEC) != 0 || ::pipe2(report, O_CLOEXEC) != 0) {
    const int code = errno;
    for (const int fd : {log, control[0], control[1]})
      if (fd >= 0) ::close(fd);
    return fail(ErrorCode::kIo, "{}: cannot start: {}", program, std::strerror(code));
  }
  const GuardianPlan plan{program.c_str(),
                          arguments.data(),
                          environment.data(),
                          options.directory.empty() ? nullptr : options.directory.c_str(),
                          log,
                          control[0],
                          report[1],
                          options.hold_stdin,
                          static_cast<int>(options.grace_s * 1000)};
  const pid_t pid = ::fork();
  if (pid == 0) run_guardian(plan);
  const int code = errno;
  ::close(log);
  ::close(control[0]);
  ::close(report[1]);
  ChildProcess child;
  child.control_ = control[1];
  child.report_ = report[0];
  child.grace_s_ = options.grace_s;
  child.guardian_ = pid;
  if (pid < 0) return fail(ErrorCode::kIo, "{}: cannot start: {}", program, std::strerror(code));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    stop();
    if (control_ >= 0) ::close(control_);
    if (report_ >= 0) ::close(report_);
    guardian_ = std::exchange(other.guardian_, -1);
    control_ = std::exchange(other.control_, -1);
    report_ = std::exchange(other.report_, -1);
    grace_s_ = other.grace_s_;
    wait_status_ = other.wait_status_;
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  stop();
  if (control_ >= 0) ::close(control_);
  if (report_ >= 0) ::close(report_);
}

bool ChildProcess::collect(int wait_ms) {
  pollfd watched{report_, POLLIN, 0};
  if (::poll(&watched, 1, wait_ms) <= 0) return false;
  int status = 0;
  const ssize_t size = ::read(report_, &status, sizeof status);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  // An end without a report: the guardian itself was killed, and the kernel killed the child.
  wait_status_ = size == sizeof status ? status : SIGKILL;
  while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guardian_ = -1;
  return true;
}

bool ChildProcess::running() {
  if (guardian_ < 0) return false;
  return !collect(0);
}

void ChildProcess::stop() {
  if (!running()) return;
  const char stop = 'T';
  [[maybe_unused]] const ssize_t n = ::write(control_, &stop, 1);
  for (int i = 0; i < static_cast<int>((grace_s_ + 4) * 20); ++i)
    if (collect(50)) return;
  ::kill(guardian_, SIGKILL);
  collect(-1);
}

std::string ChildProcess::end_text() const {
  if (!wait_status_) return {};
  if (WIFEXITED(*wait_status_))
    return fmt::format("exited with status {}", WEXITSTATUS(*wait_status_));
  const int number = WTERMSIG(*wait_status_);
  const char* name = ::sigabbrev_np(number);
  return fmt::format("was ended by signal {} (SIG{})", number, name == nullptr ? "?" : name);
}

std::optional<int> ChildProcess::exit_code() const {
  if (!wait_status_ || !WIFEXITED(*wait_status_)) return std::nullopt;
  return WEXITSTATUS(*wait_status_);
}

base::Result<fs::path> own_program() {
  std::error_code error;
  const auto path = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorCode::kIo, "/proc/self/exe: {}", error.message());
  return path;
}

std::string log_tail(const fs::path& log, size_t lines) {
  constexpr std::streamoff kMost = 4096;
  constexpr size_t kMostOfALine = 300;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kMost));
  std::string bytes(static_cast<size_t>(std::min(size, kMost)), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  base::Utf8Joiner joiner;
  std::string text = joiner.push(bytes) + joiner.flush();
  // What a server prints is shown on terminals: no escape of its own reaches them.
  for (char& c : text)
    if (c != '\n' && (static_cast<unsigned char>(c) < ' ' || c == '\x7f')) c = ' ';
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  size_t at = text.size();
  for (size_t i = 0; i < lines && at != std::string::npos && at > 0; ++i)
    at = text.rfind('\n', at - 1);
  if (at != std::string::npos && at > 0) text.erase(0, at + 1);
  std::string tail;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t long_by = end - begin > kMostOfALine ? end - begin - kMostOfALine : 0;
    size_t from = begin + long_by;  // the end of a long line tells more than its start
    while (from < end && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
    tail += (tail.empty() ? "" : "\n") + std::string(long_by > 0 ? "…" : "") +
            text.substr(from, end - from);
    begin = end + 1;
  }
  return tail;
}

}  // namespace headroom::sweep
