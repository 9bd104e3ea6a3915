//! One spelling for what readers take for the same text.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Compatibility forms and accents are gone, letter case is still there: it separates the words of
/// an identifier.
pub(super) fn normalize(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Decomposed, so that accents stand alone; composed again, because Hangul and voiced kana fall
    // apart as well.
    Cow::Owned(text.nfkd().filter(|&c| !is_left_out(c)).nfc().collect())
}

/// Characters that change how a word looks or sounds but not which word it is: accents of Latin,
/// Greek and Cyrillic, Hebrew and Arabic vowel points, joiners, soft hyphens, variation selectors.
/// The vowel signs of Indic scripts are marks too, and stay.
fn is_left_out(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}'
        | '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}' | '\u{05C2}'
        | '\u{05C4}' | '\u{05C5}' | '\u{05C7}'
        | '\u{0610}'..='\u{061A}' | '\u{0640}' | '\u{064B}'..='\u{065F}' | '\u{0670}'
        | '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}')
}

/// Appends `word` to `into` without letter case, and with the letters that have no accent to lose
/// in their plain form.
pub(super) fn push_folded(word: &str, into: &mut String) {
    if word.is_ascii() {
        into.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        return;
    }
    // Upper case first: it is what unites `ß` with `ss` and the two forms of sigma.
    for c in word.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase) {
        match c {
            'ø' => into.push('o'),
            'đ' | 'ð' => into.push('d'),
            'ł' => into.push('l'),
            'ħ' => into.push('h'),
            'æ' => into.push_str("ae"),
            'œ' => into.push_str("oe"),
            'þ' => into.push_str("th"),
            c if is_left_out(c) => {}
            c => into.push(c),
        }
    }
}

/// How a character takes part in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// An upper-case letter.
    Upper,
    /// Any other letter, and what continues one.
    Letter,
    Digit,
    /// A character of a script that is written without spaces between words.
    Unspaced,
    /// A sign that continues whatever it follows.
    Mark,
    /// Everything else.
    Other,
}

pub(super) fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Letter,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '\0'..='\x7F' => Class::Other,
        _ if is_unspaced(c) => Class::Unspaced,
        _ if is_combining_mark(c) => Class::Mark,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() => Class::Letter,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Other,
    }
}

/// Whether a character is a word by itself.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303B}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}')
}

/// Han, kana, bopomofo and Hangul; Thai, Lao, Myanmar and Khmer.
fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(c,
            '\u{3031}'..='\u{3035}' | '\u{303C}' | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}'
            | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
            | '\u{1B000}'..='\u{1B16F}' | '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}'
            | '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{A960}'..='\u{A97C}'
            | '\u{AC00}'..='\u{D7FB}')
        // Without the vowel signs of the South-East Asian scripts, which are marks.
        || (matches!(c, '\u{0E01}'..='\u{0EDF}' | '\u{1000}'..='\u{109F}'
                | '\u{1780}'..='\u{17D3}' | '\u{AA60}'..='\u{AA7F}')
            && c.is_alphabetic()
            && !is_combining_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut folded = String::new();
        push_folded(&normalize(text), &mut folded);
        folded
    }

    #[test]
    fn one_spelling() {
        for (text, expected) in [
            ("Café", "cafe"),
            ("Cafe\u{301}", "cafe"),
            ("ＡＰＩ", "api"),
            ("ﬁle", "file"),
            ("①", "1"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("Ёлка", "елка"),
            ("İstanbul", "istanbul"),
            ("ISPARTA ısparta", "isparta isparta"),
            ("Łódź", "lodz"),
            ("Ærø", "aero"),
            ("co\u{00AD}operate", "cooperate"),
            ("ｶﾞｲﾄﾞ", "ガイド"),
            ("ガイド", "ガイド"),
            ("\u{1112}\u{1161}\u{11AB}", "한"),
            ("مُحَمَّد", "محمد"),
            ("أحمد", "احمد"),
            ("שָׁלוֹם", "שלום"),
            ("हिन्दी", "हिन्दी"),
            ("Việt", "viet"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn classes() {
        for (c, expected) in [
            ('a', Class::Letter),
            ('É', Class::Upper),
            ('ж', Class::Letter),
            ('٣', Class::Digit),
            ('語', Class::Unspaced),
            ('𠮷', Class::Unspaced),
            ('ー', Class::Unspaced),
            ('々', Class::Unspaced),
            ('ん', Class::Unspaced),
            ('한', Class::Unspaced),
            ('ก', Class::Unspaced),
            ('\u{0E34}', Class::Mark),
            ('\u{094D}', Class::Mark),
            ('_', Class::Other),
            ('、', Class::Other),
            ('฿', Class::Other),
            ('🚀', Class::Other),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }
}
