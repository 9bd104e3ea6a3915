//! What the provider looked up beside the parts: searches, maps, files and pages that an answer rests on.

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{HostedCall, HostedOutcome, Json};

use crate::protocols::{
    lenient::{Many, Object as Lenient, Text, read},
    members::write_string,
    object::{List, Object},
};

/// What was seen of it so far.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    queries: Vec<String>,
    searched: bool,
    /// Pages that it names: of a search, or where pages were fetched of those.
    named_pages: bool,
    mapped: bool,
    filed: bool,
    /// The first status that is no success, of pages that were fetched; empty where all were.
    fetched: Option<String>,
    /// What the candidate says about it, as it came last, under its key.
    raw: Vec<(&'static str, Json)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    web_search_queries: Many<Text<'a>>,
    #[serde(borrow)]
    search_entry_point: Option<&'a RawValue>,
    #[serde(borrow)]
    grounding_chunks: Many<Lenient<Chunk<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    web: Option<&'a RawValue>,
    #[serde(borrow)]
    image: Option<&'a RawValue>,
    #[serde(borrow)]
    maps: Option<&'a RawValue>,
    #[serde(borrow)]
    retrieved_context: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UrlContext<'a> {
    #[serde(borrow)]
    url_metadata: Many<Lenient<Page<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    url_retrieval_status: Text<'a>,
}

/// The status of a page that was fetched.
const FETCHED: &str = "URL_RETRIEVAL_STATUS_SUCCESS";

impl Grounding {
    /// Notes `groundingMetadata`.
    pub(super) fn metadata(&mut self, raw: Option<&RawValue>) {
        let metadata: Metadata<'_> = read(raw);
        for query in metadata.web_search_queries.0 {
            if !self.queries.iter().any(|known| **known == *query) {
                self.queries.push(query.to_string());
            }
            self.searched = true;
        }
        self.searched |= metadata.search_entry_point.is_some_and(is_there);
        for Lenient(chunk) in metadata.grounding_chunks.0 {
            self.named_pages |= [chunk.web, chunk.image].into_iter().flatten().any(is_there);
            self.mapped |= chunk.maps.is_some_and(is_there);
            self.filed |= chunk.retrieved_context.is_some_and(is_there);
        }
        self.keep("groundingMetadata", raw);
    }

    /// Notes `urlContextMetadata`.
    pub(super) fn pages(&mut self, raw: Option<&RawValue>) {
        let context: UrlContext<'_> = read(raw);
        for Lenient(page) in context.url_metadata.0 {
            let failure = self.fetched.get_or_insert_default();
            if failure.is_empty() && &*page.url_retrieval_status != FETCHED {
                failure.push_str(&page.url_retrieval_status);
            }
        }
        self.keep("urlContextMetadata", raw);
    }

    /// Notes `citationMetadata`.
    pub(super) fn citations(&mut self, raw: Option<&RawValue>) {
        self.keep("citationMetadata", raw);
    }

    fn keep(&mut self, key: &'static str, raw: Option<&RawValue>) {
        let Some(raw) = raw.filter(|raw| is_there(raw)) else { return };
        match self.raw.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = Json::from(raw),
            None => self.raw.push((key, Json::from(raw))),
        }
    }

    /// The calls that it stands for, without ids.
    pub(super) fn calls(&self) -> Vec<HostedCall> {
        let call = |name: &str| {
            let mut call = HostedCall::new("", name, "grounding");
            call.outcome = HostedOutcome::Completed;
            call
        };
        let mut calls = Vec::new();
        if self.searched || self.named_pages && self.fetched.is_none() {
            let mut search = call("google_search");
            search.input = self.input();
            calls.push(search);
        }
        calls.extend(self.mapped.then(|| call("google_maps")));
        calls.extend(self.filed.then(|| call("file_search")));
        if let Some(failure) = &self.fetched {
            let mut fetch = call("url_context");
            if !failure.is_empty() {
                fetch.outcome = HostedOutcome::Failed { code: failure.as_str().into() };
            }
            calls.push(fetch);
        }
        calls
    }

    fn input(&self) -> Option<Json> {
        if self.queries.is_empty() {
            return None;
        }
        let mut out = String::new();
        let mut object = Object::new(&mut out);
        let mut list = List::new(object.key("queries"));
        self.queries.iter().for_each(|query| write_string(list.entry(), query));
        list.end();
        object.end();
        Some(Json::from_written(&out))
    }

    /// What was said about it, for whoever wants to read it.
    pub(super) fn item(&self) -> Option<Json> {
        if self.raw.is_empty() {
            return None;
        }
        let mut out = String::new();
        let mut object = Object::new(&mut out);
        for (key, value) in &self.raw {
            object.raw(key, value.as_str());
        }
        object.end();
        Some(Json::from_written(&out))
    }
}

/// Whether a member says anything.
fn is_there(raw: &RawValue) -> bool {
    !matches!(raw.get(), "null" | "{}" | "[]" | "\"\"")
}
