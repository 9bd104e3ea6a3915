//! Words that say nothing about a tool.

/// Whether a folded English word stands in sentences and requests of every kind.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Function words, what is left of contractions, and the words of somebody who asks for something.
/// Sorted.
#[rustfmt::skip]
const STOP_WORDS: [&str; 202] = [
    "a", "able", "about", "ain", "all", "also", "although", "always", "am", "among", "an", "and",
    "another", "any", "are", "aren", "as", "at", "be", "because", "been", "being", "both", "but",
    "by", "can", "cannot", "cant", "could", "couldn", "did", "didn", "didnt", "do", "does", "doesn",
    "doesnt", "doing", "don", "done", "dont", "during", "each", "eg", "either", "else", "etc",
    "even", "ever", "every", "few", "for", "from", "had", "hadn", "has", "hasn", "have", "haven",
    "having", "he", "hello", "help", "her", "here", "hers", "herself", "hey", "hi", "him",
    "himself", "his", "how", "i", "ie", "if", "im", "in", "is", "isn", "it", "its", "itself", "ive",
    "just", "know", "let", "lets", "like", "many", "may", "me", "might", "mightn", "mine", "more",
    "most", "much", "must", "mustn", "my", "myself", "need", "needed", "needn", "needs", "neither",
    "never", "none", "nor", "not", "now", "of", "ok", "okay", "on", "only", "onto", "or", "other",
    "our", "ours", "ourselves", "out", "own", "per", "please", "same", "several", "shall", "shan",
    "she", "should", "shouldn", "so", "some", "still", "such", "tell", "than", "thank", "thanks",
    "that", "thats", "the", "their", "theirs", "them", "themselves", "then", "there", "these",
    "they", "think", "this", "those", "though", "to", "too", "toward", "towards", "unless", "until",
    "upon", "us", "very", "via", "want", "wanted", "wants", "was", "wasn", "we", "were", "weren",
    "what", "whats", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "won", "wonder", "wondering", "wont", "would", "wouldn", "yes", "yet", "you",
    "your", "youre", "yours", "yourself", "yourselves",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched_by_halves() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("please") && !is_stop_word("find"));
    }
}
