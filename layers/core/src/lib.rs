//! The vocabulary of tower-genai: requests, events, tools, errors, and what layers share.
