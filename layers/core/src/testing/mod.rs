//! Doubles for tests and benches of stacks: what the library tests itself with.
//!
//! - [`ScriptedModel`] answers from a script or a function, and keeps the requests it saw;
//! - [`NoopModel`] answers with a fixed stream and does nothing else, to measure what is around it;
//! - [`ReadinessProbe`] panics when a layer breaks the contract of [`tower::Service`];
//! - [`EventRecorder`] keeps the events that pass.

mod noop;
mod probe;
mod recorder;
mod scripted;

pub use noop::{NoopEvents, NoopModel};
pub use probe::ReadinessProbe;
pub use recorder::{EventRecorder, Recorded, RecordedStream, RecorderFuture};
pub use scripted::{ScriptedModel, ScriptedStream, events_of};
