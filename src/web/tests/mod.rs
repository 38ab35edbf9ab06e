//! Real listeners, real sockets. No test sleeps and none asserts how long a thing takes.

mod answers;
mod bodies;
mod connections;
mod http2;
mod kit;
mod limits;
mod tls;
