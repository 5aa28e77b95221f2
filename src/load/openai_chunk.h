// OpenAI stream chunks: the few facts that measuring needs out of one chunk's JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "load/chunk_scanner.h"

namespace headroom::load {

struct Chunk : ChunkFacts {
  std::optional<std::string> error;  // an error object instead of a chunk
  std::string text;  // where asked for: what it adds to the answer, reasoning left out
};

/// Reads completions and chat chunks. Keeps its buffers; one thread at a time.
class ChunkReader {
 public:
  ChunkReader();
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  /// A chunk of a stream, or an answer in one piece. Errors (kDataLoss): not a JSON object.
  base::Result<Chunk> read(std::string_view json, bool want_text = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom::load
