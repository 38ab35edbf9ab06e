//! The spellings of a text: escapes of JSON, XML and URLs, also within each other (`\/`, `\u0041`, `&#65;`,
//! `%41`). Each spelling is decoded, with the place of every decoded byte in the text as it is written.

/// Escapes within escapes that are decoded.
const DEPTH: usize = 3;

/// The kinds of escapes, each decoded by itself.
const ESCAPES: [Escape; 5] = [backslash, entity, percent, plus, nul];

/// Reads an escape at the start of a text: the bytes that it takes, and the text that it stands for.
type Escape = fn(&[u8]) -> Decoded;
type Decoded = Option<(usize, String)>;

/// A text, and from where to where each of its bytes stands in the text as it is written.
pub(super) struct Spelling {
    /// The text.
    pub bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

/// Shows a text as it is written, then as each of its escapes decodes it.
pub(super) fn each_spelling(text: &[u8], look: &mut dyn FnMut(&Spelling)) {
    let places = (0..text.len()).map(|at| (at, at + 1)).collect();
    Spelling { bytes: text.to_vec(), places }.each(DEPTH, look);
}

impl Spelling {
    /// Where a part of it stands in the text as it is written.
    pub fn place(&self, at: usize, length: usize) -> (usize, usize) {
        (self.places[at].0, self.places[at + length - 1].1)
    }

    fn each(&self, depth: usize, look: &mut dyn FnMut(&Self)) {
        look(self);
        if depth > 0 {
            let decoded = ESCAPES.iter().filter_map(|escape| self.decoded(*escape));
            decoded.for_each(|decoded| decoded.each(depth - 1, look));
        }
    }

    /// The text without escapes of one kind; `None` if it has none.
    fn decoded(&self, escape: Escape) -> Option<Self> {
        let (mut bytes, mut places) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let (mut at, mut found) = (0, false);
        while at < self.bytes.len() {
            if let Some((length, text)) = escape(&self.bytes[at..]) {
                found = true;
                places.extend(text.bytes().map(|_| self.place(at, length)));
                bytes.extend(text.bytes());
                at += length;
            } else {
                bytes.push(self.bytes[at]);
                places.push(self.places[at]);
                at += 1;
            }
        }
        found.then_some(Self { bytes, places })
    }
}

fn backslash(text: &[u8]) -> Decoded {
    let [b'\\', letter, rest @ ..] = text else { return None };
    let simple = |text: &str| Some((2, text.to_owned()));
    match letter {
        b'u' => {
            let low = || rest.get(4..)?.strip_prefix(b"\\u").and_then(|low| number(low.get(..4)?, 16));
            let high = number(rest.get(..4)?, 16)?;
            let pair = (0xd800..0xdc00).contains(&high).then(low).flatten();
            let units = [high, pair.unwrap_or_default()].map(|unit| unit as u16);
            let units = &units[..1 + usize::from(pair.is_some())];
            Some((6 * units.len(), String::from_utf16(units).ok()?))
        }
        b'x' => Some((4, letter_of(number(rest.get(..2)?, 16)?)?)),
        b'n' => simple("\n"),
        b'r' => simple("\r"),
        b't' => simple("\t"),
        b'"' | b'\'' | b'\\' | b'/' => simple(&char::from(*letter).to_string()),
        _ => None,
    }
}

fn entity(text: &[u8]) -> Decoded {
    let rest = text.strip_prefix(b"&")?;
    let name = &rest[..rest.iter().take(12).position(|letter| *letter == b';')?];
    let text = match name {
        [b'#', b'x' | b'X', hex @ ..] => letter_of(number(hex, 16)?)?,
        [b'#', digits @ ..] => letter_of(number(digits, 10)?)?,
        b"amp" => "&".to_owned(),
        b"lt" => "<".to_owned(),
        b"gt" => ">".to_owned(),
        b"quot" => "\"".to_owned(),
        b"apos" => "'".to_owned(),
        _ => return None,
    };
    Some((name.len() + 2, text))
}

fn percent(text: &[u8]) -> Decoded {
    // Bytes beyond ASCII come in groups that are one letter.
    let byte = |at: usize| {
        let group = text.get(at..at + 3)?.strip_prefix(b"%")?;
        u8::try_from(number(group, 16)?).ok()
    };
    let bytes: Vec<u8> = (0..4).map_while(|nth| byte(3 * nth)).collect();
    let letter = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((3 * letter.len_utf8(), letter.to_string()))
}

fn plus(text: &[u8]) -> Decoded {
    text.starts_with(b"+").then(|| (1, " ".to_owned()))
}

/// Text of two bytes to a letter has one for each letter of English.
fn nul(text: &[u8]) -> Decoded {
    text.starts_with(b"\0").then(|| (1, String::new()))
}

fn letter_of(number: u32) -> Option<String> {
    char::from_u32(number).map(String::from)
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok()
}
