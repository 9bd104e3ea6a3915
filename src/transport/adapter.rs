//! The default HTTP client.

use std::{
    error::Error as _,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_genai_core::{Error, ErrorKind};
use tower_service::Service;

const KEEPALIVE: Duration = Duration::from_secs(30);

/// An HTTP service over [`reqwest`](https://docs.rs/reqwest).
///
/// It follows no redirects, which would carry the key elsewhere, and has no limit on the total time: what a
/// [`Provider`](crate::provider::Provider) waits for is [`Waits`](super::Waits). Connecting may take 10 s. The
/// proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`) are used, as the providers' own clients do it; see
/// [`without_proxy`](Self::without_proxy).
///
/// The client is built at the first call. Clones share it, with its connections.
///
/// ```
/// use std::time::Duration;
/// use tower_genai::transport::Reqwest;
///
/// let http = Reqwest::new().connect_timeout(Some(Duration::from_secs(3))).without_proxy();
/// ```
#[derive(Clone)]
pub struct Reqwest {
    settings: Settings,
    client: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

#[derive(Clone, Debug)]
struct Settings {
    connect_timeout: Option<Duration>,
    proxy: bool,
    tls: bool,
}

impl Reqwest {
    /// A client with the defaults.
    #[must_use]
    pub fn new() -> Self {
        let tls = cfg!(any(feature = "rustls", feature = "native-tls"));
        Self::with(Settings { connect_timeout: Some(Duration::from_secs(10)), proxy: true, tls })
    }

    fn with(settings: Settings) -> Self {
        Self { settings, client: Arc::default() }
    }

    /// Sets how long connecting may take, TLS included (10 s); `None` leaves it to the operating system. Clones made before keep theirs.
    #[must_use]
    pub fn connect_timeout(self, wait: Option<Duration>) -> Self {
        Self::with(Settings { connect_timeout: wait, ..self.settings })
    }

    /// Connects directly, whatever proxies the environment names.
    #[must_use]
    pub fn without_proxy(self) -> Self {
        Self::with(Settings { proxy: false, ..self.settings })
    }

    fn client(&self) -> Result<&reqwest::Client, Error> {
        let built = self.client.get_or_init(|| self.settings.build().map_err(|error| chain(&error)));
        built.as_ref().map_err(|error| {
            Error::new(ErrorKind::Connection, format!("the HTTP client could not be built: {error}")).with_retryable(false)
        })
    }
}

impl Settings {
    fn build(&self) -> reqwest::Result<reqwest::Client> {
        let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).referer(false).tcp_keepalive(KEEPALIVE);
        if let Some(wait) = self.connect_timeout {
            builder = builder.connect_timeout(wait);
        }
        if !self.proxy {
            builder = builder.no_proxy();
        }
        builder.build()
    }
}

impl Default for Reqwest {
    fn default() -> Self {
        Self::new()
    }
}

impl From<reqwest::Client> for Reqwest {
    /// Takes a client of your own, for example with other certificates. Build it without redirects and without a total timeout. The methods of
    /// [`Reqwest`] would replace it.
    fn from(client: reqwest::Client) -> Self {
        let settings = Settings { tls: true, ..Self::new().settings };
        Self { settings, client: Arc::new(OnceLock::from(Ok(client))) }
    }
}

impl fmt::Debug for Reqwest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reqwest").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Service<http::Request<Bytes>> for Reqwest {
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = ReqwestFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Bytes>) -> ReqwestFuture {
        let host = request.uri().host().unwrap_or_default().to_owned();
        if request.uri().scheme() == Some(&http::uri::Scheme::HTTPS) && !self.settings.tls {
            let error = Error::invalid("this build cannot speak https; enable the feature `rustls` or `native-tls` of tower-genai");
            return ReqwestFuture { state: FutureState::Failed { error: Some(error) } };
        }
        let request = reqwest::Request::try_from(request).map_err(|error| failed(error, &host));
        let state = match request.and_then(|request| Ok(Service::call(&mut self.client()?, request))) {
            Ok(call) => FutureState::Calling { call, host },
            Err(error) => FutureState::Failed { error: Some(error) },
        };
        ReqwestFuture { state }
    }
}

type Call = <reqwest::Client as Service<reqwest::Request>>::Future;

pin_project! {
    /// The response future of [`Reqwest`].
    pub struct ReqwestFuture {
        #[pin]
        state: FutureState,
    }
}

pin_project! {
    #[project = FutureProj]
    enum FutureState {
        Failed { error: Option<Error> },
        Calling { #[pin] call: Call, host: String },
    }
}

impl Future for ReqwestFuture {
    type Output = Result<http::Response<Body>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            FutureProj::Failed { error } => error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
            FutureProj::Calling { call, host } => Poll::Ready(match ready!(call.poll(cx)) {
                Ok(response) => Ok(http::Response::from(response).map(|inner| Body { inner })),
                Err(error) => Err(failed(error, host)),
            }),
        }
    }
}

impl fmt::Debug for ReqwestFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestFuture").finish_non_exhaustive()
    }
}

pin_project! {
    /// The body of a response of [`Reqwest`].
    #[derive(Debug)]
    pub struct Body {
        #[pin]
        inner: reqwest::Body,
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(self.project().inner.poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| {
                let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Connection };
                let error = error.without_url();
                Error::new(kind, format!("the connection broke while the response was read: {}", chain(&error))).with_source(error)
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The error of a request that gave no response. The URL, which may hold a key, stays out of it.
fn failed(error: reqwest::Error, host: &str) -> Error {
    let (connect, timeout, builder) = (error.is_connect(), error.is_timeout(), error.is_builder());
    let error = error.without_url();
    let reason = chain(&error);
    let (kind, text) = match (connect, timeout) {
        _ if builder => (ErrorKind::InvalidRequest, format!("the request to `{host}` cannot be sent: {reason}")),
        (true, true) => (ErrorKind::Timeout, format!("connecting to `{host}` took too long")),
        (true, false) => (ErrorKind::Connection, format!("connecting to `{host}` failed: {reason}")),
        (false, true) => (ErrorKind::Timeout, format!("`{host}` took too long to answer")),
        (false, false) => (ErrorKind::Connection, format!("the connection to `{host}` broke before the response: {reason}")),
    };
    Error::new(kind, text).with_source(error)
}

/// An error with its causes, in one line.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower::ServiceExt;

    #[test]
    fn clones_share_a_client_until_a_setting_changes() {
        let http = Reqwest::new();
        assert_eq!(http.settings.connect_timeout, Some(Duration::from_secs(10)));
        let (clone, changed) = (http.clone(), http.clone().connect_timeout(None));
        http.client().unwrap();
        assert!(clone.client.get().is_some() && changed.client.get().is_none());
        changed.without_proxy().client().unwrap();
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused() {
        let request = |uri: &str| http::Request::post(uri).body(Bytes::new()).unwrap();
        let error = Reqwest::new().oneshot(request("ftp://example.com/?key=secret")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidRequest, false));
        assert!(
            error.to_string().starts_with("the request to `example.com` cannot be sent") && !format!("{error:?}").contains("secret"),
            "{error:?}"
        );
        if cfg!(not(any(feature = "rustls", feature = "native-tls"))) {
            let error = Reqwest::new().oneshot(request("https://example.com")).await.unwrap_err();
            assert!(error.to_string().contains("`rustls`"), "{error}");
        }
    }
}
