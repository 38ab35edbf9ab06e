//! `offerd check`

use super::command_error::BAD_CONFIGURATION;
use super::doctor::sealed_with;
use super::prelude::*;
use offerd_admin::master_key;
use offerd_admin::tokens::{Holder, ListedToken};
use offerd_insight::nodes;
use offerd_partners::Seat;

/// Checks settings and partner files, and shows every fault of both.
pub async fn run(config: Option<&Path>, json: bool) -> Result<(), CommandError> {
    match checked(config) {
        Ok((mut remarks, loaded)) => {
            let daemon = AdminClient::of_daemon(&loaded.settings).await;
            if let Some(fault) = next_key(&loaded.settings, &daemon).await {
                return refused(vec![fault], json);
            }
            remarks.extend(strangers(&loaded, daemon).await);
            let book = &loaded.book;
            let (partners, seats, offers) = (book.partners().len(), book.seats().len(), book.offers());
            let counts = json!({ "faults": [], "remarks": remarks, "partners": partners, "seats": seats, "offers": offers });
            Ok(page::show(&counts, json, || {
                remarks.iter().for_each(|remark| tell!("offerd: warning: {remark}"));
                page::print(format_args!("settings and partner files are good: {}", extent(book)));
            })?)
        }
        Err(faults) => refused(faults, json),
    }
}

fn refused(faults: Vec<Fault>, json: bool) -> Result<(), CommandError> {
    if !json {
        return Err(CommandError::Faults(faults));
    }
    page::print_json(&json!({ "faults": faults }))?;
    Err(CommandError::Told(ExitCode::from(BAD_CONFIGURATION)))
}

/// Whether the next start would open the store, whose master key may have been rotated. A database is not asked
/// without a daemon.
async fn next_key(settings: &Settings, daemon: &Result<Option<AdminClient>, String>) -> Option<Fault> {
    let of_files =
        || Store::sealed_with(&settings.store.path).filter(|_| settings.store.database().is_none());
    let needed = sealed_with(daemon).await.or_else(of_files)?;
    master_key::fault(&settings.store, &needed).map(|why| settings.fault("store.master_key_file", why))
}

/// Reads and checks everything that a start needs; returns the remarks too.
pub fn checked(config: Option<&Path>) -> Result<(Vec<String>, daemon::Loaded), Vec<Fault>> {
    let sockets = daemon::Sockets::inherit().map_err(|message| vec![Fault::new(None, "", message)]);
    match (daemon::load(config), sockets) {
        (Ok(loaded), Ok(sockets)) => Ok((remarks(&loaded.settings, &loaded.book, &sockets)?, loaded)),
        (loaded, sockets) => {
            Err([loaded.err().unwrap_or_default(), sockets.err().unwrap_or_default()].concat())
        }
    }
}

/// Companies that have branding, postbacks, a ranking or an experiment, but no token. Only a running daemon
/// is asked: a stopped one's store is not opened for this, and the next start warns.
async fn strangers(
    daemon::Loaded { settings, subscriptions, experiments, .. }: &daemon::Loaded,
    daemon: Result<Option<AdminClient>, String>,
) -> Vec<String> {
    let names_companies = settings.ranking.named.values().any(|ranking| !ranking.companies.is_empty());
    if settings.offer_pages.companies.is_empty()
        && subscriptions.all().is_empty()
        && experiments.all().is_empty()
        && !names_companies
    {
        return Vec::new();
    }
    let _waiting = progress::waiting("asking the daemon which companies have a token");
    let tokens = match daemon {
        Ok(None) => return Vec::new(),
        Ok(Some(daemon)) => daemon.ask::<Vec<ListedToken>>(Method::GET, "/tokens").await,
        Err(why) => Err(why),
    };
    let tokens = match tokens {
        Ok(tokens) => tokens,
        Err(why) => return vec![format!("cannot check that the named companies have tokens: {why}")],
    };
    let companies = tokens.into_iter().filter_map(|token| match token.holder {
        Holder::Company(name) => Some(name),
        Holder::Partner(_) => None,
    });
    daemon::without_token(settings, subscriptions, experiments, &companies.collect())
}

/// Size of the partner files.
pub fn extent(book: &Book) -> String {
    let counts = [
        (book.partners().len(), "partner"),
        (book.seats().len(), "partner product"),
        (book.offers(), "offer"),
    ];
    counts.map(|(count, what)| page::counted(count, what)).join(", ")
}

/// Remarks: not faults, but perhaps not intended.
fn remarks(settings: &Settings, book: &Book, sockets: &daemon::Sockets) -> Result<Vec<String>, Vec<Fault>> {
    if settings.store.database().is_none()
        && let Some(error) = Store::format_fault(&settings.store.path)
    {
        return Err(vec![settings.fault("store.path", error.to_string())]);
    }
    let mut remarks = Vec::new();
    remarks.extend(book.without_seats().map(str::to_owned));
    remarks.extend(nodes::remark(settings));
    // Faults of a readable key file are reported as faults.
    remarks.extend(daemon::master_key_fault(settings).map(|fault| fault.message));
    let longest = settings.matching.deadline - settings.matching.margin();
    remarks.extend(book.remarks.iter().map(ToString::to_string));
    let of_seat = |seat: &Seat, line: Option<usize>, key: &str, message: String| {
        let file = Some(settings.partners.path.join(format!("{}.toml", seat.identity.key)));
        Fault { file, line, key: format!("products.{}.{key}", seat.product_type), message }.to_string()
    };
    remarks.extend(book.seats().iter().filter(|seat| seat.timeout > longest).map(|seat| {
        let (key, timeout) = (&seat.identity.key, seat.timeout);
        let message = format!(
            "is {timeout:?}, and `{key}` is waited for {longest:?} at most (`matching.deadline` less `matching.response_margin`): lower it, or raise `matching.deadline`"
        );
        of_seat(seat, seat.timeout_line, "timeout", message)
    }));
    let now = Utc::now();
    remarks.extend(book.seats().iter().filter(|seat| seat.limits.is_over(now)).map(|seat| {
        let key = &seat.identity.key;
        let message = format!("has passed: `{key}` is never asked again; set a later day, or leave it out");
        of_seat(seat, None, "limits.ends_on", message)
    }));
    remarks.extend(sockets.against(settings).map(|(listener, address, setting)| {
        format!("the service manager's socket {address} overrides `{listener}.listen` ({setting})")
    }));
    Ok(remarks)
}
