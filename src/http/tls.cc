// OpenSSL over memory buffers.
#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace headroom::http {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::string openssl_error() {
  char text[256] = "unknown error";
  if (const unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

}  // namespace

Result<TlsContext> TlsContext::client(const std::string& ca_file, bool insecure) {
  TlsContext result;
  result.context_.reset(SSL_CTX_new(TLS_client_method()), [](SSL_CTX* c) { SSL_CTX_free(c); });
  if (!result.context_ || (ca_file.empty() && SSL_CTX_set_default_verify_paths(result.get()) != 1))
    return fail(ErrorCode::kInternal, "TLS cannot be set up: {}", openssl_error());
  if (!ca_file.empty() &&
      SSL_CTX_load_verify_locations(result.get(), ca_file.c_str(), nullptr) != 1)
    return fail(ErrorCode::kInvalidArgument, "CA file {}: not certificates in PEM form: {}",
                ca_file, openssl_error());
  SSL_CTX_set_verify(result.get(), insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(result.get(), TLS1_2_VERSION);
  return result;
}

TlsSession::TlsSession(const TlsContext& context, const std::string& host)
    : ssl_(SSL_new(context.get())) {
  HEADROOM_CHECK(ssl_ != nullptr, "no TLS session: {}", openssl_error());
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_);
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl_);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) != 1) {  // not an address: a name
    ERR_clear_error();
    SSL_set_tlsext_host_name(ssl_, host.c_str());
    SSL_set1_host(ssl_, host.c_str());
  }
}

TlsSession::~TlsSession() {
  SSL_free(ssl_);
}

void TlsSession::feed(std::string_view cipher) {
  BIO_write(SSL_get_rbio(ssl_), cipher.data(), static_cast<int>(cipher.size()));
}

Result<bool> TlsSession::handshake() {
  const int done = SSL_do_handshake(ssl_);
  if (done == 1) return true;
  const int error = SSL_get_error(ssl_, done);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return false;
  if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK) {
    ERR_clear_error();
    return fail(ErrorCode::kUnavailable, "the certificate is not trusted: {}",
                X509_verify_cert_error_string(verdict));
  }
  return fail(ErrorCode::kUnavailable, "TLS handshake failed: {}", openssl_error());
}

Result<> TlsSession::read(const std::function<void(std::string_view)>& sink) {
  char buffer[16 << 10];  // one TLS record at most
  while (true) {
    const int n = SSL_read(ssl_, buffer, sizeof buffer);
    if (n > 0) {
      sink({buffer, static_cast<size_t>(n)});
      continue;
    }
    const int error = SSL_get_error(ssl_, n);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN) return {};
    return fail(ErrorCode::kUnavailable, "TLS failed: {}", openssl_error());
  }
}

Result<> TlsSession::write(std::string_view plain) {
  if (SSL_write(ssl_, plain.data(), static_cast<int>(plain.size())) > 0) return {};
  return fail(ErrorCode::kUnavailable, "TLS failed: {}", openssl_error());
}

void TlsSession::take_output(std::string& out) {
  BIO* bio = SSL_get_wbio(ssl_);
  const size_t pending = BIO_ctrl_pending(bio);
  if (pending == 0) return;
  const size_t old = out.size();
  out.resize(old + pending);
  const int n = BIO_read(bio, out.data() + old, static_cast<int>(pending));
  out.resize(old + static_cast<size_t>(std::max(n, 0)));
}

}  // namespace headroom::http
