// Locks by flock(2): they hold for this process, not for what it starts.
#include "sweep/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;

base::Result<FileLock> FileLock::take(const std::string& path, const std::string& taken) {
  FileLock lock;
  lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock.fd_ < 0) return fail(ErrorCode::kIo, "{}: {}", path, std::strerror(errno));
  if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kUnavailable, "{} ({} is locked)", taken, path);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace headroom::sweep
