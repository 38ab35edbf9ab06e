mod answers;
mod breaker;
mod deadlines;
mod http2;
mod kit;
mod lanes;
mod retries;
mod tls;
