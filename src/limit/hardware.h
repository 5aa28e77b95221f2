// Hardware: the figures of one kind of device that bound an operating point, each with its source.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::limit {

/// What a figure is about. Rates are per device; dense, without sparsity.
enum class Quantity : uint8_t {
  kMemoryBandwidth,  // bytes/s
  kMemoryCapacity,   // bytes
  kFlopsFp32,        // floating-point operations/s, a multiply-add being two
  kFlopsBf16,
  kFlopsFp8,
  kFlopsFp4,
  kLinkBandwidth,  // bytes/s that one device can send to its peers, one direction
  kLinkLatency,    // s that one all-reduce takes whatever its size
};
inline constexpr int kQuantities = 8;
std::string_view quantity_name(Quantity quantity);  // "memory_bandwidth", as in the files
std::string_view quantity_unit(Quantity quantity);  // "bytes/s"

/// What the maker promises, or what a device was seen to do.
enum class Basis : uint8_t { kDatasheet, kMeasured };
std::string_view basis_name(Basis basis);
base::Result<Basis> parse_basis(std::string_view name);

struct Figure {
  double value = 0;
  std::string source, date, note;
};

/// A cache in front of memory: its size over all cores, and the rate at which all cores read it.
struct CacheTier {
  std::string name;  // "L2"
  double bytes = 0;
  double bandwidth = 0;  // bytes/s
};

/// One kind of device. A figure that nobody knows is absent.
struct Hardware {
  std::string name, title;
  int domain = 1;                     // devices that the link joins
  bool in_network_reduction = false;  // the switch sums: an all-reduce sends each byte once
  std::vector<CacheTier> caches;      // smallest first; empty: not counted
  std::array<std::array<std::optional<Figure>, 2>, kQuantities> figures;

  const std::optional<Figure>& figure(Quantity quantity, Basis basis) const {
    return figures[static_cast<size_t>(quantity)][static_cast<size_t>(basis)];
  }
  std::optional<Figure>& figure(Quantity quantity, Basis basis) {
    return figures[static_cast<size_t>(quantity)][static_cast<size_t>(basis)];
  }
  /// The figure on `basis`, or on the other basis where this one has none.
  const Figure* find(Quantity quantity, Basis basis) const;
};

/// Reads the text of a hardware file (YAML, at most 64 KiB); `file` names it in errors. An unknown
/// key, a value that is not positive, a figure without source or date, a missing memory bandwidth
/// or compute rate: kInvalidArgument.
base::Result<Hardware> parse_hardware(std::string_view text, std::string_view file);

}  // namespace headroom::limit
