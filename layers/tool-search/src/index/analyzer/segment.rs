//! Where words begin and end.

use std::ops::Range;

use super::TextKind;
use super::fold::{Class, class, is_han};

/// A part of a text that becomes at most one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Letters or digits without an inner boundary.
    Word(&'a str),
    /// The adjacent words that make up one identifier, when there are several.
    Compound(&'a [&'a str]),
    /// A character of a script without spaces, or two neighbours.
    Character(&'a str),
}

/// Gives the pieces of `text`, which must be normalized, to `sink`.
pub(super) fn pieces(text: &str, kind: TextKind, sink: impl FnMut(Piece<'_>)) {
    let mut splitter = Splitter { text, kind, sink, words: Vec::new(), identifier: 0, identifiers: 0, open: None, run: Vec::new() };
    let mut characters = text.char_indices().peekable();
    let mut skip_to = 0;
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let end = at + c.len_utf8();
        if at < skip_to {
            continue;
        }
        match class(c) {
            Class::Mark => splitter.mark(end),
            Class::Unspaced => splitter.unspaced(at..end),
            class @ (Class::Upper | Class::Letter | Class::Digit) => splitter.word_character(at..end, class, next),
            Class::Other if matches!(c, '_' | '-' | '.' | '/') => splitter.connector(),
            Class::Other => {
                if matches!(c, '\'' | '\u{2019}') && splitter.open.is_some() {
                    skip_to = end + contraction(text.get(end..).unwrap_or_default());
                }
                splitter.finish();
            }
        }
    }
    splitter.finish();
}

/// The length of the remainder of an English contraction or possessive at the start of `rest`.
fn contraction(rest: &str) -> usize {
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let (ending, _) = rest.split_at_checked(end).unwrap_or_default();
    let endings = ["s", "t", "d", "m", "ll", "re", "ve"];
    if endings.iter().any(|known| ending.eq_ignore_ascii_case(known)) { end } else { 0 }
}

/// The word being read.
struct Open {
    range: Range<usize>,
    /// The class of its last letter or digit, and where that begins.
    last: (Class, usize),
    /// How many upper-case letters it ends with.
    capitals: usize,
}

struct Splitter<'a, S> {
    text: &'a str,
    kind: TextKind,
    sink: S,
    /// The finished words of the current compound.
    words: Vec<&'a str>,
    /// Where in `words` the current identifier begins; how many came before it.
    identifier: usize,
    identifiers: usize,
    open: Option<Open>,
    /// The characters of the current run without spaces.
    run: Vec<Range<usize>>,
}

impl<'a, S: FnMut(Piece<'_>)> Splitter<'a, S> {
    fn word_character(&mut self, at: Range<usize>, class: Class, next: Option<char>) {
        self.finish_run();
        let Some(open) = &mut self.open else {
            self.begin(at, class);
            return;
        };
        let (last, last_at) = open.last;
        let digits_meet_letters = (last == Class::Digit) != (class == Class::Digit);
        let hump = last == Class::Letter && class == Class::Upper;
        if digits_meet_letters || hump {
            self.finish_word();
            self.begin(at, class);
            return;
        }
        // The last of several capitals begins the next word (`XMLHttp`), except before a plural s
        // (`PDFs`).
        let plural = self.text.get(at.clone()) == Some("s") && !next.is_some_and(|next| next.is_lowercase());
        if class == Class::Letter && open.capitals > 1 && !plural {
            open.range.end = last_at;
            self.finish_word();
            self.begin(last_at..at.end, class);
            return;
        }
        open.range.end = at.end;
        open.last = (class, at.start);
        open.capitals = if class == Class::Upper { open.capitals + 1 } else { 0 };
    }

    fn begin(&mut self, range: Range<usize>, class: Class) {
        let start = range.start;
        self.open = Some(Open { range, last: (class, start), capitals: usize::from(class == Class::Upper) });
    }

    fn mark(&mut self, end: usize) {
        if let Some(open) = &mut self.open {
            open.range.end = end;
        } else if let Some(character) = self.run.last_mut() {
            character.end = end;
        }
    }

    fn unspaced(&mut self, at: Range<usize>) {
        self.finish_compound();
        self.run.push(at);
    }

    fn connector(&mut self) {
        self.finish_run();
        self.finish_identifier();
    }

    fn finish(&mut self) {
        self.finish_run();
        self.finish_compound();
    }

    fn finish_word(&mut self) {
        if let Some(open) = self.open.take() {
            let word = self.text.get(open.range).unwrap_or_default();
            self.words.push(word);
            (self.sink)(Piece::Word(word));
        }
    }

    fn finish_identifier(&mut self) {
        self.finish_word();
        let words = self.words.get(self.identifier..).unwrap_or_default();
        if words.is_empty() {
            return;
        }
        self.identifiers += 1;
        if words.len() > 1 {
            (self.sink)(Piece::Compound(words));
        }
        self.identifier = self.words.len();
    }

    fn finish_compound(&mut self) {
        self.finish_identifier();
        // `2.5` is not 25.
        let spelled = |word: &&str| word.contains(|c: char| !c.is_numeric());
        if self.identifiers > 1 && self.words.iter().any(spelled) {
            (self.sink)(Piece::Compound(&self.words));
        }
        self.words.clear();
        self.identifier = 0;
        self.identifiers = 0;
    }

    fn finish_run(&mut self) {
        let slice = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let alone = self.run.len() == 1;
        for character in &self.run {
            let character = slice(character.clone());
            if alone || self.kind != TextKind::Query || character.starts_with(is_han) {
                (self.sink)(Piece::Character(character));
            }
        }
        for pair in self.run.windows(2) {
            if let [first, second] = pair {
                (self.sink)(Piece::Character(slice(first.start..second.end)));
            }
        }
        self.run.clear();
    }
}
