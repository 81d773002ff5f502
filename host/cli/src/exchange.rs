//! One exchange over plain HTTP/1.1 with a program of this machine, on a connection of its own.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends a request to an address, and returns its answer once that has begun.
pub(crate) async fn begun(
    to: SocketAddr,
    mut request: Request<Full<Bytes>>,
) -> anyhow::Result<Response<Incoming>> {
    let stream = TcpStream::connect(to).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the answer, which reports its errors too.
    tokio::spawn(connection);
    request.headers_mut().insert(HOST, HeaderValue::from_str(&to.to_string())?);
    Ok(sender.send_request(request).await?)
}

/// The same with the whole answer.
pub(crate) async fn whole(to: SocketAddr, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Bytes>> {
    let (parts, body) = begun(to, request).await?.into_parts();
    Ok(Response::from_parts(parts, body.collect().await?.to_bytes()))
}
