// Fuzzes what a server may send as a completion stream: the first byte says where to cut.
#include <cstdint>
#include <cstdlib>

#include "load/stream_reader.h"

namespace {

using headroom::load::StreamReader;

headroom::load::RequestRecord read(std::initializer_list<std::string_view> pieces) {
  static headroom::load::ChunkReader chunks;
  StreamReader reader;
  headroom::load::RequestRecord start;
  start.sent = 1;
  reader.begin(start);
  headroom::http::ResponseHead head;
  head.status = 200;
  reader.on_head(head, 2);
  for (const std::string_view piece : pieces) reader.on_body(piece, 3, chunks);
  reader.on_end(headroom::load::Failure::kNone, "", 4);
  return reader.record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = text.empty() ? 0 : data[0] % (text.size() + 1);
  // Where the scanner answers, it answers as the full reader does.
  if (const auto facts = headroom::load::scan_chunk(text)) {
    static headroom::load::ChunkReader reader;
    const auto full = reader.read(text);
    if (!full || full->error || facts->content != full->content ||
        facts->finished != full->finished || facts->choice != full->choice ||
        facts->token_ids != full->token_ids || facts->output_tokens != full->output_tokens ||
        facts->prompt_tokens != full->prompt_tokens || facts->reasoning != full->reasoning)
      std::abort();
  }
  const auto whole = read({text}), parts = read({text.substr(0, cut), text.substr(cut)});
  if (whole.failure != parts.failure || whole.chunks != parts.chunks ||
      whole.tokens() != parts.tokens() ||
      (whole.ok() && whole.tokens() < 1 && !whole.output_tokens))
    std::abort();
  return 0;
}
