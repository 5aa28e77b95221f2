// MockScript: how the mock server behaves, as a list of key=value that people and tests can write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::load {

/// One response's course. Times count from the last byte of the request; token i is due at
/// ttft + (i / tokens_per_chunk) * interval.
struct MockScript {
  int64_t ttft_ns = 50'000'000;
  int64_t interval_ns = 10'000'000;  // between chunks
  int64_t tokens_per_chunk = 1;
  int64_t max_tokens = 0;  // never more than that, whatever is asked; 0: as asked
  double shortest = 1;     // answers have [shortest, 1] of the tokens asked, drawn evenly
  bool lock_step = false;  // tokens of all streams come together, at multiples of the interval
  bool log_gaps = false;   // the truth has every gap

  enum class Usage { kEnd, kWithLast, kRunning, kNone };
  Usage usage = Usage::kEnd;
  int64_t usage_delay_ns = 0;
  int64_t prompt_tokens_off = 0;  // added to the counts in usage: a server that counts differently
  int64_t output_tokens_off = 0;

  // Shapes of the stream.
  bool role_chunk = false;  // an opening chunk with a role (chat) or an empty text, at once
  bool reasoning = false;   // the first half of a chat answer comes as reasoning_content
  std::string line_end = "\n";
  bool space = true;         // behind "data:"
  bool comments = false;     // a comment line before each event
  bool event_lines = false;  // "event: message" before each data line
  bool mark = false;         // a byte order mark first
  bool multi_line = false;   // the JSON of each chunk in two data lines
  int64_t split = 0;         // bytes per write, 0: one write an event

  // How it ends. All but kDone and kNoDone happen after `end_after` tokens.
  enum class End { kDone, kNoDone, kNothing, kError, kClose, kReset, kSilence, kOnlyDone, kLinger };
  End end = End::kDone;
  int64_t end_after = 0;

  enum class Framing { kChunked, kClose };
  Framing framing = Framing::kChunked;
  int status = 200;         // another one is answered with a JSON error at once
  bool plain_json = false;  // 200, but one JSON error object instead of a stream
  int64_t fail_every = 0;   // every n-th request is answered with 503
  int64_t die_after = 0;    // after so many tokens in all, the server closes everything
  bool close_idle = false;  // closes each connection after its response, without saying so

  std::string model = "mock";
};

/// "ttft=50,interval=10,tokens=1,usage=end|last|running|none,usage_delay=MS,prompt_off=N,…": times
/// in milliseconds. Unknown keys and values are errors that list what is known.
base::Result<MockScript> parse_mock_script(std::string_view text);

/// The keys with a word each, for --help.
std::string mock_script_help();

}  // namespace headroom::load
