// bound: the least time that a decode step can take on given hardware, and what it is made of.
//
// A step reads every weight it needs once, every cache row once, and multiplies each once; the best
// conceivable program overlaps reading, arithmetic and traffic perfectly. Launches, activations,
// norms and the embedding row are not counted. Routing is taken as uniform and independent, so b
// tokens meet E(b) = E·(1 − (1 − k/E)^b) distinct experts of a layer: real routing is skewed and
// meets fewer, which makes the expert bytes a slight over-estimate at middling concurrency.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limit/hardware.h"
#include "limit/precision.h"
#include "limit/shape.h"

namespace headroom::limit {

/// tp ranks share each attention layer; ep ranks share the experts. Devices: the larger of the two.
/// With ep > tp the attention groups are data-parallel and serve devices / tp requests side by
/// side.
struct Layout {
  int tp = 1;
  int ep = 1;  // 1: the experts are cut like the rest
  int devices() const { return tp > ep ? tp : ep; }
  int groups() const { return devices() / tp; }
};

/// Tokens of a request; with it the bound counts the prefill that keeps the batch full.
struct Lengths {
  double input = 0, output = 0;
};

struct Question {
  Precision precision = Precision::kBf16;
  KvRow kv = KvRow::kBf16;
  Layout layout;
  Basis basis = Basis::kDatasheet;
  double context = 0;  // rows of each request; input + output / 2 when lengths are given
  std::optional<Lengths> lengths;  // steady state: input / output prefill tokens per decoded token
};

/// One number for each part of the model, per device and step.
struct Parts {
  double experts = 0, shared = 0, gate = 0, dense = 0, attention = 0, lm_head = 0, kv = 0;
  double total() const { return experts + shared + gate + dense + attention + lm_head + kv; }
};

/// Times are milliseconds of one step, in which every request of the batch gains one token.
struct Point {
  double concurrency = 0, context = 0;
  double distinct_experts = 0;  // of one layer, over all devices
  Parts bytes, flops;           // decode; kv counts reading and attending to the cache
  double memory_ms = 0, compute_ms = 0;
  std::optional<double> link_ms;     // absent: one device, or the link's rate is unknown
  std::optional<double> prefill_ms;  // arithmetic of a step's prefill share
  std::optional<double> prefill_flops;
  double decode_ms = 0;    // max of memory, compute, link: no TPOT can be below
  double tpot_ms = 0;      // decode_ms + prefill_ms: prefill and decode one after the other
  double step_ms = 0;      // prefill overlapped with decode perfectly: no throughput can be above
  const char* bound = "";  // what step_ms comes from: "memory", "compute" or "link"
  double output_tok_s_gpu = 0;            // from step_ms
  std::optional<double> total_tok_s_gpu;  // input and output; absent without lengths
  double tok_s_user() const { return 1000 / decode_ms; }
};

struct Curve {
  std::vector<Point> points;
  std::vector<std::string>
      notes;  // which figures were used, which are missing, what is not counted
};

/// Errors (kInvalidArgument): a concurrency, context or length that is not 1 to 10⁹, a layout that
/// does not fit the shape or the hardware's link domain.
base::Result<Curve> bound(const Shape& shape, const Hardware& hardware, const Question& question,
                          const std::vector<double>& concurrencies);

/// Weights' bytes of the whole model on one device, and whether they leave room in its memory.
double weight_bytes(const Shape& shape, Precision precision, const Layout& layout);

/// Seconds to read `bytes` once, the part that fits a cache at that cache's rate.
double read_seconds(const Hardware& hardware, Basis basis, double bytes);

}  // namespace headroom::limit
