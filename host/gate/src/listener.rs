//! Where the gate listens. A [`Listener`] is always on a loopback address: there is no other way to make one.
//!
//! Whoever reaches the port may use it until clients can be told apart by tokens, so no other machine may reach it.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

/// A socket that accepts connections from this machine only.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Other machines could reach it, and nothing would tell them apart from this machine's user.
    #[error(
        "{address} can be reached from other machines, and this version has no client tokens to tell callers apart; \
         listen on 127.0.0.1 or [::1], and use an SSH tunnel for other machines"
    )]
    NotLoopback {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The operating system refused.
    #[error("cannot listen on {address}: {source}")]
    Socket {
        /// What was asked for.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
}

impl Listener {
    /// Binds a loopback address; port 0 takes a free one, which [`Listener::address`] tells.
    ///
    /// # Errors
    /// When the address is not loopback, or the operating system refuses it.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback { address });
        }
        let failed = |source| BindError::Socket { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Listener { socket, address })
    }

    /// The address with the port that was taken.
    #[must_use]
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

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "[2001:db8::1]:0"] {
            let error = Listener::bind(address.parse().unwrap()).await.unwrap_err();
            assert!(matches!(error, BindError::NotLoopback { .. }), "{address}: {error}");
        }
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        assert_ne!(listener.address().port(), 0);
    }
}
