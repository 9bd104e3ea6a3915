//! The one HTTP flow of all providers.

/// A provider: a protocol at a place.
#[derive(Clone, Debug)]
pub struct Provider;
