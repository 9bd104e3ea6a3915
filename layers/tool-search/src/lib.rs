//! A tower layer with which a model finds deferred tools through one search tool, ranked with BM25.

pub mod index;
