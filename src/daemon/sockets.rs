//! Sockets that the service manager holds open across a restart. Each has the name of a listener
//! (`FileDescriptorName=` of its unit) and takes precedence over that listener's address in the settings.

use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;

use offerd_base::config::Settings;

/// The listeners, by the names of their sockets.
const LISTENERS: [&str; 3] = ["api", "integrations", "admin"];

/// Listening sockets, each for one listener.
#[derive(Debug, Default)]
pub struct Sockets(Vec<(String, TcpListener)>);

impl Sockets {
    /// Takes the sockets passed to this process, once and before other threads: it clears variables.
    pub fn inherit() -> Result<Self, String> {
        let named = sd_notify::listen_fds_with_names()
            .map_err(|error| format!("cannot use the service manager's sockets: {error}"))?;
        let names: Vec<String> = named.map(|(_, name)| name).collect();
        if names.is_empty() {
            return Ok(Self::default());
        }
        let mut given = ListenFd::from_env();
        let sockets = names.into_iter().enumerate().map(|(position, name)| {
            let taken = given.take_tcp_listener(position);
            let taken = taken.map_err(|error| format!("the service manager's socket `{name}`: {error}"))?;
            let socket = taken.ok_or_else(|| format!("the service manager's socket `{name}` is gone"))?;
            listening(&name, &socket)?;
            Ok((name, socket))
        });
        let sockets: Vec<_> = sockets.collect::<Result<_, String>>()?;
        fitting(sockets.iter().map(|(name, _)| name.as_str()))?;
        Ok(Self(sockets))
    }

    /// The socket for a listener, if one was passed.
    pub fn take(&mut self, listener: &str) -> Option<TcpListener> {
        let position = self.0.iter().position(|(name, _)| name == listener)?;
        Some(self.0.swap_remove(position).1)
    }

    /// The listeners with a socket, its address, and the address in the settings that it overrides.
    pub fn against(&self, settings: &Settings) -> impl Iterator<Item = (&str, SocketAddr, SocketAddr)> {
        let set = [settings.api.listen, settings.integrations.listen, settings.admin.listen];
        self.0.iter().filter_map(move |(name, socket)| {
            let set = set[LISTENERS.iter().position(|listener| listener == name)?];
            Some((name.as_str(), socket.local_addr().ok()?, set))
        })
    }
}

/// A connection is a socket too (`Accept=yes`), but cannot accept others.
fn listening(name: &str, socket: &TcpListener) -> Result<(), String> {
    match rustix::net::sockopt::socket_acceptconn(socket) {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("the service manager's socket `{name}` does not listen; its unit needs `Accept=no`"))
        }
        Err(error) => Err(format!("the service manager's socket `{name}`: {error}")),
    }
}

fn fitting<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = Vec::new();
    for name in names {
        if !LISTENERS.contains(&name) {
            return Err(format!(
                "the service manager passed a socket named `{name}`; set `FileDescriptorName=` of its unit to one of {}",
                LISTENERS.map(|name| format!("`{name}`")).join(", ")
            ));
        }
        if seen.contains(&name) {
            return Err(format!(
                "the service manager passed two sockets named `{name}`; a listener takes one"
            ));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_listener_has_one_socket_of_its_name() {
        assert_eq!(fitting(["admin", "api"].into_iter()), Ok(()));
        let unknown = fitting(["api", "offerd.socket"].into_iter()).unwrap_err();
        assert!(
            unknown.contains(
                "named `offerd.socket`; set `FileDescriptorName=` of its unit to one of `api`, \
                `integrations`, `admin`"
            ),
            "{unknown}"
        );
        let twice = fitting(["api", "api"].into_iter()).unwrap_err();
        assert!(twice.contains("two sockets named `api`"), "{twice}");
    }

    #[test]
    fn a_socket_is_held_against_the_setting_that_it_goes_before() {
        let settings = Settings::from_layers(None, []).unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mut sockets = Sockets(vec![("admin".to_owned(), socket)]);
        let told: Vec<_> = sockets.against(&settings).collect();
        assert_eq!(told, [("admin", address, settings.admin.listen)]);
        assert!(sockets.take("api").is_none());
        assert_eq!(sockets.take("admin").unwrap().local_addr().unwrap(), address);
        assert!(sockets.take("admin").is_none());
    }
}
