// Tree: small text files below a root, as /proc and /sys give them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::environment {

class Tree {
 public:
  explicit Tree(std::filesystem::path root) : root_(std::move(root)) {}

  /// The file's first 256 KiB without white space at its ends; absent when unreadable or empty.
  std::optional<std::string> read(std::string_view path) const;
  /// The file as one decimal number.
  std::optional<int64_t> number(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// Names in a directory, sorted, numbers by value (card2 before card10).
  std::vector<std::string> list(std::string_view path) const;

 private:
  std::filesystem::path at(std::string_view path) const;
  std::filesystem::path root_;
};

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> lines_of(std::string_view text);
/// The value behind "name" + spaces + `separator` in a file of such lines; absent when empty.
std::optional<std::string> value_of(std::string_view text, std::string_view name, char separator);
std::optional<int64_t> to_number(std::string_view text);
/// CPUs or nodes in a list such as "0-3,8".
int64_t count_of_list(std::string_view list);

/// The different values among many, in order of appearance: "performance; powersave".
std::optional<std::string> distinct(const std::vector<std::string>& values);
/// Values of several devices as one: equal ones once, others in order; absent when none is known.
std::optional<std::string> merged(const std::vector<std::string>& values);

}  // namespace headroom::environment
