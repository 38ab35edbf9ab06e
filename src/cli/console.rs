//! `offerd console`

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hyper::Method;

use super::client::Client;
use super::operator::operator;
use super::{page, values};
use crate::admin::audit::audit_by;
use crate::admin::console::secret::{self, NewSecret};
use crate::admin::console::sign_in::ConsoleLink;
use crate::config::Settings;

/// `offerd console`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd console                                    where it is, from this machine
  offerd console --at https://offers.example:8082   the same, as it is reached from elsewhere
  offerd console --new-secret                       another secret, when the one of the first start was lost
  xdg-open \"$(offerd console)\"                     open it

The console is part of the admin listener. One has to sign in: with the link that this command prints (good for one use,
within ten minutes), with the secret that the first start has printed, or with the password of `console.password_file`. Only
the user that the daemon runs as, and root, can make links and secrets.")]
pub struct Arguments {
    /// How browsers reach the admin listener, where that is not its own address
    #[arg(long, value_name = "URL", value_parser = values::address)]
    at: Option<String>,
    /// Make a new secret and print it, alone, on standard output; the old one and all that was signed in with end. Also for
    /// a stopped daemon's store
    #[arg(long, conflicts_with = "at")]
    new_secret: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Prints the address, or a new secret.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    // The settings are needed to find the daemon; what is wrong in them is for the daemon to tell.
    let settings = match Settings::inspect(config) {
        (Some(settings), _) => settings,
        (None, faults) => return super::tell(&faults),
    };
    if arguments.new_secret {
        return match super::block_on(new_secret(&settings)) {
            Ok(made) => tell(&made, arguments.json),
            Err(message) => super::fail(message),
        };
    }
    match super::block_on(link(&settings, arguments)) {
        Ok(link) if arguments.json => match serde_json::to_string_pretty(&link) {
            Ok(json) => page::print(json),
            Err(error) => return super::fail(error),
        },
        Ok(link) => {
            if let Some(seconds) = link.expires_in_s {
                eprintln!("signs in once, within {} minutes:", seconds / 60);
            }
            page::print(link.url);
        }
        Err(message) => return super::fail(message),
    }
    ExitCode::SUCCESS
}

/// Makes a new secret, of the running daemon or of a stopped one's store.
async fn new_secret(settings: &Settings) -> Result<NewSecret, String> {
    if let Some((client, admin)) = Client::of_daemon(settings).await? {
        let answer = client.call(Method::POST, &format!("{admin}/console/secret"), None).await;
        return answer.map_err(|error| error.to_string())?.read();
    }
    let store = &settings.store.path;
    if !super::is_there(store)? {
        let store = super::whole(store);
        return Err(format!(
            "there is no store at `store.path` ({}); a first `offerd serve` makes it",
            store.display()
        ));
    }
    let made = secret::make(store).map_err(|error| {
        format!(
            "the secret's digest could not be written into `{}`: {error}; {}",
            store.display(),
            super::PERMIT
        )
    })?;
    super::log_as_the_daemon_does(settings);
    audit_by!(operator(), "console.secret", "the console's secret was replaced");
    Ok(made)
}

/// Tells the secret that was made: it alone on standard output, unless all is wanted as JSON.
fn tell(made: &NewSecret, json: bool) -> ExitCode {
    if json {
        return match serde_json::to_string_pretty(made) {
            Ok(json) => {
                page::print(json);
                ExitCode::SUCCESS
            }
            Err(error) => super::fail(error),
        };
    }
    page::print(&made.secret);
    eprintln!("the console takes this secret from now on; it is shown only now");
    ExitCode::SUCCESS
}

async fn link(settings: &Settings, arguments: &Arguments) -> Result<ConsoleLink, String> {
    let Some((client, admin)) = Client::of_daemon(settings).await? else {
        let store = settings.store.path.display();
        return Err(format!("no daemon is running on the store `{store}`; start one with `offerd serve`"));
    };
    let answer = client.call(Method::POST, &format!("{admin}/console/links"), None).await;
    let link: ConsoleLink = answer.map_err(|error| error.to_string())?.read()?;
    let url = match &arguments.at {
        Some(at) => link.url.replacen(&admin, at, 1),
        None => link.url,
    };
    Ok(ConsoleLink { url, ..link })
}
