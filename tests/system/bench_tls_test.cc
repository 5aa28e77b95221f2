// `headroom bench` against an https server: trust by a CA file, by nothing, and none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench_process.h"
#include "tls_relay.h"

namespace headroom::load {
namespace {

using testing::HasSubstr;

struct HttpsServer {
  std::unique_ptr<MockServer> backend = mock("ttft=20,interval=5");
  std::unique_ptr<testing_system::TlsRelay> relay;
  explicit HttpsServer(const std::string& name) {
    ::signal(SIGPIPE, SIG_IGN);  // a client that leaves in the middle of a handshake
    relay = std::make_unique<testing_system::TlsRelay>(
        backend->port(), name,
        std::filesystem::path(testing::TempDir()) / fmt::format("ca_{}_{}.pem", name, ::getpid()));
  }
  Finished bench(std::vector<std::string> arguments) const {
    const std::string url = fmt::format("https://localhost:{}", relay->port());
    arguments.insert(arguments.end(), {"--url", url, "--model", "mock", "--requests", "8",
                                       "--concurrency", "2", "--output", "5", "--quiet"});
    return BenchProcess(std::move(arguments)).finish();
  }
};

TEST(BenchTls, a_ca_file_makes_the_server_trusted) {
  const HttpsServer server("localhost");
  const std::string db = database("tls");
  const Finished run = server.bench({"--ca-file", server.relay->ca_file(), "--db", db});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto records = stored(db);
  ASSERT_EQ(records.size(), 1u);
  const results::Measures& m = records[0].record.measures;
  EXPECT_EQ(m.requests_ok, 8);
  EXPECT_EQ(m.server_output_tokens, 40);
  ASSERT_TRUE(m.whole.ttft && m.whole.tpot);
  EXPECT_GE(m.whole.ttft->min(), 19'000'000);
  EXPECT_LT(m.whole.ttft->percentile(50), 200'000'000) << "a handshake is in the TTFT";
  EXPECT_GE(m.whole.tpot->percentile(50), 4'500'000);
  EXPECT_THAT(records[0].record.replay, HasSubstr("--ca-file " + server.relay->ca_file()));
}

TEST(BenchTls, an_unknown_authority_is_refused_and_insecure_takes_it) {
  const HttpsServer server("localhost");
  const Finished refused = server.bench({});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("the certificate is not trusted"));
  EXPECT_EQ(server.backend->truths().size(), 0u);
  EXPECT_EQ(server.bench({"--insecure"}).status, 0);
  EXPECT_GT(server.backend->truths().size(), 8u);
}

TEST(BenchTls, a_certificate_of_another_name_is_refused) {
  const HttpsServer server("elsewhere.example");
  const Finished refused = server.bench({"--ca-file", server.relay->ca_file()});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("hostname mismatch"));
}

TEST(BenchTls, a_bad_ca_file_is_named) {
  const HttpsServer server("localhost");
  const Finished refused = server.bench({"--ca-file", "/nowhere.pem"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere.pem"));
}

}  // namespace
}  // namespace headroom::load
