// A stack of free page ids.
#include "engine/page_pool.h"

#include "base/check.h"

namespace headroom::engine {

PagePool::PagePool(int32_t count, int32_t page_size)
    : page_size_(page_size), taken_(static_cast<size_t>(count), 0) {
  HEADROOM_CHECK(count > 0 && page_size > 0, "{} pages of {} rows", count, page_size);
  free_.reserve(static_cast<size_t>(count));
  for (int32_t page = count - 1; page >= 0; --page) free_.push_back(page);
}

void PagePool::take(int32_t n, std::vector<int32_t>& pages) {
  HEADROOM_CHECK(n >= 0 && n <= free(), "{} pages asked for, {} free", n, free());
  for (int32_t i = 0; i < n; ++i) {
    const int32_t page = free_.back();
    free_.pop_back();
    taken_[static_cast<size_t>(page)] = 1;
    pages.push_back(page);
  }
}

void PagePool::give_back(std::span<const int32_t> pages) {
  for (const int32_t page : pages) {
    HEADROOM_CHECK(page >= 0 && page < count() && taken_[static_cast<size_t>(page)] == 1,
                   "page {} of {} given back but not taken", page, count());
    taken_[static_cast<size_t>(page)] = 0;
    free_.push_back(page);
  }
}

}  // namespace headroom::engine
