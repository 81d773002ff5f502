//! What leads from a namespace to its gate. A socket belongs to the namespace that it was made in,
//! wherever its process is: one that listens inside is handed out, and served from here.

use std::convert::Infallible;
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use tokio::net::{TcpStream, UnixListener};

/// The outer end.
pub(super) struct Bridge {
    gate: SocketAddr,
    door: UnixListener,
    /// Nobody else enters it.
    folder: tempfile::TempDir,
}

impl Bridge {
    pub(super) fn open(gate: SocketAddr) -> anyhow::Result<Bridge> {
        let folder = tempfile::tempdir()?;
        let door = UnixListener::bind(folder.path().join("door"))?;
        Ok(Bridge { gate, door, folder })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("door")
    }

    /// Takes what listens inside, and passes on all that comes there.
    pub(super) async fn serve(self) -> Infallible {
        if let Err(error) = self.pass().await {
            tracing::error!(target: "leafgate::exec", "the way out of the namespace is closed: {error:#}");
        }
        // The program ends by itself.
        std::future::pending().await
    }

    async fn pass(&self) -> anyhow::Result<()> {
        let (inner, _) = self.door.accept().await?;
        let listener = receive(inner.into_std()?)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (mut inside, _) = listener.accept().await?;
            let gate = self.gate;
            tokio::spawn(async move {
                if let Ok(mut outside) = TcpStream::connect(gate).await {
                    // Either side may break off, which the other learns.
                    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                }
            });
        }
    }
}

/// Takes the socket from the program inside, and lets that go on.
fn receive(mut inner: UnixStream) -> anyhow::Result<TcpListener> {
    inner.set_nonblocking(false)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(&inner, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let sockets = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let socket: OwnedFd = sockets.flatten().next().context("it came without a socket")?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    inner.write_all(&[1])?;
    Ok(listener)
}

/// Hands a socket out, and waits until it was taken.
pub(super) fn hand_over(door: &Path, listener: &TcpListener) -> anyhow::Result<()> {
    let mut outer = UnixStream::connect(door)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let sockets = [listener.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&sockets));
    rustix::net::sendmsg(&outer, &[IoSlice::new(&[1])], &mut control, SendFlags::empty())?;
    Ok(outer.read_exact(&mut [0])?)
}
