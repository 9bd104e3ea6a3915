//! Language-model calls as tower services.
