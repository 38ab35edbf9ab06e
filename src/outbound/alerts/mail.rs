//! Delivery by mail: SMTP with STARTTLS or TLS, unencrypted only on loopback.

use std::time::Duration;

use lettre::address::Envelope;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use super::message::MessageBatch;
use crate::outbox::secret;
use offerd_base::config::{MailSettings, MailTls};
use offerd_base::regular_file::{self, PEM_BYTES_MAX};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a mail to each recipient separately. It succeeds, with the refusals, if at least one recipient was
/// accepted and all others were refused permanently.
pub(super) async fn send(settings: &MailSettings, batch: &MessageBatch) -> Result<Option<String>, String> {
    let (message, transport) = (message(settings, batch)?, transport(settings)?);
    let (bytes, from) = (message.formatted(), mailbox(&settings.from)?.email);
    let (mut refused, mut failed, mut taken) = (Vec::new(), Vec::new(), false);
    for to in &settings.to {
        let envelope = Envelope::new(Some(from.clone()), vec![mailbox(to)?.email]);
        let envelope = envelope.map_err(|error| format!("cannot make the mail: {error}"))?;
        match tokio::time::timeout(TIMEOUT, transport.send_raw(&envelope, &bytes)).await {
            Ok(Ok(_)) => taken = true,
            Ok(Err(error)) if error.is_permanent() => refused.push(format!("`{to}`: {}", whole(&error))),
            Ok(Err(error)) => failed.push(format!("`{to}`: {}", whole(&error))),
            Err(_) => failed.push(format!("`{to}`: no answer within {} s", TIMEOUT.as_secs())),
        }
    }
    if taken && failed.is_empty() {
        let told = format!("the server refuses {}", refused.join("; "));
        return Ok((!refused.is_empty()).then_some(told));
    }
    refused.extend(failed);
    Err(format!("the server did not accept it for {}", refused.join("; ")))
}

/// The faults of addresses and files, by key. A missing key is reported elsewhere.
pub(super) fn faults(settings: &MailSettings) -> Vec<(&'static str, String)> {
    let from = Some(&settings.from).filter(|from| !from.is_empty());
    let addresses = settings.to.iter().map(|to| ("to", to)).chain(from.map(|from| ("from", from)));
    let wrong = addresses.filter_map(|(key, address)| Some((key, mailbox(address).err()?)));
    wrong.chain(encryption(settings).err().map(|message| ("ca_file", message))).collect()
}

fn message(settings: &MailSettings, batch: &MessageBatch) -> Result<Message, String> {
    let domain = settings.from.rsplit_once('@').map_or("offerd", |(_, domain)| domain.trim_end_matches('>'));
    let begun = Message::builder()
        .from(mailbox(&settings.from)?)
        .message_id(Some(format!("<{}@{domain}>", batch.id())))
        .subject(batch.subject());
    let addressed = settings.to.iter().try_fold(begun, |mail, to| Ok::<_, String>(mail.to(mailbox(to)?)))?;
    addressed.body(batch.text()).map_err(|error| format!("cannot make the mail: {error}"))
}

fn mailbox(address: &str) -> Result<Mailbox, String> {
    address.parse().map_err(|_| format!("must be a mail address, got `{address}`"))
}

fn transport(settings: &MailSettings) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
    let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.server.host)
        .port(settings.server.port)
        .tls(encryption(settings).map_err(|message| format!("`ca_file` {message}"))?)
        .hello_name(ClientId::Domain("offerd".to_owned()))
        .timeout(Some(TIMEOUT));
    let password = secret::read(settings.password.as_ref()).map_err(|fault| format!("`password` {fault}"))?;
    Ok(match (&settings.user, password) {
        (Some(user), Some(password)) => builder.credentials(Credentials::new(user.clone(), password)).build(),
        _ => builder.build(),
    })
}

fn encryption(settings: &MailSettings) -> Result<Tls, String> {
    if settings.tls == MailTls::None {
        return Ok(Tls::None);
    }
    let mut parameters = TlsParameters::builder(settings.server.host.clone());
    if let Some(file) = &settings.ca_file {
        let pem = regular_file::bytes_of(file, PEM_BYTES_MAX)
            .map_err(|error| format!("cannot be read: {error}"))?;
        let root = Certificate::from_pem(&pem).map_err(|_| "must hold a certificate in PEM".to_owned())?;
        parameters = parameters.add_root_certificate(root);
    }
    let parameters = parameters.build().map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(match settings.tls {
        MailTls::Starttls => Tls::Required(parameters),
        MailTls::Tls | MailTls::None => Tls::Wrapper(parameters),
    })
}

fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
