// FileLock: one process at a time; the kernel drops the lock with the process, however it ends.
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::sweep {

class FileLock {
 public:
  /// Makes the file when it is missing. kUnavailable with `taken` when another process has it, kIo.
  static base::Result<FileLock> take(const std::string& path, const std::string& taken);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  FileLock() = default;
  int fd_ = -1;
};

}  // namespace headroom::sweep
