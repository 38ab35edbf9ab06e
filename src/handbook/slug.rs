//! What a heading is called in an address.

/// The heading in lower case, with a hyphen for whatever is neither a letter nor a digit: `#until-when`.
pub fn slug(heading: &str) -> String {
    let words = heading.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
