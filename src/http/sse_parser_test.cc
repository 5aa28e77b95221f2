// The event stream grammar, at every split point and over generated streams.
#include "http/sse_parser.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

namespace headroom::http {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events parse_pieces(const std::vector<std::string_view>& pieces) {
  SseParser parser;
  Events events;
  for (const std::string_view piece : pieces)
    EXPECT_TRUE(parser.feed(
        piece, [&](const SseEvent& event) { events.emplace_back(event.name, event.data); }));
  return events;
}

/// Parses whole, byte by byte, and at every pair of split points; all must agree.
Events parse_everywhere(std::string_view text) {
  const Events whole = parse_pieces({text});
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  EXPECT_EQ(parse_pieces(bytes), whole);
  for (size_t i = 0; i <= text.size(); ++i)
    for (size_t j = i; j <= text.size(); ++j)
      EXPECT_EQ(parse_pieces({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), whole)
          << "split at " << i << " and " << j;
  return whole;
}

TEST(SseParser, grammar_at_every_split) {
  const std::string_view text =
      "\xEF\xBB\xBF"
      "data: {\"a\":\"\xC3\xA9 b\"}\n\n"             // LF, a character of two bytes
      ": comment\r\nevent: error\r\ndata:x\r\n\r\n"  // CRLF, no space
      "data: one\rdata:  two\r\r"                    // CR, two lines, only one space dropped
      "id: 7\nretry: 10\nevent: ignored\n\n"         // no data: no event
      "data\n\n"                                     // a field without colon has an empty value
      "data: [DONE]\n\ndata: unfinished\n";
  const Events expected = {
      {"", "{\"a\":\"\xC3\xA9 b\"}"}, {"error", "x"}, {"", "one\n two"}, {"", ""}, {"", "[DONE]"}};
  EXPECT_EQ(parse_everywhere(text), expected);
}

TEST(SseParser, mark_counts_only_at_the_start) {
  EXPECT_EQ(parse_everywhere("\n\xEF\xBB\xBF"
                             "data: x\n\ndata: y\n\n"),
            (Events{{"", "y"}}));
}

TEST(SseParser, tells_an_open_event) {
  SseParser parser;
  const auto ignore = [](const SseEvent&) {};
  ASSERT_TRUE(parser.feed("data: x\n", ignore));
  EXPECT_TRUE(parser.inside_event());
  ASSERT_TRUE(parser.feed("\n", ignore));
  EXPECT_FALSE(parser.inside_event());
}

TEST(SseParser, refuses_an_endless_event) {
  SseParser parser(64);
  const std::string text = "data: " + std::string(100, 'x');
  const auto result = parser.feed(text, [](const SseEvent&) {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::kTooLarge);
}

TEST(SseParser, any_stream_in_any_pieces) {
  EXPECT_TRUE(rc::check("what was written is what is read", [] {
    const auto ending = rc::gen::element<std::string>("\n", "\r\n", "\r");
    const auto word = rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
    std::string text;
    Events expected;
    bool last_was_cr = false;  // "\r" + "\n" would be read as one ending
    const auto line = [&](const std::string& content) {
      std::string end = *ending;
      if (content.empty() && last_was_cr && end == "\n") end = "\r\n\r\n";
      text += content + end;
      last_was_cr = end == "\r";
    };
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
      if (*rc::gen::arbitrary<bool>()) line(":" + *word);
      const std::string name = *rc::gen::element<std::string>("", "error", "message");
      if (!name.empty()) line("event: " + name);
      const int lines = *rc::gen::inRange(1, 4);
      std::string data;
      for (int j = 0; j < lines; ++j) {
        const std::string value = *word;
        data += (j > 0 ? "\n" : "") + value;
        line("data: " + value);
      }
      line("");
      expected.emplace_back(name, data);
    }
    std::vector<std::string_view> pieces;
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t n = *rc::gen::inRange<size_t>(1, rest.size() + 1);
      pieces.push_back(rest.substr(0, n));
      rest.remove_prefix(n);
    }
    RC_ASSERT(parse_pieces(pieces) == expected);
  }));
}

}  // namespace
}  // namespace headroom::http
