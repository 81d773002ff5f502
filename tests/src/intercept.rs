//! A proxy that leads every host to one [`Upstream`](crate::upstream::Upstream): what a program sends past a gate comes to light
//! there, and nothing leaves the machine.
//!
//! It makes a certificate authority of its own, which the program must be told to trust, and ends each TLS session with a
//! certificate for the host that was asked. Requests get a header, [`HOST`], that names that host.

use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http::{self, Client, Message};
use crate::upstream::serve;

/// The header that names the host of a request that came this way.
pub const HOST: &str = "x-kit-host";

/// A proxy; it serves until the process ends.
pub struct Proxy {
    address: SocketAddr,
    certificate: String,
}

/// Who signs the certificates of hosts.
type Authority = Issuer<'static, KeyPair>;

impl Proxy {
    /// A proxy that leads there, whatever is asked.
    ///
    /// # Errors
    /// When no port is free.
    pub fn before(server: SocketAddr) -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::default();
        // Other than the hosts' own: what has its issuer's name counts as signed by itself.
        parameters.distinguished_name.push(DnType::CommonName, "leafgate kit");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let certificate = parameters.self_signed(&key)?.pem();
        let authority = Arc::new(Issuer::new(parameters, key));
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free for the proxy")?;
        let proxy = Proxy { address: listener.local_addr()?, certificate };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let authority = Arc::clone(&authority);
                // A connection that breaks off is its client's business.
                std::thread::spawn(move || lead(stream, &authority, server));
            }
        });
        Ok(proxy)
    }

    /// Its URL, for `HTTPS_PROXY`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The certificate of its authority, as PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

/// Serves a connection: a tunnel with TLS in it, or a request that says in plain text where it would go.
fn lead(stream: TcpStream, authority: &Authority, server: SocketAddr) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut client = BufReader::new(stream);
    let Some(first) = http::read(&mut client)? else { return Ok(()) };
    if !first.start.starts_with("CONNECT ") {
        let host = first.header("host").unwrap_or_default().to_owned();
        let answer = passed_on(first, &host, server)?;
        return Ok(client.get_mut().write_all(&answer.to_bytes())?);
    }
    let host = first.target().rsplit_once(':').map_or("", |(host, _)| host).to_owned();
    let mut stream = client.into_inner();
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let session = ServerConnection::new(Arc::new(configuration(&host, authority)?))?;
    serve(StreamOwned::new(session, stream), |request| passed_on(request, &host, server))
}

/// A certificate for this host, and its key.
fn configuration(host: &str, authority: &Authority) -> Result<ServerConfig> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([host.to_owned()])?.signed_by(&key, authority)?;
    let key = key.serialize_der().try_into().map_err(anyhow::Error::msg)?;
    Ok(ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?)
}

/// What the server answers.
fn passed_on(mut request: Message, host: &str, server: SocketAddr) -> Result<Message> {
    request.headers.push((HOST.to_owned(), host.to_owned()));
    Client::connect(server)?.exchange(&request.to_bytes())
}
