// Counts bytes, operations and traffic of a step and divides them by the hardware's rates.
#include "limit/bound.h"

#include <cmath>

#include "base/check.h"

namespace headroom::limit {
namespace {

using base::ErrorCode;
using base::fail;

constexpr double kMostTokens = 1e9, kMostRequests = 1e9;

double real(int64_t n) {
  return static_cast<double>(n);
}

/// Tokens of a step: those that attention sees on one device (a group's), and all.
struct Tokens {
  double group = 0, all = 0;
};

/// Weights that one device holds of each part; experts: one layer's, all of them.
struct Held {
  double experts, shared, gate, dense, attention, lm_head;
};

Held held_weights(const Shape& s, const Layout& layout) {
  const double devices = layout.devices(), tp = layout.tp;
  const double moe = real(s.moe_layers());
  return {.experts = real(s.experts * s.expert_weights()) * moe / devices,
          .shared = real(s.shared_weights()) * moe / tp,
          .gate = real(s.gate_weights()) * moe,
          .dense = real(s.dense_weights()) * real(s.dense_layers) / devices,
          .attention =
              (real(s.replicated_attention()) + real(s.sharded_attention()) / tp) * real(s.layers),
          .lm_head = real(s.lm_head_weights()) / devices};
}

/// Operations of the weights for `tokens`; kv stays 0.
Parts weight_flops(const Shape& s, const Layout& layout, const Tokens& tokens) {
  const Held held = held_weights(s, layout);
  const double used = s.experts > 0 ? real(s.top_k) / real(s.experts) : 0;
  return {.experts = 2 * tokens.all * used * held.experts,
          .shared = 2 * tokens.group * held.shared,
          .gate = 2 * tokens.group * held.gate,
          .dense = 2 * tokens.all * held.dense,
          .attention = 2 * tokens.group * held.attention,
          .lm_head = 2 * tokens.all * held.lm_head,
          .kv = 0};
}

class Rates {
 public:
  Rates(const Hardware& hardware, Basis basis) : hardware_(hardware), basis_(basis) {}

  /// The best rate for operands of this width: their own, or that of the BF16 or fp32 form that a
  /// kernel may widen them to.
  double flops(Quantity wanted) const {
    double best = 0;
    if (wanted == Quantity::kFlopsFp32)  // narrower operands would be another result
      if (const Figure* figure = hardware_.find(wanted, basis_)) return figure->value;
    for (const Quantity q : {wanted, Quantity::kFlopsBf16, Quantity::kFlopsFp32})
      if (const Figure* figure = hardware_.find(q, basis_)) best = std::max(best, figure->value);
    HEADROOM_CHECK(best > 0, "{}: no compute rate", hardware_.name);
    return best;
  }

  double seconds(const Parts& flops, const Profile& profile, Quantity kv) const {
    return flops.experts / this->flops(profile.experts.rate) +
           (flops.shared + flops.dense) / this->flops(profile.mlp.rate) +
           flops.attention / this->flops(profile.attention.rate) +
           (flops.gate + flops.lm_head) / this->flops(profile.rest.rate) +
           flops.kv / this->flops(kv);
  }

 private:
  const Hardware& hardware_;
  Basis basis_;
};

/// Bytes that one device must send for `tokens`, BF16 activations, one direction.
double link_bytes(const Shape& s, const Hardware& h, const Layout& layout, const Tokens& tokens) {
  const double row = 2 * real(s.hidden);
  const double tp = layout.tp, ep = layout.ep;
  const double reduce = tp == 1 ? 0 : (h.in_network_reduction ? 1.0 : 2 * (tp - 1) / tp) * row;
  if (layout.groups() == 1) return reduce * tokens.all * 2 * real(s.layers);
  // Data-parallel attention: a token's row goes once to each other device that holds one of its
  // experts (FP8, half a row) and a BF16 sum comes back from each.
  const double k = real(s.top_k);
  const double peers = (ep - 1) * (1 - std::pow(1 - 1 / ep, k));
  const double sent = tokens.group / tp * peers * (row / 2 + row);
  return reduce * tokens.group * real(s.layers) + sent * real(s.moe_layers());
}

double link_messages(const Shape& s, const Layout& layout) {
  const double attention = layout.tp > 1 ? real(s.layers) : 0;
  if (layout.groups() == 1) return 2 * attention;
  return attention + 2 * real(s.moe_layers());
}

base::Result<> check(const Shape& shape, const Hardware& hardware, const Question& q) {
  const Layout& l = q.layout;
  if (l.tp < 1 || l.ep < 1 || l.devices() % l.tp != 0 || l.devices() % l.ep != 0)
    return fail(ErrorCode::kInvalidArgument,
                "layout tp={} ep={}: both are at least 1 and the smaller divides the larger", l.tp,
                l.ep);
  if (shape.heads % l.tp != 0)
    return fail(ErrorCode::kInvalidArgument, "tp={}: does not divide the {} heads of {}", l.tp,
                shape.heads, shape.name);
  if (l.ep > 1 && (shape.experts == 0 || shape.experts % l.ep != 0))
    return fail(ErrorCode::kInvalidArgument, "ep={}: does not divide the {} experts of {}", l.ep,
                shape.experts, shape.name);
  if (l.devices() > hardware.domain)
    return fail(ErrorCode::kInvalidArgument, "{} devices: the link of {} joins {}", l.devices(),
                hardware.name, hardware.domain);
  const auto possible = [](double tokens) { return tokens >= 1 && tokens <= kMostTokens; };
  if (q.lengths && !(possible(q.lengths->input) && possible(q.lengths->output)))
    return fail(ErrorCode::kInvalidArgument, "input {} and output {} are not 1 to {} tokens each",
                q.lengths->input, q.lengths->output, kMostTokens);
  if (!q.lengths && !possible(q.context))
    return fail(ErrorCode::kInvalidArgument, "context {} is not 1 to {} tokens", q.context,
                kMostTokens);
  return {};
}

Point point(const Shape& s, const Hardware& h, const Question& q, double concurrency) {
  const Layout& layout = q.layout;
  const Profile stored = profile(q.precision);
  const Rates rates(h, q.basis);
  const Held held = held_weights(s, layout);
  // Of several attention groups the fullest sets the pace, and it serves whole requests.
  const double group =
      layout.groups() == 1 ? concurrency : std::ceil(concurrency / layout.groups());
  const Tokens tokens{group, concurrency};
  Point p;
  p.concurrency = concurrency;
  p.context = q.lengths ? q.lengths->input + q.lengths->output / 2 : q.context;

  const double experts = real(s.experts);
  if (s.experts > 0)
    p.distinct_experts = experts * (1 - std::pow(1 - real(s.top_k) / experts, concurrency));
  const double touched = s.experts > 0 ? p.distinct_experts / experts : 0;
  const double rows = tokens.group * p.context * real(s.layers);
  p.bytes = {.experts = held.experts * touched * stored.experts.bytes,
             .shared = held.shared * stored.mlp.bytes,
             .gate = held.gate * stored.rest.bytes,
             .dense = held.dense * stored.mlp.bytes,
             .attention = held.attention * stored.attention.bytes,
             .lm_head = held.lm_head * stored.rest.bytes,
             .kv = rows * kv_row_bytes(s, q.kv)};
  p.flops = weight_flops(s, layout, tokens);
  const double heads = real(s.heads) / layout.tp;
  p.flops.kv = rows * heads * 2 * real(s.latent + s.rope + s.latent);
  const bool narrow = q.kv == KvRow::kFp8 || q.kv == KvRow::kFp8Tensor;
  const Quantity kv_rate = narrow                 ? Quantity::kFlopsFp8
                           : q.kv == KvRow::kFp32 ? Quantity::kFlopsFp32
                                                  : Quantity::kFlopsBf16;

  p.memory_ms = 1e3 * read_seconds(h, q.basis, p.bytes.total());
  p.compute_ms = 1e3 * rates.seconds(p.flops, stored, kv_rate);
  const Figure* link = h.find(Quantity::kLinkBandwidth, q.basis);
  const Figure* latency = h.find(Quantity::kLinkLatency, q.basis);
  const bool linked = layout.devices() > 1 && link != nullptr;
  if (linked)
    p.link_ms = 1e3 * (link_bytes(s, h, layout, tokens) / link->value +
                       (latency ? link_messages(s, layout) * latency->value : 0));
  p.decode_ms = std::max({p.memory_ms, p.compute_ms, p.link_ms.value_or(0)});

  double compute = p.compute_ms, traffic = p.link_ms.value_or(0);
  if (q.lengths) {
    const double share = q.lengths->input / q.lengths->output;  // prefill tokens per decoded token
    const Tokens prefill{tokens.group * share, tokens.all * share};
    Parts flops = weight_flops(s, layout, prefill);
    flops.lm_head = 0;  // of a prompt only the last token needs it
    flops.kv = prefill.group * real(s.layers) * heads * (q.lengths->input / 2) * 2 *
               real(s.nope + s.rope + s.value);
    p.prefill_flops = flops.total();
    p.prefill_ms = 1e3 * rates.seconds(flops, stored, Quantity::kFlopsBf16);
    compute += *p.prefill_ms;
    if (linked) traffic += 1e3 * link_bytes(s, h, layout, prefill) / link->value;
  }
  p.tpot_ms = p.decode_ms + p.prefill_ms.value_or(0);
  p.step_ms = std::max({p.memory_ms, compute, traffic});
  p.bound = p.step_ms == p.memory_ms ? "memory" : p.step_ms == compute ? "compute" : "link";
  p.output_tok_s_gpu = 1e3 * concurrency / p.step_ms / layout.devices();
  if (q.lengths)
    p.total_tok_s_gpu =
        p.output_tok_s_gpu * (q.lengths->input + q.lengths->output) / q.lengths->output;
  return p;
}

/// "4.8 TB/s", "989 Tflop/s", "5 µs".
std::string figure_text(double value, std::string_view unit) {
  const bool bytes = unit.starts_with("bytes");
  const std::string name = (bytes ? "B" : "") + std::string(unit.substr(bytes ? 5 : 0));
  struct Prefix {
    double size;
    const char* text;
  };
  for (const Prefix p : {Prefix{1e15, "P"}, Prefix{1e12, "T"}, Prefix{1e9, "G"}, Prefix{1e6, "M"},
                         Prefix{1e3, "k"}, Prefix{1, ""}, Prefix{1e-3, "m"}, Prefix{1e-6, "µ"}})
    if (value >= p.size) return fmt::format("{:.4g} {}{}", value / p.size, p.text, name);
  return fmt::format("{:.4g} {}", value, name);
}

void add_notes(const Shape& shape, const Hardware& hardware, const Question& q, Curve& curve) {
  const auto note = [&](std::string text) { curve.notes.push_back(std::move(text)); };
  for (int i = 0; i < kQuantities; ++i) {
    const auto quantity = static_cast<Quantity>(i);
    const Figure* figure = hardware.find(quantity, q.basis);
    if (!figure) continue;
    const bool other = !hardware.figure(quantity, q.basis);
    note(fmt::format("{} {}{}: {} ({}){}", quantity_name(quantity),
                     figure_text(figure->value, quantity_unit(quantity)),
                     other ? fmt::format(", no {} figure", basis_name(q.basis)) : "",
                     figure->source, figure->date,
                     figure->note.empty() ? "" : "; " + figure->note));
  }
  if (q.layout.devices() > 1 && !hardware.find(Quantity::kLinkBandwidth, q.basis))
    note("link_bandwidth is unknown: traffic between devices is not counted");
  if (q.layout.devices() > 1 && !hardware.find(Quantity::kLinkLatency, q.basis))
    note(
        "link_latency is unknown: only the bytes of the traffic are counted, not its start-up "
        "time");
  const double weights = weight_bytes(shape, q.precision, q.layout);
  const Figure* capacity = hardware.find(Quantity::kMemoryCapacity, q.basis);
  if (capacity == nullptr) return;
  if (weights > capacity->value)
    note(fmt::format("the weights alone ({:.1f} GB a device) do not fit its {:.0f} GB",
                     weights / 1e9, capacity->value / 1e9));
  for (const Point& p : curve.points)
    if (weights + p.bytes.kv > capacity->value && weights <= capacity->value) {
      note(fmt::format(
          "from concurrency {} on, weights and cache ({:.1f} GB a device) do not fit its "
          "{:.0f} GB",
          p.concurrency, (weights + p.bytes.kv) / 1e9, capacity->value / 1e9));
      break;
    }
}

}  // namespace

double weight_bytes(const Shape& shape, Precision precision, const Layout& layout) {
  const Profile stored = profile(precision);
  const Held held = held_weights(shape, layout);
  return held.experts * stored.experts.bytes + (held.shared + held.dense) * stored.mlp.bytes +
         held.attention * stored.attention.bytes + (held.gate + held.lm_head) * stored.rest.bytes;
}

double read_seconds(const Hardware& hardware, Basis basis, double bytes) {
  // Whatever the replacement policy, a step that repeats can find at most a cache's size in it: the
  // rest comes from further out. Each level's time is a bound of its own, the largest counts.
  double seconds = 0, beyond = bytes;
  for (const CacheTier& cache : hardware.caches) {
    seconds = std::max(seconds, beyond / cache.bandwidth);
    beyond = std::max(0.0, beyond - cache.bytes);
  }
  const Figure* memory = hardware.find(Quantity::kMemoryBandwidth, basis);
  HEADROOM_CHECK(memory != nullptr, "{}: no memory bandwidth", hardware.name);
  return std::max(seconds, beyond / memory->value);
}

base::Result<Curve> bound(const Shape& shape, const Hardware& hardware, const Question& question,
                          const std::vector<double>& concurrencies) {
  HEADROOM_TRY_VOID(check(shape, hardware, question));
  Curve curve;
  for (const double concurrency : concurrencies) {
    if (!(concurrency >= 1 && concurrency <= kMostRequests))
      return fail(ErrorCode::kInvalidArgument, "concurrency {} is not 1 to {}", concurrency,
                  kMostRequests);
    curve.points.push_back(point(shape, hardware, question, concurrency));
  }
  add_notes(shape, hardware, question, curve);
  return curve;
}

}  // namespace headroom::limit
