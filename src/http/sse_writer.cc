// Event and response framing.
#include "http/sse_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "http/router.h"

namespace headroom::http {

void append_event(std::string& out, std::string_view data) {
  for (;;) {
    const size_t end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    const bool crlf = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (crlf ? 2 : 1));
  }
  out += '\n';
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out += bytes;
  out += "\r\n";
}

std::string response_head(const Reply& reply, const HeadFacts& facts) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, status_text(reply.status));
  const auto add = [&](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  };
  if (!reply.content_type.empty()) add("Content-Type", reply.content_type);
  if (facts.content_length >= 0) add("Content-Length", fmt::to_string(facts.content_length));
  if (facts.chunked) add("Transfer-Encoding", "chunked");
  add("Connection", facts.keep_alive ? "keep-alive" : "close");
  if (!facts.cors_origin.empty()) {
    add("Access-Control-Allow-Origin", facts.cors_origin);
    add("Access-Control-Allow-Headers", "Authorization, Content-Type");
    add("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  }
  for (const auto& [name, value] : reply.headers) add(name, value);
  head += "\r\n";
  return head;
}

}  // namespace headroom::http
