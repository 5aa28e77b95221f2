// A linked list of symbols and a heap of possible merges.
#include "text/bpe.h"

#include <algorithm>
#include <functional>

namespace headroom::text {

void Bpe::encode(std::string_view piece, Scratch& s, std::vector<int32_t>& out) const {
  if (ignore_merges) {
    const auto it = whole.find(std::string(piece));
    if (it != whole.end()) {
      out.push_back(it->second);
      return;
    }
  }
  const auto count = static_cast<int32_t>(piece.size());
  s.id.resize(piece.size());
  s.previous.resize(piece.size());
  s.next.resize(piece.size());
  s.heap.clear();
  for (int32_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    s.id[at] = byte_tokens[static_cast<uint8_t>(piece[at])];
    s.previous[at] = i - 1;
    s.next[at] = i + 1 < count ? i + 1 : -1;
  }

  // Entry: (rank, place of the left symbol) and the pair that was seen there; it is stale when the
  // pair has changed.
  const auto consider = [&](int32_t left) {
    if (left < 0 || s.next[static_cast<size_t>(left)] < 0) return false;
    const auto right = static_cast<size_t>(s.next[static_cast<size_t>(left)]);
    const uint64_t pair = key(s.id[static_cast<size_t>(left)], s.id[right]);
    const auto it = merges_.find(pair);
    if (it == merges_.end()) return false;
    s.heap.emplace_back(key(it->second.rank, left), pair);
    return true;
  };
  for (int32_t i = 0; i < count; ++i) consider(i);
  std::make_heap(s.heap.begin(), s.heap.end(), std::greater<>());

  while (!s.heap.empty()) {
    std::pop_heap(s.heap.begin(), s.heap.end(), std::greater<>());
    const auto [order, pair] = s.heap.back();
    s.heap.pop_back();
    const auto left = static_cast<size_t>(order & 0xFFFFFFFF);
    if (s.id[left] < 0 || s.next[left] < 0) continue;
    const auto right = static_cast<size_t>(s.next[left]);
    if (key(s.id[left], s.id[right]) != pair) continue;
    s.id[left] = merges_.at(pair).result;
    s.id[right] = -1;  // gone
    s.next[left] = s.next[right];
    if (s.next[left] >= 0)
      s.previous[static_cast<size_t>(s.next[left])] = static_cast<int32_t>(left);
    for (const int32_t start : {s.previous[left], static_cast<int32_t>(left)})
      if (consider(start)) std::push_heap(s.heap.begin(), s.heap.end(), std::greater<>());
  }
  for (int32_t i = count > 0 ? 0 : -1; i >= 0; i = s.next[static_cast<size_t>(i)])
    out.push_back(s.id[static_cast<size_t>(i)]);
}

}  // namespace headroom::text
