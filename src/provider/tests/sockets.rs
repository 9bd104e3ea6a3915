//! The default HTTP client over real sockets.

use super::*;
use crate::transport::Reqwest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower_genai_core::ModelServiceExt;

/// Reads one request; `None` when the connection was closed.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        if socket.read_buf(&mut request).await.unwrap() == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

async fn write_chunk(socket: &mut TcpStream, chunk: &[u8]) {
    socket.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await.unwrap();
    socket.write_all(chunk).await.unwrap();
    socket.write_all(b"\r\n").await.unwrap();
    socket.flush().await.unwrap();
}

/// Writes one of three responses; says whether the connection ends with it.
async fn respond(socket: &mut TcpStream, count: usize) -> bool {
    match count {
        // One byte a chunk, through the middle of characters and line ends.
        1 => {
            socket.write_all(STREAM_HEAD).await.unwrap();
            for byte in "\u{FEFF}: hi\r\n\r\ndata: {\"text\":\"検\"}\r\n\r\ndata: {\"stop\":\"end\"}\r\n\r\n".as_bytes() {
                write_chunk(socket, &[*byte]).await;
            }
            socket.write_all(b"0\r\n\r\n").await.unwrap();
            false
        }
        // In one piece.
        2 => {
            let body = "{\"text\":\"whole\",\"stop\":\"end\"}";
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            false
        }
        // Closed in the middle of an event.
        _ => {
            socket.write_all(STREAM_HEAD).await.unwrap();
            write_chunk(socket, b"data: {\"text\":\"half\"}\n\ndata: {\"tex").await;
            true
        }
    }
}

const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn local(address: std::net::SocketAddr) -> Provider<Plain> {
    let provider = Provider::for_protocol(Plain, Capabilities::anthropic(), &format!("http://{address}"), KEY, "model-1").unwrap();
    provider.http(Reqwest::new().without_proxy())
}

#[tokio::test]
async fn three_kinds_of_responses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut provider = local(listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut requests = Vec::new();
        while requests.len() < 3 {
            let (mut socket, _) = listener.accept().await.unwrap();
            while let Some(request) = read_request(&mut socket).await {
                requests.push(request);
                if respond(&mut socket, requests.len()).await {
                    break;
                }
            }
        }
        requests
    });
    assert_eq!(run(&mut provider, hello()).await, ["+検", "response 検 EndTurn Some(1)"]);
    assert_eq!(run(&mut provider, hello()).await, ["+whole", "response whole EndTurn Some(1)"]);
    let cut = run(&mut provider, hello()).await;
    assert_eq!(cut[0], "+half");
    assert!(cut[1].starts_with("connection: the connection broke while the response was read: ") && cut.len() == 2, "{cut:?}");
    let requests = server.await.unwrap();
    assert!(requests.iter().all(|request| request.starts_with("POST /v1/plain HTTP/1.1\r\n") && request.contains(KEY)), "{requests:?}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let provider = local(listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await.unwrap();
        socket
            .write_all(b"HTTP/1.1 308 Permanent Redirect\r\nlocation: http://127.0.0.1:1/steal\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
        read_request(&mut socket).await
    });
    let error = provider.complete(hello()).await.unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(308), false));
    // The provider is gone, and with it the connection.
    assert_eq!(server.await.unwrap(), None, "no second request");
}

#[tokio::test]
async fn nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = local(address).query("key", "hidden-key").complete(hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().starts_with("connecting to `127.0.0.1` failed: ") && error.is_retryable(), "{error}");
    assert!(!format!("{error:?}").contains("hidden-key"), "{error:?}");
}
