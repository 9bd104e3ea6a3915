//! A small scripted endpoint that speaks the OpenAI Responses protocol over HTTP on loopback.
//!
//! Its "model" is a few rules: search when nothing fitting is loaded, call what was loaded, answer when the result is there.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What one request looked like when it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) bytes: usize,
    pub(crate) tools: usize,
}

#[derive(Clone, Default)]
pub(crate) struct Endpoint {
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Endpoint {
    /// Starts to listen; the base URL.
    pub(crate) async fn start(&self) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let endpoint = self.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                if let Err(error) = endpoint.serve(socket).await {
                    eprintln!("endpoint: {error}");
                }
            }
        });
        Ok(url)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn serve(&self, mut socket: TcpStream) -> io::Result<()> {
        let body = read_request(&mut socket).await?;
        let request: Value = serde_json::from_slice(&body)?;
        let tools = request.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(Seen { bytes: body.len(), tools });
        let item = answer(request.get("input").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        let response = json!({"id": "resp_1", "status": "completed", "model": "demo", "output": [item]});
        for event in [
            json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": response}),
        ] {
            socket.write_all(format!("data: {event}\n\n").as_bytes()).await?;
        }
        socket.shutdown().await
    }
}

/// The body of an HTTP/1.1 request with a content length.
async fn read_request(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    loop {
        if socket.read_buf(&mut buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let (head, body) = buffer.split_at(end + 4);
        let head = String::from_utf8_lossy(head).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok()).unwrap_or(0);
        let mut body = body.to_vec();
        while body.len() < length {
            if socket.read_buf(&mut body).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        return Ok(body);
    }
}

/// The next item of the "model".
fn answer(input: &[Value]) -> Value {
    let of_type = |kind: &str| input.iter().rev().find(|item| item.get("type").and_then(Value::as_str) == Some(kind));
    if let Some(result) = of_type("function_call_output") {
        let text = format!("The refund is on its way: {}", result.get("output").and_then(Value::as_str).unwrap_or_default());
        return json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]});
    }
    let loaded = of_type("tool_search_output").and_then(|output| output.pointer("/tools/0/name")).and_then(Value::as_str);
    match loaded {
        Some(name) => json!({"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": name, "namespace": name,
            "arguments": "{\"order\":\"4711\"}", "status": "completed"}),
        None => json!({"type": "tool_search_call", "id": "tsc_1", "call_id": "call_1", "execution": "client", "status": "completed",
            "arguments": {"queries": ["refund a payment for an order"]}}),
    }
}
