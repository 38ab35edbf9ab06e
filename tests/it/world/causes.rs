//! Failures that many programs put into one sentence, each with its own cause and remedy.

use std::process::Output;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::kit::far_partners::explained;
use crate::kit::partners::{PartnerFile, far_lender};
use crate::kit::{Daemon, sample};

/// An address of a database, where it was seen, and what `check` says of it.
const ADDRESSES: [(&str, &str, &str); 8] = [
    (
        "sslmode=verify-full",
        "what every cloud's console offers to copy",
        "write `require`, which checks the certificate",
    ),
    (
        "sslmode=verify-ca",
        "older chapters of the same consoles",
        "write `require`, which checks the certificate",
    ),
    ("sslmode=on", "a guess", "`disable`, `prefer` or `require`"),
    ("sslrootcert=/etc/ca.pem", "psql's option", "name the file in `store.postgres.ca_file`"),
    ("sslkey=/etc/key.pem", "psql's option", "no client certificate"),
    ("pgbouncer=true", "an ORM's option for poolers", "pool_mode = session"),
    ("schema=offers", "an ORM's option", "search_path"),
    ("connect_timeout=soon", "a guess", "`connect_timeout` that cannot be read"),
];

fn check(url: &str) -> String {
    let plan = Daemon::with_sample_partners()
        .in_files()
        .setting("store.engine", "postgres")
        .setting("store.postgres.url", url);
    let output = plan.command(&["check"]).output().unwrap();
    assert!(!output.status.success(), "{url} passes");
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("s3cret"), "{said}");
    said
}

#[test]
fn an_address_of_a_database_says_what_of_it_is_not_read() {
    for (option, seen, wanted) in ADDRESSES {
        let said = check(&format!("postgres://offerd:s3cret@db.example/offerd?{option}"));
        assert!(said.contains(wanted) && !said.contains("%25"), "{option} ({seen}): {said}");
    }
    // What is not known may be a part of the password, and is not shown.
    let said = check("postgres://offerd@db.example/offerd?s3cret=1");
    assert!(said.contains("must be an address such as `postgres://"), "{said}");
}

/// A server that shows an authority's certificate as its own, as `openssl req -x509` makes one; and that certificate.
fn authority_as_server() -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate.pem())
}

/// Alerts of TLS with which servers end a handshake, and what is said of each.
const ALERTS: [(&str, u8, &str, &str); 3] = [
    ("appliances that stay at TLS 1.0", 70, "speaks neither TLS 1.2 nor 1.3", "to allow TLS 1.2 or 1.3"),
    ("a server of DHE, CBC or P-521 alone", 40, "ended the TLS handshake", "not DHE, CBC or P-521 alone"),
    (
        "the same, of servers that say more",
        71,
        "no cipher, key exchange or signature in common",
        "to allow ECDHE",
    ),
];

/// A port at which this becomes of every connection.
async fn serve<F: Future<Output = ()> + Send + 'static>(
    then: impl Fn(TcpStream) -> F + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(then(stream));
        }
    });
    port
}

async fn alerting(alert: u8) -> u16 {
    serve(move |mut stream| async move {
        let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).await;
        // Read to the end, so that the alert is not lost with the connection.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    })
    .await
}

fn words(output: &Output) -> String {
    let said = String::from_utf8([output.stdout.as_slice(), output.stderr.as_slice()].concat()).unwrap();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A lender behind TLS that trusts the authorities of a file.
fn lender(key: &str, port: u16, authorities: &str) -> PartnerFile {
    far_lender(key, &format!("https://localhost:{port}/"), "").replaced(
        "allow_addresses = [\"127.0.0.1\"]",
        &format!("allow_addresses = [\"localhost\"], authorities = \"{authorities}\""),
    )
}

#[tokio::test]
async fn a_fault_of_tls_has_the_same_cause_and_advice_wherever_it_is_shown() {
    let (acceptor, certificate) = authority_as_server();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate).unwrap();
    let authorities = file.path().to_str().unwrap();
    let shown = serve(move |stream| {
        let acceptor = acceptor.clone();
        async move { drop(acceptor.accept(stream).await) }
    });
    let mut partners = vec![lender("authority", shown.await, authorities)];
    let mut wanted = vec![("authority", "(CA:TRUE)", "a certificate of its own (CA:FALSE)")];
    for (seen, alert, cause, advice) in ALERTS {
        partners.push(lender(&format!("alert_{alert}"), alerting(alert).await, authorities));
        wanted.push((seen, cause, advice));
    }
    let keys: Vec<String> = ["authority".to_owned()]
        .into_iter()
        .chain(ALERTS.map(|alert| format!("alert_{}", alert.1)))
        .collect();
    let daemon = Daemon::with_partners(partners.clone()).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let explained = explained(&daemon, &table).split_whitespace().collect::<Vec<_>>().join(" ");
    let (doctor, tried) = tokio::task::spawn_blocking(move || {
        let plan = Daemon::with_partners(partners);
        let lead = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(lead.path(), sample("personal_loan")).unwrap();
        let tried = |key: &String| {
            let arguments = ["partners", "try", key, lead.path().to_str().unwrap(), "--send"];
            words(&plan.command(&arguments).output().unwrap())
        };
        (words(&plan.command(&["doctor"]).output().unwrap()), keys.iter().map(tried).collect::<Vec<_>>())
    })
    .await
    .unwrap();
    for ((seen, cause, advice), tried) in wanted.into_iter().zip(&tried) {
        for said in [&explained, &doctor, tried] {
            assert!(said.contains(cause) && said.contains(advice), "{seen}: {cause}: {said}");
        }
    }
}
