//! A line to a database that can be cut, as a network or a process that hangs cuts it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A line to the database.
pub struct Line {
    /// The address of the database by this line.
    pub url: String,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    /// A line to the database at an address, which names its port.
    pub fn to(url: &str) -> Self {
        let config: tokio_postgres::Config = url.parse().unwrap();
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().port();
        let (is_cut, open) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (cut, streams) = (Arc::clone(&is_cut), Arc::clone(&open));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
                streams.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    thread::spawn(move || {
                        let mut bytes = [0; 8192];
                        while let Ok(read @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..read]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { url: url.replacen(&format!(":{port}"), &format!(":{here}"), 1), is_cut, open }
    }

    /// Cuts it, or has it carry again what comes from now on; either way what is open ends.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
