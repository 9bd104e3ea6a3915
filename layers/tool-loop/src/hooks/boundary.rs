//! The boundaries of a run and of a call of the model: one service, asked differently.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tower_genai_core::{Error, ModelEvent, ModelRequest, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::Hooks;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Which hooks are asked.
pub trait Boundary<H>: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    fn before(hooks: &H, request: &mut ModelRequest) -> impl Future<Output = Result<(), Error>> + Send;
    #[doc(hidden)]
    fn after(hooks: &H, response: &mut Response) -> impl Future<Output = Result<(), Error>> + Send;
    #[doc(hidden)]
    fn failed(hooks: &H, error: &Error) -> impl Future<Output = ()> + Send;
    #[doc(hidden)]
    fn event(hooks: &H, event: &ModelEvent);
    #[doc(hidden)]
    fn cancelled(hooks: &H);
}

mod sealed {
    pub trait Sealed {}
}

/// The boundary of a run.
#[derive(Clone, Copy, Debug)]
pub enum Run {}

/// The boundary of a call of the model.
#[derive(Clone, Copy, Debug)]
pub enum Model {}

impl sealed::Sealed for Run {}
impl sealed::Sealed for Model {}

impl<H: Hooks> Boundary<H> for Run {
    async fn before(hooks: &H, request: &mut ModelRequest) -> Result<(), Error> {
        hooks.before_run(request).await
    }
    async fn after(hooks: &H, response: &mut Response) -> Result<(), Error> {
        hooks.after_run(response).await?;
        hooks.on_success(response).await
    }
    async fn failed(hooks: &H, error: &Error) {
        hooks.on_error(error).await;
    }
    fn event(hooks: &H, event: &ModelEvent) {
        hooks.on_event(event);
    }
    fn cancelled(hooks: &H) {
        hooks.on_cancelled();
    }
}

impl<H: Hooks> Boundary<H> for Model {
    async fn before(hooks: &H, request: &mut ModelRequest) -> Result<(), Error> {
        hooks.before_model(request).await
    }
    async fn after(hooks: &H, response: &mut Response) -> Result<(), Error> {
        hooks.after_model(response).await
    }
    async fn failed(_: &H, _: &Error) {}
    fn event(_: &H, _: &ModelEvent) {}
    fn cancelled(_: &H) {}
}

/// Installs the hooks of a run. See the [module](super).
pub struct RunHooksLayer<H>(Arc<H>);

/// Installs the hooks of a call of the model. See the [module](super).
pub struct ModelHooksLayer<H>(Arc<H>);

impl<H> RunHooksLayer<H> {
    pub(super) fn new(hooks: Arc<H>) -> Self {
        Self(hooks)
    }
}

impl<H> ModelHooksLayer<H> {
    pub(super) fn new(hooks: Arc<H>) -> Self {
        Self(hooks)
    }
}

impl<H> Clone for RunHooksLayer<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H> Clone for ModelHooksLayer<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H> fmt::Debug for RunHooksLayer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunHooksLayer")
    }
}

impl<H> fmt::Debug for ModelHooksLayer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelHooksLayer")
    }
}

impl<S, H> Layer<S> for RunHooksLayer<H> {
    type Service = Hooked<S, H, Run>;

    fn layer(&self, inner: S) -> Self::Service {
        Hooked { inner, hooks: self.0.clone(), boundary: PhantomData }
    }
}

impl<S, H> Layer<S> for ModelHooksLayer<H> {
    type Service = Hooked<S, H, Model>;

    fn layer(&self, inner: S) -> Self::Service {
        Hooked { inner, hooks: self.0.clone(), boundary: PhantomData }
    }
}

/// The service of a [`RunHooksLayer`] or a [`ModelHooksLayer`].
pub struct Hooked<S, H, B> {
    inner: S,
    hooks: Arc<H>,
    boundary: PhantomData<fn() -> B>,
}

impl<S, H, B> Hooked<S, H, B> {
    tower_genai_core::inner_service_accessors!();
}

impl<S: Clone, H, B> Clone for Hooked<S, H, B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), hooks: self.hooks.clone(), boundary: PhantomData }
    }
}

impl<S: fmt::Debug, H, B> fmt::Debug for Hooked<S, H, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooked").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Sees a drop before the end.
struct Watch<H, B: Boundary<H>> {
    hooks: Arc<H>,
    open: bool,
    boundary: PhantomData<fn() -> B>,
}

impl<H, B: Boundary<H>> Drop for Watch<H, B> {
    fn drop(&mut self) {
        if mem::take(&mut self.open) {
            B::cancelled(&self.hooks);
        }
    }
}

impl<S, H, B, Req> Service<Req> for Hooked<S, H, B>
where
    S: Service<Req> + Clone,
    S::Response: Stream<Item = Result<ModelEvent, Error>>,
    S::Error: From<Error>,
    Error: From<S::Error>,
    H: Hooks,
    B: Boundary<H>,
    Req: AsMut<ModelRequest> + Send + 'static,
{
    type Response = HookedStream<S::Response, H, B>;
    type Error = S::Error;
    type Future = HookedFuture<S, Req, H, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Req) -> Self::Future {
        // The instance that is ready is the one that is called.
        let clone = self.inner.clone();
        let service = mem::replace(&mut self.inner, clone);
        let watch = Watch { hooks: self.hooks.clone(), open: true, boundary: PhantomData };
        let hooks = self.hooks.clone();
        let before = Box::pin(async move { B::before(&hooks, request.as_mut()).await.map(|()| request) });
        HookedFuture { state: FutureState::Before { before, service: Some(service) }, watch: Some(watch) }
    }
}

pin_project! {
    /// The response future of a [`Hooked`].
    pub struct HookedFuture<S, Req, H, B>
    where
        S: Service<Req>,
        B: Boundary<H>,
    {
        #[pin]
        state: FutureState<S, S::Future, Req>,
        watch: Option<Watch<H, B>>,
    }
}

pin_project! {
    #[project = FutureProj]
    enum FutureState<S, F, Req> {
        Before { before: BoxFuture<Result<Req, Error>>, service: Option<S> },
        Calling { #[pin] call: F },
        Failing { failing: BoxFuture<Error> },
        Done,
    }
}

/// Asks the hooks about an error, and gives it back.
fn failing<H: Hooks, B: Boundary<H>>(watch: &mut Watch<H, B>, error: Error) -> BoxFuture<Error> {
    let hooks = watch.hooks.clone();
    watch.open = false;
    Box::pin(async move {
        B::failed(&hooks, &error).await;
        error
    })
}

impl<S, Req, H, B> Future for HookedFuture<S, Req, H, B>
where
    S: Service<Req>,
    S::Error: From<Error>,
    Error: From<S::Error>,
    H: Hooks,
    B: Boundary<H>,
{
    type Output = Result<HookedStream<S::Response, H, B>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let Some(watch) = this.watch.as_mut() else { return Poll::Pending };
            let next = match this.state.as_mut().project() {
                FutureProj::Before { before, service } => match ready!(before.as_mut().poll(cx)) {
                    Ok(request) => {
                        let Some(mut service) = service.take() else { return Poll::Pending };
                        FutureState::Calling { call: service.call(request) }
                    }
                    Err(error) => FutureState::Failing { failing: failing(watch, error) },
                },
                FutureProj::Calling { call } => match ready!(call.poll(cx)) {
                    Ok(events) => {
                        this.state.set(FutureState::Done);
                        let stream = this.watch.take().map(|watch| HookedStream { state: StreamState::Streaming { events }, watch });
                        return stream.map_or(Poll::Pending, |stream| Poll::Ready(Ok(stream)));
                    }
                    Err(error) => FutureState::Failing { failing: failing(watch, error.into()) },
                },
                FutureProj::Failing { failing } => {
                    let error = ready!(failing.as_mut().poll(cx));
                    this.state.set(FutureState::Done);
                    *this.watch = None;
                    return Poll::Ready(Err(error.into()));
                }
                FutureProj::Done => return Poll::Pending,
            };
            this.state.set(next);
        }
    }
}

impl<S: Service<Req>, Req, H, B: Boundary<H>> fmt::Debug for HookedFuture<S, Req, H, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedFuture").finish_non_exhaustive()
    }
}

pin_project! {
    /// The stream of a [`Hooked`].
    pub struct HookedStream<E, H, B>
    where
        B: Boundary<H>,
    {
        #[pin]
        state: StreamState<E>,
        watch: Watch<H, B>,
    }
}

pin_project! {
    #[project = StreamProj]
    enum StreamState<E> {
        Streaming { #[pin] events: E },
        After { after: BoxFuture<Result<Box<Response>, Error>> },
        Failing { failing: BoxFuture<Error> },
        Ended,
    }
}

impl<E, H, B> Stream for HookedStream<E, H, B>
where
    E: Stream<Item = Result<ModelEvent, Error>>,
    H: Hooks,
    B: Boundary<H>,
{
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StreamProj::Streaming { events } => match ready!(events.poll_next(cx)) {
                    Some(Ok(ModelEvent::Response(mut response))) => {
                        let hooks = this.watch.hooks.clone();
                        let after = Box::pin(async move { B::after(&hooks, &mut response).await.map(|()| response) });
                        StreamState::After { after }
                    }
                    Some(Ok(event)) => {
                        B::event(&this.watch.hooks, &event);
                        return Poll::Ready(Some(Ok(event)));
                    }
                    Some(Err(error)) => StreamState::Failing { failing: failing(this.watch, error) },
                    None => {
                        // The end without a response is the business of whoever is inside.
                        this.watch.open = false;
                        this.state.set(StreamState::Ended);
                        return Poll::Ready(None);
                    }
                },
                StreamProj::After { after } => match ready!(after.as_mut().poll(cx)) {
                    Ok(response) => {
                        let event = ModelEvent::Response(response);
                        B::event(&this.watch.hooks, &event);
                        this.watch.open = false;
                        this.state.set(StreamState::Ended);
                        return Poll::Ready(Some(Ok(event)));
                    }
                    Err(error) => StreamState::Failing { failing: failing(this.watch, error) },
                },
                StreamProj::Failing { failing } => {
                    let error = ready!(failing.as_mut().poll(cx));
                    this.state.set(StreamState::Ended);
                    return Poll::Ready(Some(Err(error)));
                }
                StreamProj::Ended => return Poll::Ready(None),
            };
            this.state.set(next);
        }
    }
}

impl<E, H, B: Boundary<H>> fmt::Debug for HookedStream<E, H, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedStream").finish_non_exhaustive()
    }
}
