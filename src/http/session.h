// Session: one connection of the server, on one I/O thread. Internal to the folder.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <unordered_set>

#include "http/server.h"

namespace headroom::http {

using Socket = boost::asio::generic::stream_protocol::socket;

class Session;

/// One I/O thread's world. Sessions hold it, so it outlives the last of them; it holds the open
/// ones, so that a session dies only after it was closed on this thread.
struct IoContext {
  boost::asio::io_context io{1};
  std::unordered_set<std::shared_ptr<Session>> sessions;  // open ones; on its thread only
  bool closing = false;                                   // no further request on any connection
};

/// What all sessions share.
struct Shared {
  ServerOptions options;
  Router router;
  std::atomic<int> connections{0};
};

/// Starts serving `socket`; on context's thread. The session keeps itself alive while something is
/// outstanding.
void start_session(Socket socket, std::string peer, std::shared_ptr<IoContext> context,
                   std::shared_ptr<Shared> shared);

/// On the context's thread: closes idle sessions, or with `now` every one.
void close_sessions(IoContext& context, bool now);

}  // namespace headroom::http
