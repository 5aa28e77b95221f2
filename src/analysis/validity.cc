// The gates that this store's records can answer.
#include "analysis/validity.h"

#include <cmath>

#include "analysis/metric.h"

namespace headroom::analysis {
namespace {

// Thresholds, each with its reason.
constexpr double kSuccessRate = 0.99;    // fewer: the load was not the one named
constexpr double kTokenMismatch = 0.02;  // more: client and server speak of different texts
constexpr double kTokensPerChunk = 1.05;

double relative(int64_t a, int64_t b) {
  return std::abs(static_cast<double>(a - b)) / static_cast<double>(std::max<int64_t>(b, 1));
}

}  // namespace

std::vector<Flag> validity_flags(const results::Record& record) {
  const results::Measures& m = record.measures;
  std::vector<Flag> flags;
  if (m.requests_sent && m.requests_ok && *m.requests_sent > 0) {
    const double rate = static_cast<double>(*m.requests_ok) / static_cast<double>(*m.requests_sent);
    if (rate < kSuccessRate)
      flags.push_back({"success_rate", fmt::format("{} of {} requests succeeded ({:.1f} %)",
                                                   *m.requests_ok, *m.requests_sent, rate * 100)});
  }
  const auto tokens = [&](const char* kind, const std::optional<int64_t>& client,
                          const std::optional<int64_t>& server) {
    if (client && server && relative(*client, *server) > kTokenMismatch)
      flags.push_back(
          {"token_mismatch",
           fmt::format("{} tokens: {} by the client, {} by the server", kind, *client, *server)});
  };
  tokens("input", m.client_input_tokens, m.server_input_tokens);
  tokens("output", m.client_output_tokens, m.server_output_tokens);
  // The client judges itself where it measures (load/verdict.h); nobody judges it again.
  if (m.client.limited.value_or(false))
    flags.push_back({"client_limited", m.client.limited_reason});
  if (m.tokens_per_chunk && *m.tokens_per_chunk > kTokensPerChunk)
    flags.push_back(
        {"chunked", fmt::format("{:.2f} tokens a chunk: ITL is not TPOT", *m.tokens_per_chunk)});
  const Span span = m.steady ? Span::kSteady : Span::kWhole;
  if (const auto headroom = read(record, Metric::kHeadroom, {.span = span});
      headroom && headroom->value < 1)
    flags.push_back(
        {"faster_than_limit", fmt::format("TPOT is {:.2f} of its limit: the limit's numbers or the "
                                          "measurement are wrong",
                                          headroom->value)});
  // What the client said itself stands; its words are nearer to the measurement.
  const auto said = [&](const Flag& flag) {
    return m.doubts.contains(flag.code) ||
           (flag.code == "success_rate" && m.doubts.contains("failures")) ||
           (flag.code == "chunked" && m.doubts.contains("tokens_per_chunk"));
  };
  std::erase_if(flags, said);
  for (const auto& [code, text] : m.doubts) flags.push_back({code, text});
  return flags;
}

}  // namespace headroom::analysis
