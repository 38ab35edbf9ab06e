//! `offerd console`

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hyper::Method;

use super::client::Client;
use super::{page, values};
use crate::admin::console::sign_in::ConsoleLink;
use crate::config::Settings;

/// `offerd console`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd console                                    where it is, from this machine
  offerd console --at https://offers.example:8082   the same, as it is reached from elsewhere
  xdg-open \"$(offerd console)\"                     open it

The console is part of the admin listener. On loopback it is open; elsewhere one has to sign in, with the link that this
command prints (good for one use, within ten minutes) or with the password of `console.password_file`.")]
pub struct Arguments {
    /// How browsers reach the admin listener, where that is not its own address
    #[arg(long, value_name = "URL", value_parser = values::address)]
    at: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Prints the address.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    // The settings are needed to find the daemon; what is wrong in them is for the daemon to tell.
    let settings = match Settings::inspect(config) {
        (Some(settings), _) => settings,
        (None, faults) => return super::tell(&faults),
    };
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
