// Chunk scanner: the facts of an ordinary stream chunk in one pass, without memory of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom::load {

/// What measuring needs of one chunk.
struct ChunkFacts {
  bool content = false;              // text, reasoning, a tool call or a token: what starts TTFT
  bool reasoning = false;            // content that is reasoning alone
  bool choice = false;               // it has a choice at all; a usage chunk at the end has none
  bool finished = false;             // a finish_reason
  std::optional<int64_t> token_ids;  // tokens it names (vLLM's token_ids), if it does
  std::optional<int64_t> prompt_tokens, output_tokens;  // usage so far or final
};

/// Reads a chunk that is valid JSON of the usual shape. Nothing for whatever is in doubt (an error,
/// an unusual type, an escape in a key, text that may not be JSON): ChunkReader, which is several
/// times slower, then decides. Where it answers, it answers the same.
std::optional<ChunkFacts> scan_chunk(std::string_view json);

}  // namespace headroom::load
