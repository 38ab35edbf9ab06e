//! Processes beside the daemon, each of which is this binary again: the partners, and the bare fan-out.

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpListener;

/// The arguments that run this binary as partners, with their number, and as the bare server, with their URLs.
const PARTNERS: &str = "--partners";
const BARE: &str = "--bare-fan-out";

/// A running process, killed on drop.
pub struct Far {
    child: Child,
    /// The addresses of its listeners.
    pub addresses: Vec<SocketAddr>,
}

impl Far {
    /// Starts that many partners.
    pub fn partners(count: usize) -> Self {
        Self::start(PARTNERS, count.to_string())
    }

    /// Starts a server that calls these partners at `path` for each lead.
    pub fn bare(partners: &[SocketAddr], path: &str) -> Self {
        Self::start(
            BARE,
            partners.iter().map(|at| format!("http://{at}{path}")).collect::<Vec<_>>().join(","),
        )
    }

    fn start(role: &str, argument: String) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this binary has a path"));
        let mut child =
            command.args([role, &argument]).stdout(Stdio::piped()).spawn().expect("this binary runs");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
        stdout.read_line(&mut line).expect("it prints its addresses");
        let addresses = line.split_whitespace().map(|address| address.parse().expect("an address"));
        Self { child, addresses: addresses.collect() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The main function of such a process; false if this is none.
pub fn run() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, role, argument] = &*arguments else { return false };
    match role.as_str() {
        PARTNERS => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let count = argument.parse().expect("a number");
            runtime.expect("a runtime").block_on(serve(count, answer));
        }
        BARE => {
            let partners: Arc<[String]> = argument.split(',').map(str::to_owned).collect();
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            let client = Client::builder(TokioExecutor::new()).build(connector);
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let fan_out = move |request| fan_out(client.clone(), Arc::clone(&partners), request);
            runtime.expect("a runtime").block_on(serve(1, fan_out));
        }
        _ => return false,
    }
    true
}

/// Serves on that many ports, whose addresses it prints, until the process ends.
async fn serve<F, A>(listeners: usize, answer: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let bound = join_all((0..listeners).map(|_| TcpListener::bind("127.0.0.1:0"))).await;
    let bound: Vec<_> = bound.into_iter().map(|listener| listener.expect("a port")).collect();
    let addresses = bound.iter().map(|listener| listener.local_addr().expect("an address").to_string());
    println!("{}", addresses.collect::<Vec<_>>().join(" "));
    join_all(bound.into_iter().map(async |listener| {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("a TCP socket");
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, Infallible>(answered.await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    }))
    .await;
}

/// The path at which a partner waits so long and has that many offers.
pub fn path(latency: Duration, offers: usize) -> String {
    format!("/{}/{offers}", latency.as_millis())
}

/// A partner's answer.
async fn answer(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let (latency, offers) = path[1..].split_once('/').expect("a latency and a number of offers");
    let latency = Duration::from_millis(latency.parse().expect("milliseconds"));
    request.into_body().collect().await.expect("a whole request");
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let offer = |nth: usize| {
        let key = if nth == 0 { "far".to_owned() } else { format!("far{nth}") };
        json!({"key": key, "term": 36, "apr": 9.5 + nth as f64})
    };
    let offers: Vec<_> = (0..offers.parse().expect("a number")).map(offer).collect();
    response(Bytes::from(json!({ "offers": offers }).to_string()))
}

/// Calls all partners, and answers with the last answer once all have answered.
async fn fan_out(
    client: Client<HttpConnector, Full<Bytes>>,
    partners: Arc<[String]>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let lead = request.into_body().collect().await.expect("a whole request").to_bytes();
    let asked = lead.slice(..lead.len().min(200));
    let answers = join_all(partners.iter().map(async |partner| {
        let request = Request::post(partner)
            .header("content-type", "application/json")
            .body(Full::new(asked.clone()))
            .expect("a request");
        let answer = client.request(request).await.expect("a response");
        answer.into_body().collect().await.expect("a body").to_bytes()
    }))
    .await;
    response(answers.last().cloned().unwrap_or_default())
}

fn response(body: Bytes) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "application/json").body(Full::new(body)).expect("a response")
}
