//! TCP connections of a process and its descendants, from `/proc` and the system's socket monitor
//! (sock_diag(7)), which counts what was sent over each.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::SocketAddr;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Connection;

/// Where `tcpi_bytes_acked` stands in `tcp_info` of linux/tcp.h.
const ACKNOWLEDGED: std::ops::Range<usize> = 120..128;

/// What the system writes at once: a dump comes in parts of at most 32 KiB.
const PART: usize = 64 << 10;

/// Returns the connections of a process and of all that it has started.
pub(super) fn of_tree(pid: u32) -> io::Result<Vec<Connection>> {
    let inodes = inodes(pid);
    let mut connections = Vec::new();
    if inodes.is_empty() {
        return Ok(connections);
    }
    for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        dump(family, id, |response| {
            if inodes.contains(&u64::from(response.header.inode)) {
                connections.push(connection(&response));
            }
        })?;
    }
    Ok(connections)
}

fn connection(response: &InetResponse) -> Connection {
    let id = &response.header.socket_id;
    let to = SocketAddr::new(id.destination_address.to_canonical(), id.destination_port);
    let bytes = response.nlas.iter().find_map(|part| match part {
        Nla::TcpInfo(info) => info.get(ACKNOWLEDGED)?.try_into().ok().map(u64::from_ne_bytes),
        _ => None,
    });
    // The first byte is that of the connection itself.
    Connection { to, bytes: bytes.unwrap_or(0).saturating_sub(1) }
}

/// Returns the numbers of all sockets that the processes have open.
fn inodes(root: u32) -> HashSet<u64> {
    let mut inodes = HashSet::new();
    let mut seen = HashSet::from([root]);
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        // Any of them may be gone, or another user's.
        for descriptor in entries(&format!("/proc/{pid}/fd")) {
            let target = fs::read_link(descriptor).unwrap_or_default();
            let number: Option<u64> = target
                .to_str()
                .and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            inodes.extend(number);
        }
        for task in entries(&format!("/proc/{pid}/task")) {
            let children = fs::read_to_string(task.join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse().ok());
            waiting.extend(children.filter(|child| seen.insert(*child)));
        }
    }
    inodes
}

fn entries(folder: &str) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Has the system list all TCP sockets of a family.
fn dump(family: u8, socket_id: SocketId, mut each: impl FnMut(InetResponse)) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO,
        states: StateFlags::all(),
        socket_id,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    rustix::net::sendto(&socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut part = vec![0; PART];
    loop {
        let (length, _) = rustix::net::recv(&socket, &mut part[..], RecvFlags::empty())?;
        let mut rest = &part[..length];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            rest = rest.get((message.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => each(*response),
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_found_with_what_was_sent_over_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let mut stream = TcpStream::connect(to).unwrap();
        let (_inner, _) = listener.accept().unwrap();
        stream.write_all(&[0; 5000]).unwrap();
        let found = of_tree(std::process::id()).unwrap();
        let bytes = found.iter().find(|connection| connection.to == to).map(|connection| connection.bytes);
        // The loopback acknowledges at once.
        assert_eq!(bytes, Some(5000), "{found:?}");
    }
}
