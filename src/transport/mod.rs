//! HTTP: the adapter, framing, the waits, the retry policy.
