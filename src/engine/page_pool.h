// PagePool: which pages of the paged latent KV cache are free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headroom::engine {

/// Engine thread only. Pages are ids 0 … count - 1; each is free or has exactly one owner.
class PagePool {
 public:
  PagePool(int32_t count, int32_t page_size);

  int32_t count() const { return static_cast<int32_t>(taken_.size()); }
  int32_t free() const { return static_cast<int32_t>(free_.size()); }
  int32_t used() const { return count() - free(); }
  int32_t page_size() const { return page_size_; }
  /// Pages that `rows` rows need.
  int32_t pages_for(int64_t rows) const {
    return static_cast<int32_t>((rows + page_size_ - 1) / page_size_);
  }

  /// Appends `n` pages to `pages`; the caller checks free() first.
  void take(int32_t n, std::vector<int32_t>& pages);
  /// Every page must be taken: giving back twice is a broken invariant.
  void give_back(std::span<const int32_t> pages);

 private:
  int32_t page_size_;
  std::vector<int32_t> free_;  // last in, first out: pages just used are still in cache
  std::vector<uint8_t> taken_;
};

}  // namespace headroom::engine
