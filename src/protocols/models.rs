//! What is known of models by their names.

use tower_genai_core::DeferralMode;

use super::{Capabilities, ThinkingStyle};

impl Capabilities {
    /// What is known to be different about a model of this name; a name that says nothing changes nothing.
    ///
    /// The constructors of providers call this once, with the model that they are given. A request that names another model is written
    /// with the same capabilities.
    ///
    /// Sources: Anthropic's pages on [tool search], [thinking] and [system messages]; OpenAI's on [tool search in Responses] and Google's on
    /// [thinking levels] and [tool combination].
    ///
    /// ```
    /// use tower_genai::{DeferralMode, protocols::{Capabilities, ThinkingStyle}};
    ///
    /// let older = Capabilities::anthropic().for_model("claude-opus-4-1-20250805");
    /// assert_eq!((older.deferral, older.thinking), (DeferralMode::Append, ThinkingStyle::Budget));
    /// assert_eq!(Capabilities::openai_responses().for_model("gpt-4o").deferral, DeferralMode::Append);
    /// assert_eq!(Capabilities::anthropic().for_model("my-own"), Capabilities::anthropic());
    /// ```
    ///
    /// [tool search]: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
    /// [thinking]: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    /// [system messages]: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    /// [tool search in Responses]: https://developers.openai.com/api/docs/guides/tools-tool-search
    /// [thinking levels]: https://ai.google.dev/gemini-api/docs/thinking
    /// [tool combination]: https://ai.google.dev/gemini-api/docs/tool-combination
    #[must_use]
    pub fn for_model(mut self, model: &str) -> Self {
        // Gateways put the vendor before the name.
        let name = model.rsplit(['/', ':']).find(|part| part.contains(['-', '.'])).unwrap_or(model).to_ascii_lowercase();
        if let Some((family, version)) = claude(&name) {
            self.adjust_claude(family, version);
        } else if let Some(version) = after(&name, "gpt-").map(version) {
            self.adjust_gpt(version);
        } else if name.starts_with("chatgpt-4") {
            self.adjust_gpt((4, 0));
        } else if let Some(rest) = name.strip_prefix('o').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
            // The o series thinks, and is older than the tool search.
            self.adjust_gpt((5, version(rest).0.min(3)));
        } else if let Some(version) = after(&name, "gemini-").map(version) {
            self.adjust_gemini(version);
        }
        if name.starts_with("gpt-oss") && self.thinking == ThinkingStyle::Switch {
            // The one family that Ollama tells how much to think.
            self.thinking = ThinkingStyle::Effort;
        }
        self
    }

    fn adjust_claude(&mut self, family: &str, version: (u32, u32)) {
        let is_fable = matches!(family, "fable" | "mythos");
        if version < (4, 5) && self.deferral == DeferralMode::Reference {
            self.deferral = DeferralMode::Append;
        }
        // OpenAI-shaped gateways have their own words for thinking.
        if self.thinking == ThinkingStyle::Adaptive {
            self.thinking = match version {
                version if version < (3, 7) => ThinkingStyle::Unsupported,
                version if version < (4, 6) => ThinkingStyle::Budget,
                (5, 5) if family == "sonnet" => ThinkingStyle::BetweenTools,
                version if is_fable && version >= (5, 0) || family == "opus" && version >= (5, 5) => ThinkingStyle::Always,
                _ => ThinkingStyle::Adaptive,
            };
        }
        self.forced_tool_choice &= !(is_fable && version >= (5, 1) || version >= (5, 5));
        self.sampling &= version < (4, 7);
        self.system_messages |= family == "opus" && version >= (4, 8) || family == "fable" && version >= (5, 0);
    }

    fn adjust_gpt(&mut self, version: (u32, u32)) {
        // A name without a version says nothing.
        if version == (0, 0) {
            return;
        }
        if version < (5, 4) && self.deferral == DeferralMode::SearchOutput {
            self.deferral = DeferralMode::Append;
        }
        if version < (5, 0) {
            self.thinking = ThinkingStyle::Unsupported;
        }
    }

    fn adjust_gemini(&mut self, version: (u32, u32)) {
        if version == (0, 0) || version >= (3, 0) || !self.call_signatures {
            return;
        }
        let Self { mixed_tools, thinking, call_signatures, tool_images, .. } = Self::gemini_2();
        (self.mixed_tools, self.thinking, self.call_signatures, self.tool_images) = (mixed_tools, thinking, call_signatures, tool_images);
        if version < (2, 5) {
            self.thinking = ThinkingStyle::Unsupported;
        }
    }
}

/// The family and the version of a model of Anthropic: `claude-opus-4-5-20251101`, `claude-3-7-sonnet-latest`, `claude-opus-4.5`.
fn claude(name: &str) -> Option<(&'static str, (u32, u32))> {
    let rest = after(name, "claude-")?;
    let family = ["opus", "sonnet", "haiku", "fable", "mythos"].into_iter().find(|family| rest.contains(family))?;
    let (before, behind) = rest.split_once(family)?;
    let version = [version(behind.trim_start_matches('-')), version(before)].into_iter().find(|version| *version != (0, 0))?;
    Some((family, version))
}

fn after<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.find(prefix).and_then(|at| name.get(at + prefix.len()..))
}

/// The version at the beginning of a text, `4-5-..` or `5.4-..`; a date is none.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split(['-', '.', '@']).map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part.get(..digits).filter(|digits| digits.len() < 3).and_then(|digits| digits.parse::<u32>().ok())
    });
    let major = numbers.next().flatten().unwrap_or(0);
    (major, numbers.next().flatten().filter(|_| major > 0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_versions() {
        for (name, expected) in [
            ("claude-opus-4-5-20251101", Some(("opus", (4, 5)))),
            ("claude-3-7-sonnet-20250219", Some(("sonnet", (3, 7)))),
            ("claude-3-opus-20240229", Some(("opus", (3, 0)))),
            ("claude-sonnet-5", Some(("sonnet", (5, 0)))),
            ("claude-haiku-4.5", Some(("haiku", (4, 5)))),
            ("us.anthropic.claude-opus-4-20250514-v1", Some(("opus", (4, 0)))),
            ("claude-fable-5-1@20261001", Some(("fable", (5, 1)))),
            ("claude-next", None),
            ("claude-opus-latest", None),
        ] {
            assert_eq!(claude(name), expected, "{name}");
        }
    }

    #[test]
    fn models_of_anthropic() {
        use ThinkingStyle::{Adaptive, Always, BetweenTools, Budget, Unsupported};
        for (model, thinking, forced, sampling, refers) in [
            ("claude-3-5-haiku-latest", Unsupported, true, true, false),
            ("claude-3-7-sonnet-latest", Budget, true, true, false),
            ("claude-opus-4-1", Budget, true, true, false),
            ("anthropic/claude-sonnet-4.5", Budget, true, true, true),
            ("claude-opus-4-6", Adaptive, true, true, true),
            ("claude-opus-4-7", Adaptive, true, false, true),
            ("claude-sonnet-5", Adaptive, true, false, true),
            ("claude-fable-5", Always, true, false, true),
            ("claude-fable-5-1", Always, false, false, true),
            ("claude-opus-5-5", Always, false, false, true),
            ("claude-sonnet-5-5", BetweenTools, false, false, true),
            ("fake", Adaptive, true, true, true),
        ] {
            let known = Capabilities::anthropic().for_model(model);
            let refers_known = known.deferral == DeferralMode::Reference;
            assert_eq!(
                (known.thinking, known.forced_tool_choice, known.sampling, refers_known),
                (thinking, forced, sampling, refers),
                "{model}"
            );
        }
        let system = |model| Capabilities::anthropic().for_model(model).system_messages;
        assert!(system("claude-opus-4-8") && system("claude-fable-5") && !system("claude-sonnet-5"));
        assert_eq!(Capabilities::openai_chat().for_model("anthropic/claude-opus-5.5").thinking, ThinkingStyle::Effort);
    }

    #[test]
    fn models_of_openai() {
        for (model, searches, thinks) in [
            ("gpt-4o-mini", false, false),
            ("gpt-4.1", false, false),
            ("chatgpt-4o-latest", false, false),
            ("o3-mini", false, true),
            ("o1", false, true),
            ("gpt-5", false, true),
            ("gpt-5.3-codex", false, true),
            ("gpt-5.4", true, true),
            ("openai/gpt-5.5", true, true),
            ("gpt-6", true, true),
            ("gpt-oss-120b", true, true),
            ("fake", true, true),
        ] {
            let known = Capabilities::openai_responses().for_model(model);
            assert_eq!(known.deferral == DeferralMode::SearchOutput, searches, "{model}");
            assert_eq!(known.thinking != ThinkingStyle::Unsupported, thinks, "{model}");
        }
    }

    #[test]
    fn models_of_ollama() {
        let thinking = |model| Capabilities::ollama().for_model(model).thinking;
        assert_eq!(["gpt-oss:20b", "gpt-oss"].map(thinking), [ThinkingStyle::Effort; 2]);
        assert_eq!(["qwen3:4b", "deepseek-r1:8b", "gemma4:e2b"].map(thinking), [ThinkingStyle::Switch; 3]);
    }

    #[test]
    fn models_of_google() {
        assert_eq!(Capabilities::gemini().for_model("gemini-3-pro-preview"), Capabilities::gemini());
        assert_eq!(Capabilities::gemini().for_model("models/gemini-2.5-flash"), Capabilities::gemini_2());
        assert_eq!(Capabilities::gemini().for_model("gemini-2.0-flash").thinking, ThinkingStyle::Unsupported);
        assert_eq!(Capabilities::compatible_chat().for_model("google/gemini-2.5-flash"), Capabilities::compatible_chat());
    }
}
