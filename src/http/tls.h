// TLS for clients: OpenSSL between two byte buffers, so that the sockets (and their kernel time
// stamps) stay with the caller.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace headroom::http {

/// Settings shared by the sessions of one client. Certificates are checked against the host's name
/// and against `ca_file`, or the system's store when that is empty (SSL_CERT_FILE and SSL_CERT_DIR
/// are honoured); with `insecure` against nothing. Errors: kInvalidArgument naming a bad `ca_file`.
class TlsContext {
 public:
  static base::Result<TlsContext> client(const std::string& ca_file = "", bool insecure = false);
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

/// One connection. Errors are kUnavailable and say what OpenSSL said.
class TlsSession {
 public:
  TlsSession(const TlsContext& context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Bytes that came from the peer.
  void feed(std::string_view cipher);
  /// True once the handshake is done; call it again after each feed until then.
  base::Result<bool> handshake();
  /// Hands on what can be decrypted now.
  base::Result<> read(const std::function<void(std::string_view)>& sink);
  base::Result<> write(std::string_view plain);
  /// Appends to `out` what must be sent to the peer.
  void take_output(std::string& out);

 private:
  ssl_st* ssl_;  // owns its two memory BIOs
};

}  // namespace headroom::http
