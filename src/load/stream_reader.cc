// Reading one streamed response.
#include "load/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace headroom::load {

namespace {

constexpr size_t kBodyKept = 4096;
constexpr size_t kWholeLimit = size_t{64} << 20;  // of an answer in one piece
// A stream with more chunks than these for the tokens that were asked will never end by itself.
constexpr int64_t kChunksPerToken = 8, kChunksBeyond = 2000;

std::string one_line(std::string_view text, size_t limit = 200) {
  // A stranger's bytes on the way to a terminal: no line ends, no escapes, no half characters.
  std::string result;
  while (!text.empty() && result.size() < limit) {
    const size_t length = base::utf8_length(text);
    const bool c1 = length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || c1 || static_cast<unsigned char>(text[0]) < ' ' || text[0] == 127)
      result += length == 0 || result.ends_with(' ') ? "" : " ";
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace

void StreamReader::begin(const RequestRecord& start, bool keep_answer) {
  record = start;
  keep_answer_ = keep_answer;
  answer_.clear();
  last_byte_ = 0;
  why.clear();
  sse_.reset();
  marks_.clear();
  body_.clear();
  location_.clear();
  encoding_.clear();
  done_marker_ = finish_reason_ = any_event_ = content_now_ = false;
}

RequestRecord StreamReader::retry_record() const {
  RequestRecord next;
  next.index = record.index;
  next.slot = record.slot;
  next.turn = record.turn;
  next.warmup = record.warmup;
  next.streamed = record.streamed;
  next.retries = record.retries + 1;
  next.intended = record.intended;
  next.released = record.released;
  next.prompt_intended = record.prompt_intended;
  next.output_intended = record.output_intended;
  return next;
}

void StreamReader::fail(Failure how, std::string text) {
  if (record.failure != Failure::kNone) return;  // the first cause counts
  record.failure = how;
  why = one_line(text);
}

void StreamReader::on_head(const http::ResponseHead& head, int64_t at) {
  record.http_status = head.status;
  record.first_byte = at;
  location_ = head.header("location");
  encoding_ = head.header("content-encoding");
}

void StreamReader::take_event(const http::SseEvent& event, int64_t at, ChunkReader& reader) {
  any_event_ = true;
  if (done_marker_) return;
  if (event.data == "[DONE]") {
    done_marker_ = true;
    return;
  }
  if (!keep_answer_ && event.name != "error")
    if (const auto facts = scan_chunk(event.data)) return take_chunk(*facts, at);
  const auto chunk = reader.read(event.data, keep_answer_);
  if (event.name == "error" && (!chunk || !chunk->error))
    return fail(Failure::kStreamError, std::string(event.data));
  if (!chunk) return fail(Failure::kBadStream, chunk.error().message);
  if (chunk->error) return fail(Failure::kStreamError, *chunk->error);
  if (keep_answer_) answer_ += chunk->text;
  take_chunk(*chunk, at);
}

void StreamReader::take_chunk(const ChunkFacts& chunk, int64_t at) {
  bool content = chunk.content;
  int64_t tokens = chunk.token_ids.value_or(0);
  if (chunk.output_tokens) {
    // A running usage tells the tokens of each chunk; the final one comes in a chunk of its own or
    // with the last token.
    const int64_t fresh = *chunk.output_tokens - record.output_tokens.value_or(0);
    const bool running = record.output_tokens.has_value() || marks_.empty();
    if (running && fresh > 0 && chunk.choice && !chunk.finished) content = true;
    if (content && running && fresh > 0) tokens = fresh;
    record.output_tokens = chunk.output_tokens;
  }
  if (chunk.prompt_tokens) record.prompt_tokens = chunk.prompt_tokens;
  if (chunk.finished) finish_reason_ = true;
  if (!content) return;
  content_now_ = true;
  if (!record.first_token) record.first_token = at;
  if (!record.first_text && !chunk.reasoning) record.first_text = at;
  if (!marks_.empty() && marks_.back().at == at) ++record.coalesced;
  record.last_token = at;
  ++record.chunks;
  record.chunk_tokens += std::max<int64_t>(tokens, 1);
  marks_.push_back({at, static_cast<int32_t>(tokens)});
  if (record.chunks > kChunksPerToken * record.output_intended + kChunksBeyond)
    fail(
        Failure::kBadStream,
        fmt::format("the stream does not end: {} chunks with content came and {} tokens were asked "
                    "for",
                    record.chunks, record.output_intended));
}

bool StreamReader::on_body(std::string_view bytes, int64_t at, ChunkReader& reader) {
  last_byte_ = at;
  const bool whole = !record.streamed && record.http_status == 200;
  const size_t kept = whole ? kWholeLimit : kBodyKept;
  if (!any_event_ && body_.size() < kept) body_ += bytes.substr(0, kept - body_.size());
  if (record.http_status != 200 || whole) return whole;
  content_now_ = false;
  const auto fed =
      sse_.feed(bytes, [&](const http::SseEvent& event) { take_event(event, at, reader); });
  if (!fed) fail(Failure::kBadStream, fed.error().message);
  return content_now_;
}

/// A status that is not 200, or a 200 that is no event stream: what did the server say?
void StreamReader::judge_body(ChunkReader& reader) {
  const auto chunk = reader.read(body_);
  const bool error = chunk && chunk->error;
  const std::string text = error ? *chunk->error : body_;
  if (record.http_status / 100 == 3 && !location_.empty())
    return fail(Failure::kHttp, fmt::format("HTTP {}: redirected to {}: give the final address",
                                            record.http_status, location_));
  if (record.http_status != 200)
    return fail(Failure::kHttp, fmt::format("HTTP {}: {}", record.http_status, text));
  if (error) return fail(Failure::kStreamError, text);
  if (!encoding_.empty())
    return fail(Failure::kBadStream,
                fmt::format("the response is compressed ({}), unasked", encoding_));
  if (body_.empty()) return fail(Failure::kEmpty, "the response has no body");
  fail(Failure::kBadStream, "the response is no event stream: " + text);
}

/// Content came and a prompt went: a server that counts 0 of them does not count.
void StreamReader::drop_zero_counts() {
  for (std::optional<int64_t>* count : {&record.prompt_tokens, &record.output_tokens})
    if (*count == 0) count->reset();
}

/// An answer in one piece: nothing is known of its first token.
void StreamReader::take_whole(ChunkReader& reader) {
  const auto answer = reader.read(body_, keep_answer_);
  if (!answer || answer->error || !answer->choice) return judge_body(reader);
  if (!answer->content && answer->output_tokens.value_or(0) == 0)
    return fail(Failure::kEmpty, "the answer has no content");
  record.prompt_tokens = answer->prompt_tokens;
  record.output_tokens = answer->output_tokens;
  record.last_token = last_byte_;
  drop_zero_counts();
  if (keep_answer_) answer_ = answer->text;
}

void StreamReader::on_end(Failure how, const std::string& text, int64_t at) {
  record.done = at;
  // Once [DONE] or an error came, a close that is late or rough changes nothing.
  if (how != Failure::kNone && !finished()) return fail(how, text);
  if (record.failure != Failure::kNone) return;
  if (record.http_status != 200 || !any_event_) {
    ChunkReader reader;
    if (record.http_status == 200 && !record.streamed) return take_whole(reader);
    return judge_body(reader);
  }
  if (!record.first_token) return fail(Failure::kEmpty, "the stream ended without any content");
  drop_zero_counts();
  if (!done_marker_ && !finish_reason_)
    fail(Failure::kTruncated,
         fmt::format("the stream ended after {} chunks with neither finish_reason nor [DONE]",
                     record.chunks));
}

}  // namespace headroom::load
