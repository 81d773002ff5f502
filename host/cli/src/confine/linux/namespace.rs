//! A network namespace whose only interface is its own loopback.

use std::fs;
use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, bail};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;

/// Puts this process into a namespace of its own, and returns what listens there in a gate's place.
/// The process must have one thread.
pub(super) fn enter(gate: SocketAddr) -> anyhow::Result<TcpListener> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    #[expect(deprecated, reason = "unsafe for descriptor tables alone, which stay shared")]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
        .context("user namespaces are switched off")?;
    // Files and programs see the same user as before.
    let map = |file: &str, text: String| fs::write(format!("/proc/self/{file}"), text);
    map("uid_map", format!("{user} {user} 1"))
        .and_then(|()| map("setgroups", "deny".to_owned()))
        .and_then(|()| map("gid_map", format!("{group} {group} 1")))
        .context("user namespaces are restricted (kernel.apparmor_restrict_unprivileged_userns)")?;
    raise_loopback().context("the loopback of a new namespace cannot be raised")?;
    TcpListener::bind(gate).context("the gate's port is taken in a new namespace")
}

/// `RTM_NEWLINK` with `IFF_UP` for the first interface (rtnetlink(7)).
fn raise_loopback() -> anyhow::Result<()> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Its number, the sender, the family and kind of interface: none.
    message.extend([0; 12]);
    message.extend(1_u32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // That of routes and interfaces is number 0.
        None,
    )?;
    rustix::net::sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 1024];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // Behind the head of the message stands the error, or 0.
    match answer[..length].get(16..20).map(|code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]])) {
        Some(0) => Ok(()),
        code => bail!("the system answers {code:?}"),
    }
}
