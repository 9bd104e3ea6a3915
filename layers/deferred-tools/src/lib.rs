//! A tower layer that shows, defers or withholds tool definitions per wire protocol.
