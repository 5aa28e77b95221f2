// TlsRelay: an https front of a plain server for tests, with a certificate made on the spot.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace headroom::testing_system {

/// One thread a connection. The certificate signs itself and is good for `name` alone.
class TlsRelay {
 public:
  TlsRelay(int backend_port, const std::string& name, std::string ca_file)
      : backend_(backend_port), ca_file_(std::move(ca_file)) {
    context_.reset(SSL_CTX_new(TLS_server_method()));
    make_certificate(name);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TlsRelay() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& thread : connections_) thread.join();
    ::close(listener_);
  }
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;

  int port() const { return port_; }
  const std::string& ca_file() const { return ca_file_; }
  int handshakes() const { return handshakes_; }

 private:
  template <auto Free>
  struct Freer {
    template <typename T>
    void operator()(T* thing) const {
      Free(thing);
    }
  };

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void make_certificate(const std::string& name) {
    std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
    std::unique_ptr<X509, Freer<X509_free>> certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), subject);
    add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), NID_subject_alt_name, "DNS:" + name);
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    EXPECT_EQ(SSL_CTX_use_certificate(context_.get(), certificate.get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_.get(), key.get()), 1);
    std::FILE* file = std::fopen(ca_file_.c_str(), "w");
    EXPECT_NE(file, nullptr);
    PEM_write_X509(file, certificate.get());
    std::fclose(file);
  }

  static void add_extension(X509* certificate, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    EXPECT_NE(extension, nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  void accept_all() {
    while (!stopping_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client >= 0) connections_.emplace_back([this, client] { relay(client); });
    }
  }

  void relay(int client) {
    std::unique_ptr<SSL, Freer<SSL_free>> ssl(SSL_new(context_.get()));
    SSL_set_fd(ssl.get(), client);
    const int on = 1;  // tokens are small, and due at once
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const int backend = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(backend_);
    if (SSL_accept(ssl.get()) == 1 &&
        ::connect(backend, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      ++handshakes_;
      while (!stopping_ && pass_on(ssl.get(), client, backend)) {
      }
    }
    ::close(backend);
    ::close(client);
  }

  /// False when a side is done.
  static bool pass_on(SSL* ssl, int client, int backend) {
    char bytes[16 << 10];
    pollfd waiting[2] = {{client, POLLIN, 0}, {backend, POLLIN, 0}};
    if (SSL_pending(ssl) == 0 && ::poll(waiting, 2, 20) <= 0) return true;
    if (SSL_pending(ssl) > 0 || waiting[0].revents != 0) {
      const int n = SSL_read(ssl, bytes, sizeof bytes);
      if (n <= 0 || ::send(backend, bytes, static_cast<size_t>(n), MSG_NOSIGNAL) != n) return false;
    }
    if (waiting[1].revents != 0) {
      const ssize_t n = ::recv(backend, bytes, sizeof bytes, 0);
      if (n <= 0 || SSL_write(ssl, bytes, static_cast<int>(n)) != n) return false;
    }
    return true;
  }

  int backend_, listener_ = -1, port_ = 0;
  std::string ca_file_;
  std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>> context_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> handshakes_{0};
  std::thread acceptor_;
  std::vector<std::thread> connections_;
};

}  // namespace headroom::testing_system
