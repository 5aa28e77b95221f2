// Record: everything known about one measured operating point, and nothing that follows from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"

namespace headroom::results {

// Absent is absent: an empty text or map and an empty optional mean "not known"; 0 is a value.
// Derived figures (interactivity, tok/s/GPU, headroom) are computed by analysis/, never stored.

/// Where the count of devices came from; it divides every "per GPU" figure.
inline constexpr std::string_view kDevicesDetected = "detected";    // on a server that we started
inline constexpr std::string_view kDevicesStated = "stated";        // --hardware NAME --devices N
inline constexpr std::string_view kDevicesPublished = "published";  // a column of the source
inline constexpr std::string_view kDevicesDerived = "derived";      // from tp x pp: replicas unseen

/// One side of a disaggregated server; tp, pp, … of each of its workers.
struct Role {
  std::optional<int64_t> workers, tp, pp, ep, dcp, pcp;
  std::optional<bool> dp_attention;
  std::optional<int64_t> devices;  // of all its workers
  std::string hardware;            // where the two sides differ
};

struct Layout {
  std::optional<int64_t> tp, pp, ep;
  std::optional<int64_t> dcp, pcp;  // context parallel sizes of decode and of prefill
  std::optional<bool> dp_attention;
  std::optional<bool> multinode, disaggregated;
  std::optional<Role> prefill, decode;
};

/// What served.
struct Server {
  std::string model;              // name as the user knows it, e.g. "Kimi-K2.5"
  std::string checkpoint_digest;  // of config, weights index and shards
  std::string precision;          // weights: "bf16", "fp8", "int4", …
  std::string kv;                 // cache rows: "bf16" | "fp8" | "fp32"
  std::string attention;          // kernel that ran decode attention, e.g. "avx512", "reference"
  std::string framework;          // "headroom", "vllm", …
  std::string framework_version;
  std::string image;                               // container image
  std::string command;                             // as started, one line
  std::map<std::string, std::string> flags;        // what the command line set, by name
  std::map<std::string, std::string> environment;  // versions, driver, variables: the manifest
  std::string speculative;                         // "", "mtp", "eagle3 3", …
  std::string recipe;                              // name
  std::string recipe_fingerprint;                  // digest of everything the recipe fixes
  Layout layout;
};

struct Hardware {
  std::string name;                // "h200", or the CPU's model name
  std::optional<int64_t> devices;  // all that served, prefill and decode; absent: no tok/s/GPU
  std::string devices_source;      // kDevicesDetected | kDevicesStated
};

struct Workload {
  std::optional<int64_t> input_tokens, output_tokens;  // nominal lengths
  std::string input_lengths, output_lengths;           // distribution: "fixed", "uniform 0.8-1", …
  std::string dataset;                                 // "random", "text", a name
  std::string arrivals;                                // "closed", "poisson", "constant", …
  std::string arrival_detail;                          // "burstiness 0.5", "ramp 1-20 in 60 s", …
  std::optional<int64_t> concurrency;                  // closed loop
  std::optional<double> rate;                          // open loop, requests/s
  std::optional<int64_t> turns;                        // of a session; absent: single requests
  std::optional<double> think_s;                       // mean pause before a session's next turn
  std::optional<int64_t> prefix_tokens;                // shared by several prompts
};

/// Totals and distributions over one span of time. Histograms hold nanoseconds.
struct Window {
  std::optional<double> duration_s;
  std::optional<int64_t> requests;  // completed inside the span
  std::optional<int64_t> input_tokens,
      output_tokens;  // of the span: the server's usage, else the client
  std::optional<base::Histogram> ttft, tpot, itl, e2e;
  // From the time the arrival process wanted the request sent: what a user waits, queueing
  // included.
  std::optional<base::Histogram> ttft_from_due, e2e_from_due;
};

/// What a request must meet to count as good; goodput is `met` over the requests attempted.
struct Slo {
  std::optional<double> ttft_ms, tpot_ms, e2e_ms;
  std::optional<int64_t> met;  // measured requests that met all of them
};

/// The client's own state while it measured.
struct ClientLoad {
  std::optional<double> cpu_cores;          // mean CPU use, 1 = one core busy
  std::optional<base::Histogram> lateness;  // ns from the time a request was due to its write
  std::optional<base::Histogram> queueing;  // ns a request waited in the client before its write
  std::optional<base::Histogram> connect;  // ns to open a connection; no part of any request's time
  std::optional<base::Histogram>
      read_lag;                     // ns from the kernel's receive stamp to the client's read
  std::optional<double> coalesced;  // share of chunks that one read delivered with the one before
  std::optional<int64_t> retries;   // requests sent again, because asked to
  std::optional<bool> limited;      // the verdict: the client, not the server, bound these figures
  std::string limited_reason;       // one line, also when the verdict is no
  std::map<std::string, std::string> settings;     // seed, salt, temperature, warm-up, clock, …
  std::map<std::string, std::string> environment;  // the client's machine: the manifest
};

struct Power {
  std::optional<double> average_w;  // all devices together
  std::optional<double> energy_j;   // over the whole run
  std::string source;               // "nvml", "rapl", …
};

/// Accuracy, bound to the same server process as the point.
struct Eval {
  std::string task, metric;
  std::string protocol;  // version of prompt format and matching rule
  std::optional<double> score;
  std::optional<double> standard_error;
  std::optional<int64_t> questions;
};

struct Measures {
  std::optional<int64_t> requests_sent, requests_ok;
  std::map<std::string, int64_t> requests_failed;  // by kind: "timeout", "http 500", "cut", …
  std::optional<int64_t> client_input_tokens, client_output_tokens;  // the client's own count
  std::optional<int64_t> server_input_tokens, server_output_tokens;  // from the server's usage
  std::optional<double> tokens_per_chunk;                            // > 1: ITL is not TPOT
  Window whole;                                                      // ramp-up and drain included
  std::optional<Window> steady;  // longest span at ≥ 95 % of the target concurrency
  ClientLoad client;
  std::map<std::string, std::string> doubts;  // what speaks against the figures: code → one line
  std::optional<Slo> slo;
  std::optional<Power> power;
  std::optional<Eval> eval;
};

/// A number exactly as it was printed: "5.0" has two significant digits, "5" one.
struct Printed {
  std::string text;
  double value = 0;
  /// Error unless `text` is one finite decimal number.
  static base::Result<Printed> parse(std::string_view text);
  int significant_digits() const;
  /// Half a unit of the last printed place: the true value lies within ± this.
  double half_unit() const;
};

/// Figures of an imported point: its source's columns, untouched. Times are medians unless
/// `statistic` names another.
struct Published {
  std::string source;  // "inferencex row", "vllm bench serve", …
  std::optional<Printed> tok_s_gpu, input_tok_s_gpu, output_tok_s_gpu;
  std::optional<Printed> tpot_ms, interactivity;  // two columns, each with its own rounding
  std::optional<Printed> ttft_ms, itl_ms, e2e_ms;
  std::string statistic;  // "mean", "p99", …
  /// Every other published statistic: "p99_ttft_ms", "mean_tpot_ms", "p90_interactivity".
  std::map<std::string, Printed> statistics;
  std::map<std::string, std::string> columns;  // what the source says besides, by its own names
};

/// One line of the server's plan: which kernel serves an op and why the others do not.
struct PlanLine {
  struct Refused {
    std::string kernel, reason;
  };
  std::string op, descriptor, chosen;
  std::optional<int64_t> count;                      // runs in one step
  std::optional<int64_t> logical_rows, kernel_rows;  // attention: heads and padded heads
  std::optional<int64_t> runs;                       // during the measurement
  std::vector<Refused> refused;
};

/// The hardware's bound at this point, from the model's shapes and the hardware's numbers.
struct Limit {
  std::optional<double> tpot_ms;
  std::optional<double> tok_s_gpu, output_tok_s_gpu;
  std::string bound;                   // what binds: "memory", "compute", "link"
  std::string basis;                   // "datasheet" | "measured"
  std::string hardware;                // entry the numbers came from
  std::optional<double> bytes, flops;  // of one decode step, per device
};

struct Record {
  std::string run;    // shared by the points of one sweep; unique to it
  std::string label;  // the user's short name for that sweep
  std::string date;   // YYYY-MM-DD
  std::string time;   // RFC 3339, start of the measurement
  std::optional<int64_t> repeat;
  std::string point;            // digest of what a recipe fixes for it, repeats aside
  std::string replay;           // the one-line command that measures it again
  std::string client;           // "headroom 0.1.0"
  std::string client_protocol;  // version of the definitions measured by, e.g. "1"
  Server server;
  Hardware hardware;
  Workload workload;
  Measures measures;
  Published published;
  std::vector<PlanLine> plan;
  std::optional<Limit> limit;
};

/// The protocol version that our own client writes: the definitions of TTFT, TPOT, ITL, E2E and
/// steady window of the design.
inline constexpr std::string_view kClientProtocol = "1";

/// Canonical JSON: fields in the order above, absent ones left out, shortest numbers. Equal records
/// give equal text; NaN and infinities count as absent.
std::string to_json(const Record& record);

/// Accepts what to_json writes, fields in any order. Errors (kDataLoss) name the field and value;
/// unknown and duplicate fields are errors.
base::Result<Record> record_from_json(std::string_view json);

/// SHA-256 of to_json(), 64 hex digits: the record's name in every store.
std::string record_id(const Record& record);

}  // namespace headroom::results
