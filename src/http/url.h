// Url: the parts of an http(s) address that a client needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::http {

/// "http://[::1]:8000/prefix" taken apart, or "unix:/run/server.sock", a socket in the file system
/// that speaks HTTP. User names, queries and fragments are refused.
struct Url {
  bool tls = false;
  std::string host;         // without the brackets of an IPv6 literal
  uint16_t port = 80;       // 443 by default with https
  std::string path;         // "" or "/prefix", no slash at the end
  std::string unix_socket;  // file of the socket; host is then "localhost"

  /// How an https server's certificate is checked; not part of the text.
  std::string ca_file;    // PEM file of authorities, instead of the system's
  bool insecure = false;  // any certificate will do

  /// Value of the Host header: port only when it is not the scheme's own.
  std::string authority() const;
  /// "host:port" or "unix:/file", what error messages name.
  std::string address() const;
  std::string text() const;
};

/// Errors: kInvalidArgument naming the text and what is wrong with it. A missing scheme is http.
base::Result<Url> parse_url(std::string_view text);

/// The address under which an OpenAI-compatible server's paths start: a trailing "/v1" is dropped,
/// so that both habits of writing a base URL mean the same.
base::Result<Url> parse_server_url(std::string_view text);

}  // namespace headroom::http
