mod answers;
mod breaker;
mod deadlines;
mod endpoints;
mod http2;
mod kit;
mod retries;
mod tls;
