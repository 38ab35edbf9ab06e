//! `offerd console`

use std::path::Path;

use clap::Args;
use hyper::Method;

use super::admin_client::AdminClient;
use super::trouble::Trouble;
use super::{page, values};
use crate::admin::console::links::ConsoleLink;
use crate::admin::console::secret::NewSecret;
use crate::config::Settings;

/// `offerd console`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd console                                    where it is, from this machine
  offerd console --at https://offers.example:8082   the same, as it is reached from elsewhere
  offerd console --new-secret                       another secret, when the one of the first start was lost
  xdg-open \"$(offerd console)\"                     open it

The console is part of the admin listener. One has to sign in: as a user with a password (`offerd user add`), with the link that
this command prints (good for one use, within ten minutes, as an administrator), with the secret that the first start has printed,
or with the password of `console.password_file`. Only the user that the daemon runs as, and root, can make links and secrets.")]
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
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    let settings = super::settings_to_find_the_daemon(config)?;
    if arguments.new_secret {
        return new_secret(&settings, arguments.json).await;
    }
    let link = link(&settings, arguments).await?;
    if arguments.json {
        return Ok(page::print_json(&link)?);
    }
    if let Some(seconds) = link.expires_in_s {
        tell!("signs in once, within {} minutes:", seconds / 60);
    }
    page::print(link.url);
    Ok(())
}

/// Makes a new secret, and prints it: alone on standard output, unless JSON is asked for.
async fn new_secret(settings: &Settings, json: bool) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let made: NewSecret = admin.ask(Method::POST, "/console/secret").await?;
    admin.close()?;
    if json {
        return Ok(page::print_json(&made)?);
    }
    page::print(&made.secret);
    tell!("the console takes this secret from now on; it is shown only now");
    Ok(())
}

async fn link(settings: &Settings, arguments: &Arguments) -> Result<ConsoleLink, String> {
    let Some(daemon) = AdminClient::of_daemon(settings).await? else {
        let store = settings.store.path.display();
        return Err(format!("no daemon is running on the store `{store}`; start one with `offerd serve`"));
    };
    let link: ConsoleLink = daemon.ask(Method::POST, "/console/links").await?;
    Ok(link.reached_at(&daemon.url(""), arguments.at.as_deref()))
}
