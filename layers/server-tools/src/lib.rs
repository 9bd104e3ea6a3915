//! A tower layer that adds provider-hosted tools to a model request.
