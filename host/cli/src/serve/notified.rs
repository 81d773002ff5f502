//! Tells the service manager that started this process how it is, as sd_notify(3) says: a datagram to the
//! socket that `NOTIFY_SOCKET` names. Without one nothing is told.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

const SOCKET: &str = "NOTIFY_SOCKET";

/// Tells a state, as `READY=1`.
pub(super) fn tell(state: &str) {
    let Some(socket) = std::env::var_os(SOCKET).filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = tell_at(&socket, state) {
        tracing::warn!(target: "leafgate::service", "the service manager cannot be told {state}: {error}");
    }
}

fn tell_at(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address(socket)?).map(drop)
}

/// Returns the address: a path, or on Linux a name that stands in no file system, behind `@`.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(OsStr::from_bytes(socket.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(to: &UnixDatagram, socket: &OsStr) -> String {
        tell_at(socket, "READY=1").unwrap();
        let mut state = [0; 64];
        let length = to.recv(&mut state).unwrap();
        String::from_utf8(state[..length].to_vec()).unwrap()
    }

    #[test]
    fn the_service_manager_is_told_at_a_path_or_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        assert_eq!(told(&UnixDatagram::bind(&path).unwrap(), path.as_os_str()), "READY=1");
        tell_at(OsStr::new("/nowhere/notify"), "READY=1").unwrap_err();
        #[cfg(target_os = "linux")]
        {
            let name = format!("@leafgate-test-{}", std::process::id());
            let named = UnixDatagram::bind_addr(&address(OsStr::new(&name)).unwrap()).unwrap();
            assert_eq!(told(&named, OsStr::new(&name)), "READY=1");
        }
    }
}
