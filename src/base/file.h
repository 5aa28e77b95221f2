// Files: whole reads, memory maps, and writes that are either complete or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::base {

/// The whole file. Errors name the path: kNotFound, kIo, kTooLarge above `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, size_t limit = size_t{1} << 31);

/// Writes a temporary sibling, syncs it and renames it over `path`.
Result<> write_file_atomic(const std::filesystem::path& path, std::string_view content);

/// A read-only map of a whole file; movable, unmapped at the end.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// $XDG_CACHE_HOME/headroom or ~/.cache/headroom, made when missing.
Result<std::filesystem::path> cache_directory();

}  // namespace headroom::base
