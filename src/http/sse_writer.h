// Writing server-sent events and HTTP/1.1 framing as bytes.
#pragma once

#include <string>
#include <string_view>

#include "http/incoming.h"

namespace headroom::http {

/// Appends "data: …\n\n"; each line of `data` gets its own field, so that no text can end the
/// event.
void append_event(std::string& out, std::string_view data);

/// Appends one chunk of a chunked body; nothing for empty `bytes` (which would end the body).
void append_chunk(std::string& out, std::string_view bytes);

/// "HTTP/1.1 200 OK\r\n…\r\n\r\n". `content_length` negative: none is written.
struct HeadFacts {
  bool keep_alive = true;
  bool chunked = false;
  long long content_length = -1;
  std::string_view cors_origin = {};  // empty: no CORS headers
};
std::string response_head(const Reply& reply, const HeadFacts& facts);

}  // namespace headroom::http
