//! Electronic mail addresses.

use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// A mail address: a dot-atom, `@`, and a domain with at least one dot.
    Email, "an email address",
    Accepted::Pattern(r"^(?=.{0,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$"), address
}

/// The limit that the protocols set for a whole address.
const LENGTH_MAX: usize = 254;

fn address(text: &str) -> Option<String> {
    let (local, domain) = text.rsplit_once('@')?;
    let local_fits = local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_byte));
    let domain_fits = domain.contains('.') && domain.split('.').all(is_label);
    (text.len() <= LENGTH_MAX && local_fits && domain_fits).then(|| text.to_owned())
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_label(label: &str) -> bool {
    const LABEL_LENGTH_MAX: usize = 63;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let has_good_length = (1..=LABEL_LENGTH_MAX).contains(&label.len());
    has_good_length && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_atoms_at_dotted_domains_are_read() {
        for text in
            ["jane@example.com", "jane.q+offers@mail.example.co.uk", "o'neil_{x}@a-b.example", "J@X.IO"]
        {
            assert_eq!(Email::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        let refused = [
            "jane",
            "jane@localhost",
            "@example.com",
            "jane@",
            "jane..q@example.com",
            ".jane@example.com",
            "jane.@example.com",
            "jane@example..com",
            "jane@-example.com",
            "ja ne@example.com",
            "a@b@example.com",
            "\"jane\"@example.com",
            "jane@example.com ",
            "jane@exam_ple.com",
        ];
        for text in refused {
            assert_eq!(Email::parse(text), None, "{text}");
        }
        assert_eq!(Email::parse(&format!("{}@example.com", "a".repeat(LENGTH_MAX))), None);
    }
}
