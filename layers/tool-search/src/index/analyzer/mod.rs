//! From text to tokens.

mod fold;
mod segment;
mod stop_words;

use std::fmt;

use rust_stemmers::{Algorithm, Stemmer};

use self::fold::{normalize, push_folded};
use self::segment::{Piece, pieces};
use self::stop_words::is_stop_word;

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextKind {
    /// An identifier of a tool: its name or namespace, a parameter, an allowed value.
    Name,
    /// Sentences of a tool: a description, a snippet, a guideline.
    Prose,
    /// What somebody looks for.
    Query,
}

/// Turns text into tokens. Tools and queries pass through the same one, as they were written.
pub trait Analyzer: fmt::Debug + Send + Sync {
    /// Gives each token of `text` to `sink`, once for each time it occurs.
    fn tokens(&self, text: &str, kind: TextKind, sink: &mut dyn FnMut(&str));
}

/// The default [`Analyzer`], made for the identifiers and sentences of tools in any script.
///
/// - Compatibility forms, letter case and accents are folded: `Ｃａｆé` is `cafe`.
/// - Identifiers are split at punctuation, where lower case meets upper case, and between letters
///   and digits; in names and queries the whole without its punctuation is a token as well:
///   `XMLHttpRequest` gives `xml`, `http`, `request`, `xmlhttprequest`.
/// - English words are stemmed, so that `emails` is `email`.
/// - Han, kana, Hangul, Thai and its neighbours, whose words are not set apart, give each character
///   and each pair of neighbours; of a query only Han characters and those that stand alone count
///   by themselves, since one letter of the others says nothing.
/// - Words that say nothing about a tool (`the`, `please`, `want`) are left out of sentences and
///   queries, unless a query has nothing else. Nothing is left out for its length.
pub struct ToolAnalyzer {
    stemmer: Stemmer,
}

impl ToolAnalyzer {
    /// Makes the analyzer.
    pub fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }

    fn word(&self, word: &str, keep_stop_words: bool, sink: &mut dyn FnMut(&str)) {
        let english = word.bytes().all(|byte| byte.is_ascii_lowercase());
        if english && !keep_stop_words && is_stop_word(word) {
            return;
        }
        // Longer runs of letters are keys or data, not English.
        if !english || word.len() > 32 {
            sink(word);
        } else if let Some(acronym) = plural_acronym(word) {
            sink(acronym);
        } else {
            sink(&self.stemmer.stem(word));
        }
    }

    /// Returns whether there was any token.
    fn analyze(&self, text: &str, kind: TextKind, keep_stop_words: bool, sink: &mut dyn FnMut(&str)) -> bool {
        let mut any = false;
        let mut token = String::new();
        let mut whole = String::new();
        let mut sink = |token: &str| {
            any = true;
            sink(token);
        };
        pieces(text, kind, |piece| match piece {
            Piece::Word(word) => {
                token.clear();
                push_folded(word, &mut token);
                self.word(&token, keep_stop_words, &mut sink);
            }
            // In sentences the parts are enough; wholes would only make long documents longer.
            Piece::Compound(_) if kind == TextKind::Prose => {}
            Piece::Compound(words) => {
                whole.clear();
                words.iter().for_each(|word| push_folded(word, &mut whole));
                self.word(&whole, true, &mut sink);
            }
            Piece::Character(character) => sink(character),
        });
        any
    }
}

/// `pdf` for `pdfs`: the stemmer sees no plural where there is no vowel.
fn plural_acronym(word: &str) -> Option<&str> {
    let singular = word.strip_suffix('s')?;
    let vowel = |c| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y');
    (singular.len() >= 3 && !singular.ends_with('s') && !singular.contains(vowel)).then_some(singular)
}

impl Default for ToolAnalyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolAnalyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolAnalyzer").finish_non_exhaustive()
    }
}

impl Analyzer for ToolAnalyzer {
    fn tokens(&self, text: &str, kind: TextKind, sink: &mut dyn FnMut(&str)) {
        let text = normalize(text);
        let found = self.analyze(&text, kind, kind == TextKind::Name, sink);
        if !found && kind == TextKind::Query {
            self.analyze(&text, kind, true, sink);
        }
        if !found && kind == TextKind::Name && !text.trim().is_empty() {
            // A name of signs only.
            sink(text.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, kind: TextKind) -> String {
        let mut tokens = Vec::new();
        ToolAnalyzer::new().tokens(text, kind, &mut |token| tokens.push(token.to_owned()));
        tokens.join(" ")
    }

    #[test]
    fn identifiers() {
        for (name, expected) in [
            ("fetch", "fetch"),
            ("automation_update", "autom updat automationupd"),
            ("createIssue", "creat issu createissu"),
            ("XMLHttpRequest", "xml http request xmlhttprequest"),
            ("OvertimeService", "overtim servic overtimeservic"),
            ("listPDFs", "list pdf listpdf"),
            ("APIs", "api"),
            ("getURLsFast", "get url fast geturlsfast"),
            ("oauth2Token", "oauth 2 token oauth2token"),
            ("a.b/c-d_e", "a b c d e abcd"),
            ("addPerson_mcp_crm", "add person addperson mcp crm addpersonmcpcrm"),
            ("GitHub__open", "git hub github open githubopen"),
            ("v1.2", "v 1 v1 2 v12"),
            ("2.5", "2 5"),
            ("Get Weather", "get weather"),
            ("ÜberDienst", "uber dienst uberdienst"),
            ("查询_weather", "查 询 查询 weather"),
            ("get_it_for_me", "get it for me getitform"),
            ("__", "__"),
            (" ", ""),
            ("🚀", "🚀"),
        ] {
            assert_eq!(tokens(name, TextKind::Name), expected, "{name}");
        }
    }

    #[test]
    fn sentences() {
        for (text, expected) in [
            ("Sends e-mails to the user's contacts.", "send e mail user contact"),
            ("Don't use createIssue; it\u{2019}s gone", "use creat issu gone"),
            ("emails email EMAILED", "email email email"),
            ("rock'n'roll O'Brien", "rock n roll o brien"),
            ("", ""),
            ("--- !!! \u{0} \u{301}", ""),
            ("who are you", ""),
        ] {
            assert_eq!(tokens(text, TextKind::Prose), expected, "{text}");
        }
    }

    #[test]
    fn every_script() {
        for (text, expected) in [
            ("café naïve", "cafe naiv"),
            ("Ｓｅａｒｃｈ①", "search 1"),
            ("法令", "法 令 法令"),
            ("日本の", "日 本 の 日本 本の"),
            ("カメラ", "カ メ ラ カメ メラ"),
            ("ｶﾒﾗ", "カ メ ラ カメ メラ"),
            ("초과근무 승인", "초 과 근 무 초과 과근 근무 승 인 승인"),
            ("天气API查询", "天 气 天气 api 查 询 查询"),
            ("поиск Файлов", "поиск фаилов"),
            ("αναζήτηση", "αναζητηση"),
            ("البَحث", "البحث"),
            ("חִיפּוּשׂ", "חיפוש"),
            ("हिन्दी खोज", "हिन्दी खोज"),
            ("ค้นหา", "ค้ น ห า ค้น นห หา"),
            ("ძიება", "ძიება"),
            ("որոնում", "որոնում"),
            ("İstanbul'da", "istanbul da"),
            ("𠮷野家", "𠮷 野 家 𠮷野 野家"),
        ] {
            assert_eq!(tokens(text, TextKind::Prose), expected, "{text}");
        }
    }

    #[test]
    fn queries() {
        for (text, expected) in [
            ("can you help me to find my e-mails, please?", "find e mail email"),
            ("createIssue", "creat issu createissu"),
            ("create_issue", "creat issu createissu"),
            ("can you help me", "can you help me"),
            ("检索法令", "检 索 法 令 检索 索法 法令"),
            ("カメラ", "カメ メラ"),
            ("근무", "근무"),
            ("ค้นหา", "ค้น นห หา"),
            ("の", "の"),
            ("근 x", "근 x"),
            ("name:\"x\" AND (b OR c*)^2", "name x b c 2"),
        ] {
            assert_eq!(tokens(text, TextKind::Query), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_left_out_for_its_length() {
        for text in ["x".repeat(100_000), "9".repeat(100_000), "я".repeat(100_000)] {
            assert_eq!(tokens(&text, TextKind::Prose), text);
        }
        assert_eq!(tokens(&"語".repeat(100_000), TextKind::Query).split(' ').count(), 199_999);
        assert_eq!(tokens(&"xY".repeat(50_000), TextKind::Query).split(' ').count(), 50_002);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_none_is_looked_for_otherwise_than_it_was_indexed(text in ".*") {
            use std::collections::HashSet;
            let of = |kind| -> HashSet<String> {
                let mut tokens = HashSet::new();
                let mut sink = |token: &str| _ = tokens.insert(token.to_owned());
                ToolAnalyzer::new().tokens(&text, kind, &mut sink);
                tokens
            };
            proptest::prop_assert!(of(TextKind::Query).is_subset(&of(TextKind::Name)));
        }
    }
}
