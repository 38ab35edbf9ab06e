//! Names that a program has spoilt: letters written as escapes, or read in the wrong encoding.

/// How programs write a letter as a number: what precedes it, its base, and its fewest and most digits.
const ESCAPES: [(&str, u32, [usize; 2]); 6] = [
    ("&#x", 16, [1, 6]),
    ("&#X", 16, [1, 6]),
    ("&#", 10, [1, 7]),
    ("\\u", 16, [4, 4]),
    ("%", 16, [2, 2]),
    ("=", 16, [2, 2]),
];

/// Other escapes, each with its letter.
const NAMED: [(&str, char); 7] = [
    ("&amp;", '&'),
    ("&apos;", '\''),
    ("&lsquo;", '\''),
    ("&rsquo;", '\''),
    ("&nbsp;", ' '),
    ("\\'", '\''),
    ("''", '\''),
];

/// The letters of windows-1252 from 0x80 on, where Latin-1 has control characters.
const WINDOWS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// A name with the letters that were meant: without escapes, and UTF-8 where it was read as windows-1252,
/// also twice. Some names that are right look spoilt, so compare with the name as given as well.
pub(super) fn repaired(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii() && !b"&\\%='".contains(&byte)) {
        return name.to_owned();
    }
    in_utf_8(&in_utf_8(&unescaped(name)))
}

/// Whether letters of a name are lost, or stand in an escape without one meaning.
pub(super) fn is_unreadable(name: &str) -> bool {
    let repaired = repaired(name);
    repaired.contains('\u{fffd}') || is_escaped(&repaired)
}

/// Whether a program has put something else in place of a letter of a name.
pub(super) fn is_escaped(name: &str) -> bool {
    let is_entity = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '#');
        text.starts_with('#') || end.is_some_and(|end| end > 0 && text[end..].starts_with(';'))
    };
    let is_byte = |text: &str| {
        text.get(..2).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    name.contains(['\\', '?'])
        || name.split('&').skip(1).any(is_entity)
        || name.split(['%', '=']).skip(1).any(is_byte)
}

fn unescaped(name: &str) -> String {
    let (mut letters, mut rest) = (String::with_capacity(name.len()), name);
    while let Some(first) = rest.chars().next() {
        let found = ESCAPES.iter().find_map(|escape| numbered(rest, escape)).or_else(|| {
            NAMED.iter().find_map(|(escape, letter)| Some((*letter, rest.strip_prefix(escape)?)))
        });
        let (letter, after) = found.unwrap_or((first, &rest[first.len_utf8()..]));
        letters.push(letter);
        rest = after;
    }
    letters
}

/// The letter of an escape at the beginning of a text, and what follows.
fn numbered<'t>(
    text: &'t str,
    (start, base, [least, most]): &(&str, u32, [usize; 2]),
) -> Option<(char, &'t str)> {
    let code = text.strip_prefix(start)?;
    let digits = code.bytes().take(*most).take_while(|digit| char::from(*digit).is_digit(*base)).count();
    let letter = char::from_u32(u32::from_str_radix(&code[..digits], *base).ok()?)?;
    let after = &code[digits..];
    (digits >= *least).then(|| (letter, after.strip_prefix(';').unwrap_or(after)))
}

/// Reads each run of letters beyond ASCII as UTF-8 where its bytes are that, and else as windows-1252.
fn in_utf_8(text: &str) -> String {
    let byte = |letter: &char| {
        let place = WINDOWS.chars().position(|one| one == *letter).and_then(|place| u8::try_from(place).ok());
        place.map(|place| 0x80 + place).or_else(|| u8::try_from(*letter).ok())
    };
    let meant = |letter: &char| {
        let place =
            u32::from(*letter).checked_sub(0x80).and_then(|place| WINDOWS.chars().nth(place as usize));
        place.unwrap_or(*letter)
    };
    let letters: Vec<char> = text.chars().collect();
    let runs = letters.chunk_by(|one, other| one.is_ascii() == other.is_ascii()).map(|run| {
        let bytes: Option<Vec<u8>> = run.iter().map(byte).collect();
        let read = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        read.unwrap_or_else(|| run.iter().map(meant).collect())
    });
    runs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_program_has_spoilt_has_the_letters_that_were_meant() {
        for (spoilt, meant) in [
            ("O&#39;Brien", "O'Brien"),
            ("O&#x27;Brien", "O'Brien"),
            ("O&#39Brien", "O'Brien"),
            ("O&apos;Brien", "O'Brien"),
            (r"O\'Brien", "O'Brien"),
            ("O''Brien", "O'Brien"),
            ("O%27Brien", "O'Brien"),
            ("O\u{92}Brien", "O’Brien"),
            ("Oâ€™Brien", "O’Brien"),
            ("AndrÃ©", "André"),
            ("AndrÃƒÂ©", "André"),
            ("Andr%C3%A9", "André"),
            ("Andr%c3%a9", "André"),
            ("Andr%E9", "André"),
            ("Andr=C3=A9", "André"),
            ("Andr&#233;", "André"),
            (r"Andr\u00e9", "André"),
            ("Mary%20Ann", "Mary Ann"),
            ("Müller", "Müller"),
            ("Smith & Jones", "Smith & Jones"),
            ("Łukasz", "Łukasz"),
        ] {
            assert_eq!(repaired(spoilt), meant, "{spoilt}");
            assert!(!is_unreadable(spoilt), "{spoilt}");
        }
    }

    #[test]
    fn a_name_with_lost_letters_is_unreadable() {
        for name in ["?ukasz", "Andr\u{fffd}", "M&uuml;ller", r"Andr\xe9", r"\ud83d", "ï¿½ukasz"] {
            assert!(is_unreadable(name), "{name}");
        }
    }
}
