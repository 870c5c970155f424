//! The name that somebody may have meant.

/// No word is suggested in which more letters differ than this, or than half of those that were given.
const FAR: usize = 3;

/// The known word nearest to `word` (fewest letters put in, left out or changed; the first of equals), if any is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = FAR.min(word.chars().count() / 2);
    let found = known.into_iter().map(|one| (distance(word, one), one)).min_by_key(|pair| pair.0)?;
    if found.0 <= limit { Some(found.1) } else { None }
}

/// `did you mean "…"?`, or what is known.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(one) => format!("did you mean {one:?}?"),
        None => format!("known: {}", some_of(known)),
    }
}

/// The first few of a list of words, in words.
pub fn some_of<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let words: Vec<&str> = known.into_iter().collect();
    let mut text = words[..words.len().min(SHOWN)].join(", ");
    if words.len() > SHOWN {
        text += &format!(", … ({} in all)", words.len());
    }
    text
}

/// Levenshtein distance, regardless of case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
