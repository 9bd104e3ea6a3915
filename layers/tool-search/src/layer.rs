use std::{fmt, sync::Arc};

use tower_genai_core::{Cache, Error, Identity, ToolSet, guidance::Parts};
use tower_layer::Layer;

use crate::{
    SessionRecord, ToolSearch,
    catalog::CatalogOptions,
    definition,
    index::{Bm25, Bm25Error, IndexError, ToolIndex},
    prepared::Prepared,
    sessions::Sessions,
};

/// Where the list of searchable tools is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogPlacement {
    /// At the end of the search tool's description, where it travels with the one tool that uses it.
    #[default]
    SearchDescription,
    /// In the system prompt, which keeps the search tool's own text short.
    SystemPrompt,
    /// Nowhere: the model knows only that there is something to search.
    None,
}

/// Lets the model find deferred tools. See the [crate docs](crate) for an example.
#[derive(Clone, Debug)]
pub struct ToolSearchLayer {
    config: Config,
    shared: Arc<Shared>,
}

/// The options.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) limit: usize,
    pub(crate) min_score: f64,
    pub(crate) record: Option<Arc<dyn SessionRecord>>,
    pub(crate) resend_after_compaction: bool,
    pub(crate) placement: CatalogPlacement,
    pub(crate) catalog: CatalogOptions,
    pub(crate) max_description: Option<usize>,
    pub(crate) max_tools: Option<usize>,
    pub(crate) loaded_guidance: Parts,
    pub(crate) search_tool: Arc<tower_genai_core::ToolDefinition>,
    pub(crate) max_rounds: u32,
    pub(crate) max_fruitless: u32,
    pub(crate) build: Arc<dyn BuildIndex>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("limit", &self.limit).field("placement", &self.placement).finish_non_exhaustive()
    }
}

/// What all clones of a layer value and the services it makes have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) prepared: Cache<Identity, Arc<Prepared>>,
    pub(crate) indexes: Cache<Identity, Arc<ToolIndex>>,
    pub(crate) sessions: Sessions,
}

/// How an index is made of a set of tools.
///
/// Implemented for closures:
///
/// ```
/// use tower_genai_core::ToolSet;
/// use tower_genai_tool_search::{ToolSearchLayer, documents, index::{Bm25, ToolIndex}};
///
/// let ranker = Bm25::new(1.2, 0.5)?;
/// let layer = ToolSearchLayer::new().index(move |tools: &ToolSet| Ok(ToolIndex::builder().ranker(ranker).build(documents(tools))?));
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
pub trait BuildIndex: Send + Sync {
    /// Builds the index; the ordinal of a tool is its place in the set.
    ///
    /// # Errors
    ///
    /// An error becomes an answer that the model can read.
    fn build(&self, tools: &ToolSet) -> Result<ToolIndex, Error>;
}

impl<F: Fn(&ToolSet) -> Result<ToolIndex, Error> + Send + Sync> BuildIndex for F {
    fn build(&self, tools: &ToolSet) -> Result<ToolIndex, Error> {
        self(tools)
    }
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        Self::invalid(error.to_string()).with_source(error)
    }
}

impl From<Bm25Error> for Error {
    fn from(error: Bm25Error) -> Self {
        Self::invalid(error.to_string()).with_source(error)
    }
}

impl ToolSearchLayer {
    /// At most 20 new definitions a search, every score above 0, BM25 with `k1` = 1.5 and `b` = 0.75, no record, the catalogue in the search
    /// tool's description.
    #[must_use]
    pub fn new() -> Self {
        let config = Config {
            limit: 20,
            min_score: 0.0,
            record: None,
            resend_after_compaction: true,
            placement: CatalogPlacement::SearchDescription,
            catalog: CatalogOptions { snippets: true, guidelines: true, max_bytes: 16 * 1024 },
            max_description: None,
            max_tools: None,
            loaded_guidance: Parts::GUIDELINES,
            search_tool: Arc::new(definition::search_tool()),
            max_rounds: 16,
            max_fruitless: 4,
            build: Arc::new(|tools: &ToolSet| crate::prepared::default_index(tools, Bm25::default())),
        };
        Self { config, shared: Shared::new() }
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        // Other options make other tool sets and indexes of the same tools.
        self.shared = Shared::new();
        self
    }

    /// Sets how many new definitions a search loads at most (20).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for 0: a search that loads nothing only costs rounds.
    pub fn limit(self, definitions: usize) -> Result<Self, Error> {
        if definitions == 0 {
            return Err(Error::invalid("limit is 0, so that no search could load a tool; use at least 1, or leave the layer out"));
        }
        Ok(self.with(|config| config.limit = definitions))
    }

    /// Sets the score that a tool must exceed (0). A search may ask for another one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for a score that is not finite.
    pub fn min_score(self, score: f64) -> Result<Self, Error> {
        if !score.is_finite() {
            return Err(Error::invalid("min_score is not a finite number; use 0 for no threshold"));
        }
        Ok(self.with(|config| config.min_score = score))
    }

    /// Sets the parameters of the ranking.
    #[must_use]
    pub fn bm25(self, bm25: Bm25) -> Self {
        self.index(move |tools: &ToolSet| crate::prepared::default_index(tools, bm25))
    }

    /// Replaces the index: its texts, its analyzer, its ranking.
    #[must_use]
    pub fn index(self, build: impl BuildIndex + 'static) -> Self {
        self.with(|config| config.build = Arc::new(build))
    }

    /// Keeps a record of what each session was given (no). Without a session id in the request nothing is recorded.
    #[must_use]
    pub fn record(self, record: impl SessionRecord + 'static) -> Self {
        self.with(|config| config.record = Some(Arc::new(record)))
    }

    /// Sets whether definitions that were loaded before a compaction are offered again (yes). With `false` they stay declared instead.
    #[must_use]
    pub fn resend_after_compaction(self, resend: bool) -> Self {
        self.with(|config| config.resend_after_compaction = resend)
    }

    /// Sets where the searchable tools are listed (the search tool's description).
    #[must_use]
    pub fn catalog(self, placement: CatalogPlacement) -> Self {
        self.with(|config| config.placement = placement)
    }

    /// Sets whether the list shows snippets (yes).
    #[must_use]
    pub fn catalog_snippets(self, show: bool) -> Self {
        self.with(|config| config.catalog.snippets = show)
    }

    /// Sets whether the list shows guidelines (yes).
    #[must_use]
    pub fn catalog_guidelines(self, show: bool) -> Self {
        self.with(|config| config.catalog.guidelines = show)
    }

    /// Sets how many bytes the list may have (16 kB). A longer one is names only, and is cut at a line if that is too long still.
    #[must_use]
    pub fn catalog_max_bytes(self, bytes: usize) -> Self {
        self.with(|config| config.catalog.max_bytes = bytes)
    }

    /// Sets how many characters the endpoint takes as a description (no limit). A list that does not fit moves to the system prompt.
    #[must_use]
    pub fn max_description(self, characters: usize) -> Self {
        self.with(|config| config.max_description = Some(characters))
    }

    /// Sets how many tools a request may declare at an endpoint where loaded tools are declared with the others (no limit). A search
    /// loads no more than still fit, and its answer says how many more that are.
    #[must_use]
    pub fn max_tools(self, tools: usize) -> Self {
        self.with(|config| config.max_tools = Some(tools))
    }

    /// Sets which guidance a loaded definition carries in its description (guidelines only).
    #[must_use]
    pub fn loaded_guidance(self, parts: Parts) -> Self {
        self.with(|config| config.loaded_guidance = parts)
    }

    /// Replaces the description of the search tool.
    #[must_use]
    pub fn search_description(self, text: impl Into<Arc<str>>) -> Self {
        self.with(|config| Arc::make_mut(&mut config.search_tool).description = text.into())
    }

    /// Replaces the snippet of the search tool.
    #[must_use]
    pub fn search_snippet(self, text: impl Into<Arc<str>>) -> Self {
        self.with(|config| Arc::make_mut(&mut config.search_tool).snippet = Some(text.into()))
    }

    /// Replaces the guidelines of the search tool.
    #[must_use]
    pub fn search_guidelines<T: Into<Arc<str>>>(self, rules: impl IntoIterator<Item = T>) -> Self {
        let rules = rules.into_iter().map(Into::into).collect();
        self.with(|config| Arc::make_mut(&mut config.search_tool).guidelines = rules)
    }

    /// Sets how many rounds of searching one call may have (16). The call then ends with [`StopReason::SearchLimit`](tower_genai_core::StopReason::SearchLimit).
    #[must_use]
    pub fn max_rounds(self, rounds: u32) -> Self {
        self.with(|config| config.max_rounds = rounds.max(1))
    }

    /// Sets how many rounds in a row may load nothing before the call ends with
    /// [`StopReason::SearchLimit`](tower_genai_core::StopReason::SearchLimit) (4). From the second on the model is told to go on without.
    #[must_use]
    pub fn max_fruitless(self, rounds: u32) -> Self {
        self.with(|config| config.max_fruitless = rounds.max(1))
    }

    /// Builds everything that a tool set needs, the index included, so that neither the first request nor the first search has to.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for a set with a tool named `tool_search`, and what the index refuses.
    pub fn prepare(&self, tools: &ToolSet) -> Result<(), Error> {
        let prepared = self.shared.prepare(tools, &self.config)?;
        self.shared.index(&prepared, &self.config).map(drop)
    }

    /// Forgets what was recorded of a session.
    ///
    /// # Errors
    ///
    /// Those of the record.
    pub async fn clear(&self, session: &str) -> Result<(), Error> {
        self.shared.sessions.forget(session);
        match &self.config.record {
            Some(record) => record.clear(session).await,
            None => Ok(()),
        }
    }
}

impl Default for ToolSearchLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { prepared: Cache::new(16), indexes: Cache::new(16), sessions: Sessions::default() })
    }

    pub(crate) fn prepare(&self, tools: &ToolSet, config: &Config) -> Result<Arc<Prepared>, Error> {
        self.prepared.get_or_try_build(tools.identity(), || Prepared::new(tools, config).map(Arc::new))
    }

    pub(crate) fn index(&self, prepared: &Prepared, config: &Config) -> Result<Arc<ToolIndex>, Error> {
        self.indexes.get_or_try_build(prepared.originals.identity(), || config.build.build(&prepared.originals).map(Arc::new))
    }
}

impl<S> Layer<S> for ToolSearchLayer {
    type Service = ToolSearch<S>;

    fn layer(&self, inner: S) -> ToolSearch<S> {
        ToolSearch::new(inner, Arc::new(self.config.clone()), self.shared.clone())
    }
}
