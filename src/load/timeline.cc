// Tokens and gaps over time.
#include "load/timeline.h"

#include <algorithm>

namespace headroom::load {

namespace {
constexpr int64_t kBinNs = 1'000'000;
}

void TokenTimeline::add(int64_t at, double tokens) {
  const auto bin = static_cast<size_t>(std::max<int64_t>(0, at - origin_) / kBinNs);
  if (bin >= bins_.size()) bins_.resize(std::max(bin + 1, bins_.size() * 3 / 2));
  bins_[bin] += static_cast<float>(tokens);
}

void TokenTimeline::merge(const TokenTimeline& other) {
  if (bins_.size() < other.bins_.size()) bins_.resize(other.bins_.size());
  for (size_t i = 0; i < other.bins_.size(); ++i) bins_[i] += other.bins_[i];
}

double TokenTimeline::within(Span span) const {
  double sum = 0;
  const int64_t first = std::max<int64_t>(0, (span.begin - origin_) / kBinNs);
  for (auto bin = static_cast<size_t>(first); bin < bins_.size(); ++bin) {
    const int64_t begin = origin_ + static_cast<int64_t>(bin) * kBinNs;
    if (begin >= span.end) break;
    const int64_t inside = std::min(begin + kBinNs, span.end) - std::max(begin, span.begin);
    sum += static_cast<double>(bins_[bin]) * static_cast<double>(inside) / kBinNs;
  }
  return sum;
}

/// Merges neighbours: half as many slices, each twice as long.
void SlicedHistogram::halve() {
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (i % 2 == 0)
      std::swap(slices_[i / 2], slices_[i]);
    else
      slices_[i / 2].merge(slices_[i]);
  }
  slices_.resize((slices_.size() + 1) / 2);
  length_ *= 2;
}

void SlicedHistogram::merge(SlicedHistogram other) {
  while (length_ < other.length_) halve();
  while (other.length_ < length_) other.halve();
  if (slices_.size() < other.slices_.size()) slices_.resize(other.slices_.size());
  for (size_t i = 0; i < other.slices_.size(); ++i) slices_[i].merge(other.slices_[i]);
}

void SlicedHistogram::record(int64_t at, int64_t value) {
  const int64_t since = std::max<int64_t>(0, at - origin_);
  while (static_cast<size_t>(since / length_) >= kSlices) halve();
  const auto slice = static_cast<size_t>(since / length_);
  if (slice >= slices_.size()) slices_.resize(slice + 1);
  slices_[slice].record(value);
}

base::Histogram SlicedHistogram::within(Span span) const {
  base::Histogram result;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const int64_t begin = origin_ + static_cast<int64_t>(i) * length_;
    if (begin >= span.begin && begin + length_ <= span.end) result.merge(slices_[i]);
  }
  return result;
}

base::Histogram SlicedHistogram::all() const {
  base::Histogram result;
  for (const base::Histogram& slice : slices_) result.merge(slice);
  return result;
}

}  // namespace headroom::load
