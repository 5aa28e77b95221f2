// Bpe: merges the bytes of a piece into tokens, lowest rank first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headroom::text {

/// Any thread; encode() keeps its state in the caller's scratch.
class Bpe {
 public:
  struct Scratch {
    std::vector<int32_t> id, previous, next;
    std::vector<std::pair<uint64_t, uint64_t>> heap;
  };

  /// The token of each single byte.
  std::array<int32_t, 256> byte_tokens{};
  /// A piece that is a token as a whole is that token, whatever the merges say.
  bool ignore_merges = false;
  /// Bytes → token; needed for ignore_merges only.
  std::unordered_map<std::string, int32_t> whole;

  /// `left` followed by `right` becomes `result`; a lower rank merges first.
  void add_merge(int32_t left, int32_t right, int32_t rank, int32_t result) {
    merges_[key(left, right)] = {rank, result};
  }

  /// Appends the tokens of `piece` (any bytes) to `out`. O(n log n). Among equal ranks the leftmost
  /// merges first.
  void encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& out) const;

 private:
  struct Merge {
    int32_t rank, result;
  };
  struct Hash {
    size_t operator()(uint64_t k) const { return (k ^ (k >> 29)) * 0x9E3779B97F4A7C15ull; }
  };
  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  std::unordered_map<uint64_t, Merge, Hash> merges_;
};

}  // namespace headroom::text
