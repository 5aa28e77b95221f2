// Every awkward stream, from raw HTTP bytes to the record, cut at every point and at random ones.
#include <gtest/gtest.h>

#include <optional>

#include "base/rng.h"
#include "http/response_parser.h"
#include "load/stream_reader.h"

namespace headroom::load {
namespace {

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

/// Each event in a transport chunk of its own, then the end.
std::string stream(const std::vector<std::string>& events) {
  std::string bytes(kHead);
  for (const std::string& one : events) bytes += chunk(one);
  return bytes + "0\r\n\r\n";
}

std::string event(std::string_view json) {
  return fmt::format("data: {}\n\n", json);
}
std::string text(std::string_view content, std::string_view reason = "null") {
  return event(
      fmt::format(R"({{"choices":[{{"text":"{}","finish_reason":{}}}]}})", content, reason));
}
std::string delta(std::string_view members) {
  return event(fmt::format(R"({{"choices":[{{"delta":{{{}}},"finish_reason":null}}]}})", members));
}
const std::string kUsage =
    event(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}})");
const std::string kDone = "data: [DONE]\n\n";

struct Expected {
  Failure failure = Failure::kNone;
  int64_t chunks = 3, tokens = 3;
  std::optional<int64_t> prompt_tokens = 7;
  std::string answer = "a b c";
};

struct Case {
  const char* name;
  std::string bytes;
  Expected expected{};
  bool streamed = true;
};

std::vector<Case> cases() {
  const std::string abc = text("a") + text(" b") + text(" c", R"("length")");
  const std::string whole =
      R"({"object":"text_completion","choices":[{"text":"a b c","finish_reason":"length"}],)"
      R"("usage":{"prompt_tokens":7,"completion_tokens":3}})";
  const auto plain = [](std::string_view json, int status = 200) {
    return fmt::format(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
        json.size(), json);
  };
  const auto crlf = [](std::string events, std::string_view end) {
    std::string result;
    for (const char c : events)
      if (c == '\n')
        result += end;
      else
        result += c;
    return result;
  };
  const std::string abc_all = abc + kUsage + kDone;
  std::string mixed = text("a");
  mixed += "data: {\"choices\":[{\"text\":\" b\",\"finish_reason\":null}]}\r\n\n";
  mixed += "data: {\"choices\":[{\"text\":\" c\",\"finish_reason\":\"length\"}]}\n\r\n";
  return {
      {"plain", stream({text("a"), text(" b"), text(" c", R"("length")"), kUsage, kDone})},
      {"all_events_in_one_chunk_of_the_transport", stream({abc_all})},
      {"crlf_line_ends", stream({crlf(abc_all, "\r\n")})},
      {"cr_line_ends", stream({crlf(abc_all, "\r")})},
      {"mixed_line_ends", stream({mixed + kUsage + kDone})},
      {"no_space_behind_data",
       stream({"data:{\"choices\":[{\"text\":\"a b c\",\"finish_reason\":\"length\"}]}\n\n", kUsage,
               "data:[DONE]\n\n"}),
       {Failure::kNone, 1, 3}},
      {"event_lines_and_comments",
       stream({": ping\n\n", "event: message\n" + text("a"), ": ping\n" + text(" b"),
               "id: 3\nretry: 5\n" + text(" c", R"("length")"), kUsage, kDone})},
      {"byte_order_mark", stream({"\xEF\xBB\xBF" + abc_all})},
      {"an_event_of_two_data_lines",
       stream(
           {"data: {\"choices\":\ndata: [{\"text\":\"a b c\",\"finish_reason\":\"length\"}]}\n\n",
            kUsage, kDone}),
       {Failure::kNone, 1, 3}},
      {"spaces_and_characters_of_several_bytes_survive",
       stream({text("  \xC3\xA9"), text(" \xE6\x97\xA5"), text(" \xF0\x9F\x98\x80", R"("stop")"),
               kUsage, kDone}),
       {Failure::kNone, 3, 3, 7, "  \xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"}},
      {"escaped_characters",
       stream({text("\\u0061"), text("\\u0020b"), text("\\u0020c", R"("length")"), kUsage, kDone})},
      {"an_empty_first_chunk_is_no_token",
       stream({text(""), text("a"), text(" b"), text(" c", R"("length")"), kUsage, kDone})},
      {"a_role_chunk_is_no_token",
       stream({delta(R"("role":"assistant","content":"")"), delta(R"("content":"a")"),
               delta(R"("content":" b")"), delta(R"("content":" c")"),
               event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"), kUsage, kDone})},
      {"reasoning_first_counts_as_tokens_and_not_as_answer",
       stream({delta(R"("reasoning_content":"hm")"), delta(R"("content":"a")"),
               delta(R"("content":" b c")"),
               event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"), kUsage, kDone})},
      {"tool_calls_count_as_tokens",
       stream({delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{"}}])"),
               delta(R"("content":"a b c")"),
               event(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})"), kUsage, kDone}),
       {Failure::kNone, 2, 3}},
      {"usage_with_the_last_token",
       stream({text("a"), text(" b"),
               event(R"({"choices":[{"text":" c","finish_reason":"length"}],)"
                     R"("usage":{"prompt_tokens":7,"completion_tokens":3}})"),
               kDone})},
      {"running_usage_tells_tokens_per_chunk",
       stream({event(R"({"choices":[{"text":"a b","finish_reason":null}],)"
                     R"("usage":{"prompt_tokens":7,"completion_tokens":2}})"),
               event(R"({"choices":[{"text":" c","finish_reason":"length"}],)"
                     R"("usage":{"prompt_tokens":7,"completion_tokens":3}})"),
               kDone}),
       {Failure::kNone, 2, 3}},
      {"no_usage_counts_chunks", stream({abc, kDone}), {Failure::kNone, 3, 3, std::nullopt}},
      {"usage_of_several_tokens_a_chunk",
       stream({text("a b", R"("length")"), text(" c"), kUsage, kDone}),
       {Failure::kNone, 2, 3}},
      {"finish_reason_without_done_is_a_whole_answer", stream({abc, kUsage})},
      {"done_without_finish_reason_is_a_whole_answer",
       stream({text("a"), text(" b"), text(" c"), kUsage, kDone})},
      {"a_clean_end_without_either_is_truncated",
       stream({text("a"), text(" b")}),
       {Failure::kTruncated, 2, 2, std::nullopt, "a b"}},
      {"an_error_event_after_tokens_fails",
       stream({text("a"), event(R"({"error":{"message":"boom"}})"), kDone}),
       {Failure::kStreamError, 1, 1, std::nullopt, "a"}},
      {"an_event_named_error_fails",
       stream({text("a"), "event: error\ndata: out of memory\n\n"}),
       {Failure::kStreamError, 1, 1, std::nullopt, "a"}},
      {"a_json_error_with_status_200_fails",
       plain(R"({"error":{"message":"no such model"}})"),
       {Failure::kStreamError, 0, 0, std::nullopt, ""}},
      {"html_with_status_200_fails",
       plain("<html><body>Welcome</body></html>"),
       {Failure::kBadStream, 0, 0, std::nullopt, ""}},
      {"an_empty_body_fails", plain(""), {Failure::kEmpty, 0, 0, std::nullopt, ""}},
      {"only_done_is_empty", stream({kDone}), {Failure::kEmpty, 0, 0, std::nullopt, ""}},
      {"only_empty_chunks_are_empty",
       stream({text(""), text("", R"("stop")"), kDone}),
       {Failure::kEmpty, 0, 0, std::nullopt, ""}},
      {"half_a_chunk_of_json_fails",
       stream({text("a"), "data: {\"choices\":[{\"te\n\n", kDone}),
       {Failure::kBadStream, 1, 1, std::nullopt, "a"}},
      {"a_500_fails",
       plain(R"({"error":{"message":"overload"}})", 500),
       {Failure::kHttp, 0, 0, std::nullopt, ""}},
      {"an_answer_in_one_piece", plain(whole), {Failure::kNone, 0, 3}, false},
      {"an_answer_in_one_piece_chunked",
       std::string(kHead) + chunk(whole.substr(0, 20)) + chunk(whole.substr(20)) + "0\r\n\r\n",
       {Failure::kNone, 0, 3},
       false},
      {"a_chat_answer_in_one_piece",
       plain(R"({"choices":[{"message":{"role":"assistant","content":"a b c"}}],)"
             R"("usage":{"prompt_tokens":7,"completion_tokens":3}})"),
       {Failure::kNone, 0, 3},
       false},
      {"an_error_in_one_piece",
       plain(R"({"error":{"message":"no"}})"),
       {Failure::kStreamError, 0, 0, std::nullopt, ""},
       false},
      {"nothing_in_one_piece",
       plain(R"({"choices":[{"text":""}],"usage":{"prompt_tokens":7,"completion_tokens":0}})"),
       {Failure::kEmpty, 0, 0, std::nullopt, ""},
       false},
      {"extensions_of_chunk_sizes_and_trailers",
       std::string(kHead) + fmt::format("{:x};name=value\r\n{}\r\n", abc_all.size(), abc_all) +
           "0\r\nX-Trailer: 1\r\n\r\n"},
  };
}

struct Seen {
  Failure failure;
  int64_t chunks, tokens;
  std::optional<int64_t> prompt_tokens;
  std::string answer;
  bool first, ttft;
  bool operator==(const Seen&) const = default;
};

/// The way of the bytes in the client: reads of the socket, HTTP, events, record.
Seen read(const Case& c, const std::vector<std::string_view>& pieces, bool keep_answer) {
  static ChunkReader chunks;
  http::ResponseParser http;
  StreamReader reader;
  RequestRecord start;
  start.sent = 1;
  start.streamed = c.streamed;
  reader.begin(start, keep_answer);
  int64_t at = 1;
  bool head_told = false;
  const auto head = [&] {
    if (http.head_complete() && !std::exchange(head_told, true)) reader.on_head(http.head(), at);
  };
  for (const std::string_view piece : pieces) {
    ++at;
    const auto eaten = http.feed(piece, [&](std::string_view body) {
      head();
      reader.on_body(body, at, chunks);
    });
    EXPECT_TRUE(eaten) << c.name << ": " << eaten.error().message;
    head();
  }
  EXPECT_TRUE(http.complete()) << c.name;
  reader.on_end(Failure::kNone, "", ++at);
  const RequestRecord& r = reader.record;
  return {r.failure,           r.chunks,        r.tokens(),
          r.prompt_tokens,     reader.answer(), r.first_token.has_value(),
          r.ttft().has_value()};
}

std::vector<std::string_view> cut(std::string_view bytes, std::vector<size_t> points) {
  std::vector<std::string_view> pieces;
  size_t from = 0;
  std::sort(points.begin(), points.end());
  for (const size_t point : points) {
    pieces.push_back(bytes.substr(from, point - from));
    from = point;
  }
  pieces.push_back(bytes.substr(from));
  return pieces;
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class Adversarial : public testing::TestWithParam<Case> {};

TEST_P(Adversarial, comes_out_right_however_it_is_cut) {
  const Case& c = GetParam();
  for (const bool keep_answer : {true, false}) {
    SCOPED_TRACE(keep_answer ? "full reader" : "scanner");
    const Seen whole = read(c, {c.bytes}, keep_answer);
    EXPECT_EQ(whole.failure, c.expected.failure);
    EXPECT_EQ(whole.chunks, c.expected.chunks);
    if (c.expected.failure == Failure::kNone) {
      EXPECT_EQ(whole.tokens, c.expected.tokens);
      EXPECT_EQ(whole.prompt_tokens, c.expected.prompt_tokens);
    }
    if (keep_answer) {
      EXPECT_EQ(whole.answer, c.expected.answer);
    }
    EXPECT_EQ(whole.ttft, c.streamed && c.expected.chunks > 0);
    for (size_t i = 1; i < c.bytes.size(); ++i)
      ASSERT_EQ(read(c, cut(c.bytes, {i}), keep_answer), whole) << "cut at " << i;
    std::vector<size_t> every;
    for (size_t i = 1; i < c.bytes.size(); ++i) every.push_back(i);
    ASSERT_EQ(read(c, cut(c.bytes, every), keep_answer), whole) << "byte by byte";
    base::Rng rng(5);
    for (int i = 0; i < 200; ++i) {
      std::vector<size_t> points;
      for (uint64_t n = 2 + rng.below(12); n > 0; --n) points.push_back(rng.below(c.bytes.size()));
      ASSERT_EQ(read(c, cut(c.bytes, points), keep_answer), whole)
          << testing::PrintToString(points);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, Adversarial, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Times of a stream whose events come one a step, from 10 on.
RequestRecord timed(const std::vector<std::string>& events, bool keep_answer = false) {
  ChunkReader chunks;
  StreamReader reader;
  RequestRecord start;
  start.sent = 5;
  reader.begin(start, keep_answer);
  http::ResponseHead head;
  head.status = 200;
  reader.on_head(head, 6);
  int64_t at = 0;
  for (const std::string& one : events) reader.on_body(one, at += 10, chunks);
  reader.on_end(Failure::kNone, "", at + 1);
  EXPECT_TRUE(reader.record.ok()) << reader.why;
  return reader.record;
}

TEST(StreamTimes, role_chunk_does_not_start_ttft) {
  const auto r =
      timed({delta(R"("role":"assistant","content":"")"), delta(R"("content":"a")"), kDone});
  EXPECT_EQ(r.first_token, 20);
  EXPECT_EQ(r.first_byte, 6);
}

TEST(StreamTimes, empty_first_text_does_not_start_ttft) {
  EXPECT_EQ(timed({text(""), text("a"), kDone}).first_token, 20);
}

TEST(StreamTimes, reasoning_starts_ttft_and_content_its_own_time) {
  const auto r = timed({delta(R"("reasoning_content":"hm")"), delta(R"("reasoning":"hm")"),
                        delta(R"("content":"a")"), kDone});
  EXPECT_EQ(r.first_token, 10);
  EXPECT_EQ(r.ttft(), 5);
  EXPECT_EQ(r.first_text, 30);
  EXPECT_EQ(*r.first_text - *r.sent, 25);
}

TEST(StreamTimes, late_usage_and_done_do_not_stretch_e2e) {
  const auto r = timed({text("a"), text("b", R"("stop")"), kUsage, kDone});
  EXPECT_EQ(r.last_token, 20);
  EXPECT_EQ(r.e2e(), 15);
  EXPECT_EQ(r.done, 41);
}

TEST(StreamTimes, usage_chunk_does_not_move_the_first_token) {
  EXPECT_EQ(timed({text("a"), kUsage, text("b", R"("stop")")}).first_token, 10);
}

TEST(StreamTimes, what_follows_done_counts_nothing) {
  const auto r = timed({text("a"), kDone, text("b")});
  EXPECT_EQ(r.chunks, 1);
  EXPECT_EQ(r.last_token, 10);
}

TEST(StreamTimes, tokens_that_come_together_are_counted_as_coalesced) {
  const auto r = timed({text("a") + text("b") + text("c"), text("d", R"("stop")")});
  EXPECT_EQ(r.coalesced, 2);
  EXPECT_EQ(r.chunks, 4);
}

}  // namespace
}  // namespace headroom::load
