// Bucket arithmetic of the histogram.
#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace headroom::base {
namespace {

constexpr int kSubBits = 10;                         // 1024 buckets a power of two
constexpr int64_t kLinear = int64_t{2} << kSubBits;  // values below have their own bucket
constexpr size_t kMaxIndex = static_cast<size_t>(kLinear) + (size_t{62 - kSubBits} << kSubBits);

size_t index_of(int64_t value) {
  if (value < kLinear) return static_cast<size_t>(value);
  const int shift = std::bit_width(static_cast<uint64_t>(value)) - 1 - kSubBits;  // ≥ 1
  const auto sub = static_cast<size_t>((value >> shift) - (int64_t{1} << kSubBits));
  return static_cast<size_t>(kLinear) + (static_cast<size_t>(shift - 1) << kSubBits) + sub;
}

int64_t middle_of(size_t index) {
  if (index < static_cast<size_t>(kLinear)) return static_cast<int64_t>(index);
  const size_t above = index - static_cast<size_t>(kLinear);
  const int shift = static_cast<int>(above >> kSubBits) + 1;
  const int64_t sub = static_cast<int64_t>(above & ((size_t{1} << kSubBits) - 1));
  const int64_t low = (sub + (int64_t{1} << kSubBits)) << shift;
  return low + (int64_t{1} << (shift - 1));
}

template <typename T>
bool take_number(std::string_view& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

void Histogram::record(int64_t value, uint64_t count) {
  if (count == 0) return;
  value = std::max<int64_t>(value, 0);
  const size_t index = index_of(value);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  buckets_[index] += count;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += count;
  sum_ += static_cast<double>(value) * static_cast<double>(count);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

int64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  if (percent <= 0) return min_;
  if (percent >= 100) return max_;
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(middle_of(i), min_, max_);
  }
  return max_;
}

std::string Histogram::encode() const {
  std::string out = fmt::format("v1;{};{};{};{};", count_, sum_, min_, max_);
  bool first = true;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    fmt::format_to(std::back_inserter(out), "{}{}:{}", first ? "" : ",", i, buckets_[i]);
    first = false;
  }
  return out;
}

Result<Histogram> Histogram::decode(std::string_view text) {
  const auto bad = [](std::string_view what) {
    return fail(ErrorCode::kDataLoss, "histogram: {}", what);
  };
  Histogram h;
  if (!take(text, 'v') || !take(text, '1') || !take(text, ';'))
    return bad("does not start with v1;");
  if (!take_number(text, h.count_) || !take(text, ';') || !take_number(text, h.sum_) ||
      !take(text, ';') || !take_number(text, h.min_) || !take(text, ';') ||
      !take_number(text, h.max_) || !take(text, ';'))
    return bad("header is not count;sum;min;max;");
  if (h.min_ < 0 || h.max_ < h.min_ || !std::isfinite(h.sum_) || h.sum_ < 0)
    return bad("header values contradict each other");
  uint64_t total = 0;
  size_t first = 0, next = 0;
  while (!text.empty()) {
    if (next > 0 && !take(text, ',')) return bad("buckets are not separated by commas");
    size_t index = 0;
    uint64_t count = 0;
    if (!take_number(text, index) || !take(text, ':') || !take_number(text, count))
      return bad("a bucket is not index:count");
    if (index < next || index >= kMaxIndex || count == 0) return bad("buckets are out of order");
    if (count > UINT64_MAX - total) return bad("bucket counts do not add up to the total");
    if (next == 0) first = index;
    h.buckets_.resize(index + 1);
    h.buckets_[index] = count;
    total += count;
    next = index + 1;
  }
  if (total != h.count_) return bad("bucket counts do not add up to the total");
  if (h.count_ > 0 && (index_of(h.min_) != first || index_of(h.max_) + 1 != next))
    return bad("min or max lies outside the buckets");
  if (h.count_ == 0 && (h.sum_ != 0 || h.max_ != 0)) return bad("an empty one has a sum or a max");
  return h;
}

}  // namespace headroom::base
