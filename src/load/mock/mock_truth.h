// MockTruth: what the mock server really did with one request, and its log file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::load {

/// What really happened to one request; CLOCK_MONOTONIC nanoseconds. Tokens are stamped just before
/// their send; the request is stamped by the kernel when its last bytes came.
struct MockTruth {
  std::string request_id;                   // of the X-Request-Id header
  int64_t received = 0;                     // last byte of the request
  int64_t first_token = 0, last_token = 0;  // 0: none sent
  int64_t prompt_tokens = 0, tokens = 0, chunks = 0;
  uint64_t prompt_digest = 0;
  bool whole = false;  // the response was sent to its scripted end
  bool chat = false;
  std::vector<uint32_t> gaps;  // ns between chunks, at most 4.29 s each; only with log=1
};

/// One JSON object a line, in the order of the requests.
base::Result<> write_truths(const std::string& path, const std::vector<MockTruth>& truths);
/// Errors: kIo, kDataLoss naming the line.
base::Result<std::vector<MockTruth>> read_truths(const std::string& path);

}  // namespace headroom::load
