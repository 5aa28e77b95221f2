// PagePool: every page has at most one owner, and all come back.
#include "engine/page_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace headroom::engine {
namespace {

TEST(PagePool, PagesForRoundsUp) {
  const PagePool pool(4, 16);
  EXPECT_EQ(pool.pages_for(0), 0);
  EXPECT_EQ(pool.pages_for(1), 1);
  EXPECT_EQ(pool.pages_for(16), 1);
  EXPECT_EQ(pool.pages_for(17), 2);
}

TEST(PagePool, RandomOwnersNeverShareAPage) {
  PagePool pool(64, 16);
  base::Rng rng(3);
  std::vector<std::vector<int32_t>> owners(8);
  for (int round = 0; round < 2000; ++round) {
    auto& owner = owners[rng.below(owners.size())];
    if (owner.empty()) {
      const auto n = static_cast<int32_t>(rng.below(12));
      if (n <= pool.free()) pool.take(n, owner);
    } else {
      pool.give_back(owner);
      owner.clear();
    }
    std::set<int32_t> seen;
    size_t held = 0;
    for (const auto& pages : owners) {
      held += pages.size();
      seen.insert(pages.begin(), pages.end());
    }
    ASSERT_EQ(seen.size(), held);
    ASSERT_EQ(pool.used(), static_cast<int32_t>(held));
  }
}

TEST(PagePoolDeathTest, GivingBackTwiceStops) {
  PagePool pool(4, 16);
  std::vector<int32_t> pages;
  pool.take(2, pages);
  pool.give_back(pages);
  EXPECT_DEATH(pool.give_back(pages), "given back but not taken");
  EXPECT_DEATH(pool.take(5, pages), "5 pages asked for, 4 free");
}

}  // namespace
}  // namespace headroom::engine
