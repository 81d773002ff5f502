//! The collector that spans are sent to.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::str::FromStr;
use std::time::Duration;

use http::Uri;

/// For each step of a delivery.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a URL says no path, OTLP has this one.
const PATH: &str = "/v1/traces";

/// The port of OTLP over HTTP.
const PORT: u16 = 4318;

/// Bytes of an answer that are read: nothing of it is used but its status.
const ANSWER: u64 = 64 << 10;

/// Where spans are sent.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("http://{}:{}{}", self.host, self.port, self.path)]
pub struct Collector {
    host: String,
    port: u16,
    path: String,
}

/// A URL that is no collector's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("traces are sent to a URL as http://127.0.0.1:4318, without a password: {0}")]
pub struct CollectorError(&'static str);

impl FromStr for Collector {
    type Err = CollectorError;

    fn from_str(url: &str) -> Result<Self, CollectorError> {
        let uri: Uri = url.parse().map_err(|_| CollectorError("this is no URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(CollectorError("run a collector beside the gate, which can pass them on by https"));
        }
        let authority = uri.authority().ok_or(CollectorError("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(CollectorError("there is a user in it"));
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Collector {
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(PORT),
            path: if path == "/" { PATH.to_owned() } else { path.to_owned() },
        })
    }
}

impl Collector {
    /// Sends a message, and says why it was not taken.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = (host, self.port).to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("its name has no address"))?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST {} HTTP/1.1\r\nhost: {}:{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            self.path,
            self.host,
            self.port,
            message.len()
        )?;
        stream.write_all(message)?;
        let mut status = String::new();
        BufReader::new(stream.take(ANSWER)).read_line(&mut status)?;
        match status.split(' ').nth(1) {
            Some(code) if code.starts_with('2') => Ok(()),
            Some(code) => Err(io::Error::other(format!("it answers {code:.3}"))),
            None => Err(io::Error::other("it does not speak HTTP")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_collector() {
        for (url, shown) in [
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000/v1/traces"),
            ("http://collector.example/", "http://collector.example:4318/v1/traces"),
            ("http://[::1]/otlp/v1/traces", "http://[::1]:4318/otlp/v1/traces"),
        ] {
            assert_eq!(url.parse::<Collector>().unwrap().to_string(), shown);
        }
        for (url, why) in [
            ("https://collector.example", "beside the gate"),
            ("collector.example:4318", "beside the gate"),
            ("http://ann:secret@collector.example", "a user"),
            ("", "no URL"),
        ] {
            let error = url.parse::<Collector>().unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
