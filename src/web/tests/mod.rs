//! Tests on real listeners and sockets. No test sleeps, and none asserts how long something takes.

mod answers;
mod bodies;
mod connections;
mod http2;
mod kit;
mod limits;
mod tls;
