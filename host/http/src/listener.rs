//! Where the gate listens. A [`Listener`] is always on a loopback address: there is no other way to make one.
//!
//! Whoever reaches the port may use it until clients can be told apart by tokens, so no other machine may reach it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

/// A socket that accepts connections from this machine only.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// An address that cannot be listened on, with what was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Other machines could reach it, and nothing would tell them apart from this machine's user.
    #[error(
        "{0} can be reached from other machines, and this version has no client tokens to tell callers apart; \
         listen on 127.0.0.1 or [::1], and use an SSH tunnel for other machines"
    )]
    NotLoopback(SocketAddr),
    /// Another program listens there.
    #[error("cannot listen on {0}: another program does; choose another port, or 0 for a free one")]
    InUse(SocketAddr),
    /// The operating system refused.
    #[error("cannot listen on {0}")]
    Socket(SocketAddr, #[source] io::Error),
}

/// Reads an address to listen on: `127.0.0.1:4141`, `[::1]:4141` or `localhost:4141`. The name is not looked up: it always means
/// `127.0.0.1` here, whatever somebody made the system's resolver say.
///
/// # Errors
/// When it is none of these. Whether it is loopback, [`Listener::bind`] says.
pub fn listen_address(text: &str) -> Result<SocketAddr, AddressError> {
    if let Some((host, port)) = text.rsplit_once(':')
        && host.eq_ignore_ascii_case("localhost")
    {
        return port.parse().map(|port| (Ipv4Addr::LOCALHOST, port).into()).map_err(|_| AddressError);
    }
    text.parse().map_err(|_| AddressError)
}

/// A text that is no address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write an address and a port: 127.0.0.1:4141, [::1]:4141 or localhost:4141")]
pub struct AddressError;

impl Listener {
    /// Binds a loopback address; port 0 takes a free one, which [`Listener::address`] tells.
    ///
    /// # Errors
    /// When the address is not loopback, or the operating system refuses it.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(address));
        }
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse(address),
            _ => BindError::Socket(address, source),
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Listener { socket, address })
    }

    /// Returns the address with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn accept(&self) -> io::Result<tokio::net::TcpStream> {
        let (stream, _) = self.socket.accept().await?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S0-124
    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "[2001:db8::1]:0"] {
            let error = Listener::bind(address.parse().unwrap()).await.unwrap_err();
            assert!(matches!(error, BindError::NotLoopback(_)), "{address}: {error}");
        }
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        assert_ne!(listener.address().port(), 0);
        let taken = Listener::bind(listener.address()).await.unwrap_err();
        assert!(matches!(taken, BindError::InUse(_)), "{taken}");
    }

    #[test]
    fn localhost_is_loopback_and_never_looked_up() {
        for text in ["localhost:4141", "LocalHost:4141", "127.0.0.1:4141"] {
            assert_eq!(listen_address(text), Ok("127.0.0.1:4141".parse().unwrap()), "{text}");
        }
        assert_eq!(listen_address("[::1]:0"), Ok("[::1]:0".parse().unwrap()));
        for text in ["localhost", "localhost:", "localhost:65536", "example.org:80", "4141", ""] {
            assert_eq!(listen_address(text), Err(AddressError), "{text}");
        }
    }
}
