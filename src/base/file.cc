// File access through POSIX calls, so that every failure has its errno text.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace headroom::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Error> errno_failure(const std::filesystem::path& path) {
  const int code = errno;
  const ErrorCode kind = code == ENOENT   ? ErrorCode::kNotFound
                         : code == ENOSPC ? ErrorCode::kResourceExhausted
                                          : ErrorCode::kIo;
  return fail(kind, "{}: {}", path.string(), std::strerror(code));
}

/// Opens a regular file for reading and gives its size.
Result<size_t> regular_size(int fd, const std::filesystem::path& path) {
  if (fd < 0) return errno_failure(path);
  struct stat info{};
  if (fstat(fd, &info) != 0) return errno_failure(path);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path.string());
  return static_cast<size_t>(info.st_size);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  HEADROOM_TRY(const size_t size, regular_size(file.get(), path));
  if (size > limit)
    return fail(ErrorCode::kTooLarge, "{}: {} bytes, at most {} are read", path.string(), size,
                limit);
  std::string content(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(file.get(), content.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_failure(path);
    if (got == 0) {
      content.resize(done);
      break;
    }
    done += static_cast<size_t>(got);
  }
  return content;
}

Result<> write_file_atomic(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += ".part";
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return errno_failure(temporary);
    for (size_t done = 0; done < content.size();) {
      const ssize_t wrote = ::write(file.get(), content.data() + done, content.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) {
        const auto failure = errno_failure(path);
        ::unlink(temporary.c_str());
        return failure;
      }
      done += static_cast<size_t>(wrote);
    }
    if (::fsync(file.get()) != 0) {
      const auto failure = errno_failure(path);
      ::unlink(temporary.c_str());
      return failure;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto failure = errno_failure(path);
    ::unlink(temporary.c_str());
    return failure;
  }
  return {};
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  HEADROOM_TRY(const size_t size, regular_size(file.get(), path));
  MappedFile mapped;
  if (size == 0) return mapped;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return errno_failure(path);
  mapped.data_ = static_cast<const std::byte*>(data);
  mapped.size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::filesystem::path> cache_directory() {
  std::filesystem::path directory;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    directory = xdg;
  } else if (const char* home = std::getenv("HOME"); home && *home) {
    directory = std::filesystem::path(home) / ".cache";
  } else {
    directory = "/tmp";
  }
  directory /= "headroom";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(ErrorCode::kIo, "{}: {}", directory.string(), error.message());
  return directory;
}

}  // namespace headroom::base
