//! A mail server that takes whatever it is given, in the clear or with TLS, and shows what it was told in which.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// How it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// In the clear, and nothing else.
    Clear,
    /// In the clear, then with TLS.
    Starttls,
    /// With TLS from the beginning.
    Tls,
}

/// A running mail server.
pub struct MailServer {
    /// Host and port.
    pub address: String,
    /// What it shows who it is with, in PEM: nobody else vouches for it.
    pub certificate: String,
    heard: Heard,
}

/// What it was told.
#[derive(Debug, Clone, Default)]
struct Heard {
    /// Each mail with its envelope.
    mails: Arc<Mutex<Vec<String>>>,
    /// Lines that anybody on the way could read.
    in_the_clear: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    pub async fn start(speaks: Speaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let pair = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&pair).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(pair.serialize_der().into()),
            );
        let (acceptor, heard) = (TlsAcceptor::from(Arc::new(config.unwrap())), Heard::default());
        let of_all = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, heard) = (acceptor.clone(), of_all.clone());
                tokio::spawn(async move { serve(stream, speaks, &acceptor, &heard).await });
            }
        });
        Self { address, certificate: certificate.pem(), heard }
    }

    /// The mails with their envelopes.
    pub fn mails(&self) -> Vec<String> {
        self.heard.mails.lock().unwrap().clone()
    }

    /// The lines that were sent in the clear.
    pub fn in_the_clear(&self) -> Vec<String> {
        self.heard.in_the_clear.lock().unwrap().clone()
    }

    /// Waits for so many mails.
    pub async fn until(&self, count: usize) {
        let waiting = async {
            while self.mails().len() < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(super::PATIENCE, waiting).await.expect("a mail is sent");
    }
}

async fn serve(mut stream: TcpStream, speaks: Speaks, acceptor: &TlsAcceptor, heard: &Heard) -> Option<()> {
    const GREETING: &[u8] = b"220 mail.example\r\n";
    if speaks == Speaks::Tls {
        let mut stream = acceptor.accept(stream).await.ok()?;
        stream.write_all(GREETING).await.ok()?;
        return talk(stream, false, false, heard).await.map(drop);
    }
    stream.write_all(GREETING).await.ok()?;
    let stream = talk(stream, true, speaks == Speaks::Starttls, heard).await?;
    talk(acceptor.accept(stream).await.ok()?, false, false, heard).await.map(drop)
}

/// Talks until the other side goes, or wants TLS: then the connection is handed back.
async fn talk<S>(stream: S, is_clear: bool, offers_tls: bool, heard: &Heard) -> Option<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    let (mut mail, mut is_data) = (String::new(), false);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        mail.push_str(&line);
        let line = line.trim_end();
        if is_clear {
            heard.in_the_clear.lock().unwrap().push(line.to_owned());
        }
        let answer: &[u8] = match line {
            "." if is_data => {
                is_data = false;
                heard.mails.lock().unwrap().push(std::mem::take(&mut mail));
                b"250 taken\r\n"
            }
            _ if is_data => continue,
            "STARTTLS" if offers_tls => {
                stream.write_all(b"220 go on\r\n").await.ok()?;
                return Some(stream.into_inner());
            }
            "DATA" => {
                is_data = true;
                b"354 go on\r\n"
            }
            "RCPT TO:<gone@example.com>" => b"550 nobody here\r\n",
            "QUIT" => b"221 bye\r\n",
            line if line.starts_with("EHLO") && offers_tls => b"250-mail.example\r\n250 STARTTLS\r\n",
            line if line.starts_with("EHLO") => b"250-mail.example\r\n250 AUTH PLAIN\r\n",
            line if line.starts_with("AUTH") => b"235 welcome\r\n",
            _ => b"250 fine\r\n",
        };
        stream.write_all(answer).await.ok()?;
    }
}
