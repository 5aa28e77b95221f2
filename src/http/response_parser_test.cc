// HTTP responses: framings, limits, malformed heads, every split point, mutated bytes.
#include "http/response_parser.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "http/url.h"

namespace headroom::http {
namespace {

struct Parsed {
  int status = 0;
  std::string body;
  size_t eaten = 0;
  bool complete = false, keep_alive = false, failed = false;
  bool operator==(const Parsed&) const = default;
};

Parsed parse_pieces(const std::vector<std::string_view>& pieces, bool close = false) {
  ResponseParser parser;
  Parsed result;
  for (const std::string_view piece : pieces) {
    const auto eaten = parser.feed(piece, [&](std::string_view part) { result.body += part; });
    if (!eaten) {
      result.failed = true;
      result.eaten = 0;  // depends on the split, and nobody reads on after an error
      return result;
    }
    result.eaten += *eaten;
  }
  if (close && !parser.close()) result.failed = true;
  result.status = parser.head().status;
  result.complete = parser.complete();
  result.keep_alive = parser.keep_alive();
  return result;
}

Parsed parse_everywhere(std::string_view text, bool close = false) {
  const Parsed whole = parse_pieces({text}, close);
  for (size_t i = 0; i <= text.size(); ++i)
    EXPECT_EQ(parse_pieces({text.substr(0, i), text.substr(i)}, close), whole) << "split at " << i;
  return whole;
}

TEST(ResponseParser, content_length) {
  const std::string_view text = "HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\nX-A:  b \r\n\r\nhello";
  const Parsed p = parse_everywhere(text);
  EXPECT_EQ(p, (Parsed{200, "hello", text.size(), true, true, false}));
  EXPECT_EQ(parse_pieces({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1"}).body,
            "hello");
}

TEST(ResponseParser, chunked_with_extension_and_trailer) {
  const std::string_view text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=value\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX-Trailer: 1\r\n\r\n";
  EXPECT_EQ(parse_everywhere(text),
            (Parsed{200, "helloabcdefghijklmnopqrstuvwxyz", text.size(), true, true, false}));
}

TEST(ResponseParser, stray_line_ends_before_the_response_count_alike_however_cut) {
  const std::string_view text = "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
  EXPECT_EQ(parse_everywhere(text), (Parsed{200, "a", text.size(), true, true, false}));
}

TEST(ResponseParser, delimited_by_close) {
  const Parsed p = parse_everywhere("HTTP/1.0 200\r\n\r\nall of it", true);
  EXPECT_EQ(p.body, "all of it");
  EXPECT_TRUE(p.complete);
  EXPECT_FALSE(p.keep_alive);
}

TEST(ResponseParser, connection_close_is_kept) {
  EXPECT_FALSE(
      parse_pieces({"HTTP/1.1 204 No Content\r\nConnection: Upgrade, Close\r\n\r\n"}).keep_alive);
  EXPECT_TRUE(
      parse_pieces({"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"})
          .keep_alive);
}

TEST(ResponseParser, truncation_is_an_error) {
  for (const std::string_view text :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"})
    EXPECT_TRUE(parse_everywhere(text, true).failed) << text;
}

TEST(ResponseParser, malformed_is_an_error) {
  for (const std::string_view text :
       {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20x OK\r\n\r\n", "HTTP/1.1 999 OK\r\n\r\n",
        "hello world and more\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n"})
    EXPECT_TRUE(parse_everywhere(text).failed) << text;
}

TEST(ResponseParser, limits_hold) {
  const std::string line = "HTTP/1.1 200 OK\r\nX: " + std::string(20000, 'a');
  EXPECT_TRUE(parse_pieces({line}).failed);
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 60; ++i) head += "X: " + std::string(8000, 'a') + "\r\n";
  EXPECT_TRUE(parse_pieces({head}).failed);
}

TEST(ResponseParser, mutated_bytes_never_break_it) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
      "5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
  base::Rng rng(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = text;
    for (uint64_t n = 1 + rng.below(4); n > 0; --n)
      bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    bad.resize(rng.below(bad.size() + 1));
    const size_t cut = rng.below(bad.size() + 1);
    const std::string_view view = bad;
    EXPECT_EQ(parse_pieces({view}, true),
              parse_pieces({view.substr(0, cut), view.substr(cut)}, true))
        << bad;
  }
}

TEST(Url, parts) {
  const auto url = parse_url("http://[::1]:8000/prefix/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 8000);
  EXPECT_EQ(url->path, "/prefix");
  EXPECT_EQ(url->text(), "http://[::1]:8000/prefix");
  EXPECT_EQ(parse_url("localhost:80")->authority(), "localhost");
  EXPECT_EQ(parse_url("https://example.com")->port, 443);
  EXPECT_EQ(parse_server_url("http://host:1/v1/")->text(), "http://host:1");
  EXPECT_EQ(parse_server_url("http://host:1/a/v1/chat/completions")->text(), "http://host:1/a");
  EXPECT_EQ(parse_server_url("http://host:1/v1/completions/")->text(), "http://host:1");
}

TEST(Url, unix_sockets) {
  for (const char* text : {"unix:/run/a.sock", "unix:///run/a.sock"}) {
    const auto url = parse_server_url(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url->unix_socket, "/run/a.sock");
    EXPECT_EQ(url->authority(), "localhost");
    EXPECT_EQ(url->text(), "unix:/run/a.sock");
  }
  EXPECT_FALSE(parse_url("unix:relative"));
  EXPECT_FALSE(parse_url("unix:/" + std::string(200, 'x')));
}

TEST(Url, refusals_name_the_text) {
  for (const char* text : {"ftp://host", "http://", "http://host:0", "http://host:65536",
                           "http://host:x", "http://user@host", "http://[::1", "http://ho st",
                           "http://host/a?b", "http://host/a b", "http://host:"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace headroom::http
