//! `offerd console`

use super::prelude::*;
use offerd_admin::console::links::ConsoleLink;
use offerd_admin::console::secret::NewSecret;

/// `offerd console`.
#[derive(Debug, Args)]
pub struct ConsoleArguments {
    /// URL at which browsers reach the admin listener, if it is not the listener's own address
    #[arg(long, value_name = "URL", value_parser = values::address)]
    at: Option<String>,
    /// Create a new secret and print it, alone, on standard output; revokes the old one and ends all
    /// sessions. Also works on a stopped daemon's store
    #[arg(long, conflicts_with = "at")]
    new_secret: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the address, or a new secret.
pub async fn run(config: Option<&Path>, arguments: &ConsoleArguments) -> Result<(), CommandError> {
    page::can_print()?;
    let settings = super::settings_to_find_the_daemon(config)?;
    if arguments.new_secret {
        return new_secret(&settings, arguments.json).await;
    }
    let link = link(&settings, arguments).await?;
    Ok(page::show(&link, arguments.json, || {
        if let Some(seconds) = link.expires_in_s {
            tell!("signs you in once, within {} minutes:", seconds / 60);
        }
        page::print(&link.url);
    })?)
}

/// Creates a new secret and prints it: alone on standard output, unless JSON is requested.
async fn new_secret(settings: &Settings, json: bool) -> Result<(), CommandError> {
    let made: NewSecret = AdminClient::find(settings).await?.ask(Method::POST, "/console/secret").await?;
    Ok(page::show(&made, json, || {
        page::print(&made.secret);
        tell!("new secret of the console; it is shown only once");
    })?)
}

async fn link(settings: &Settings, arguments: &ConsoleArguments) -> Result<ConsoleLink, String> {
    let Some(daemon) = AdminClient::of_daemon(settings).await? else {
        let store = settings.store.path.display();
        return Err(format!("no daemon is running on the store `{store}`; start one with `offerd serve`"));
    };
    let link: ConsoleLink = daemon.ask(Method::POST, "/console/links").await?;
    Ok(link.reached_at(&daemon.url(""), arguments.at.as_deref()))
}
