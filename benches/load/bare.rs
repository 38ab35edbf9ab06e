//! The baseline: a bare warp server, in a process of its own, which is this binary again.
//!
//! It is served like the daemon: by hyper over a listener with `TCP_NODELAY`, with as many threads and the
//! same allocator. It parses a body as JSON, has one answer, and answers 304 if the client holds it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use hyper::server::conn::http1;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use warp::Filter;

use crate::kit::Answer;

/// The argument that runs this binary as the bare server.
pub const BARE: &str = "--bare-server";

/// A running bare server.
pub struct Bare {
    child: Child,
    pub address: SocketAddr,
}

impl Bare {
    /// Starts a server with this answer.
    pub fn answering(answer: &Answer) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this binary has a path"));
        let command = command.arg(BARE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this binary runs");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let tag = answer.header("etag").unwrap_or("\"1\"");
        stdin.write_all(format!("{tag}\n").as_bytes()).expect("it reads");
        stdin.write_all(&answer.body).expect("it reads");
        drop(stdin);
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
        stdout.read_line(&mut address).expect("it tells its address");
        Self { child, address: address.trim().parse().expect("an address") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The main function of that process.
pub fn serve() {
    let mut stdin = BufReader::new(std::io::stdin());
    let mut tag = String::new();
    stdin.read_line(&mut tag).expect("a tag");
    let tag = tag.trim().to_owned();
    let mut body = Vec::new();
    stdin.read_to_end(&mut body).expect("a body");
    let body = Bytes::from(body);

    let answer = move |held: Option<String>| {
        let response = Response::builder()
            .header(CONTENT_TYPE, "application/json")
            .header(CACHE_CONTROL, "private, no-cache")
            .header(ETAG, &tag);
        let unchanged = held.as_ref() == Some(&tag);
        let (status, body) =
            if unchanged { (StatusCode::NOT_MODIFIED, Bytes::new()) } else { (StatusCode::OK, body.clone()) };
        response.status(status).body(body).expect("a response")
    };
    let posted = answer.clone();
    let submit =
        warp::path!("leads" / "rateTables").or(warp::path!("blocking" / "leads" / "rateTables")).unify();
    let submit =
        submit.and(warp::post()).and(warp::body::json()).map(move |_: serde_json::Value| posted(None));
    let poll = warp::path!("originator" / "rateTables" / String).map(drop).untuple_one();
    let read = poll.or(warp::path!("supplyAnalytics" / "leadEvents")).unify();
    let read = read.and(warp::get()).and(warp::header::optional("if-none-match")).map(answer);
    let service = TowerToHyperService::new(warp::service(submit.or(read)));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("a TCP socket");
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
            tokio::spawn(connection);
        }
    });
}
