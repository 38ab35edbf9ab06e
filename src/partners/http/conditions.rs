//! Truth of texts within mappings. Jinja takes every non-empty text for true; in `not response.Approved` and
//! `… if response['Approved']`, `false` and similar texts must be false, as in conditions of the file. Before
//! compilation, each operand that is used as a condition is marked with a filter, so the value decides,
//! however it is looked up.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::value::Value;
use minijinja::{Environment, Error};

use super::bounds::{FACTOR, JOINED, PART};
use super::comparison;
use super::filters::ADDEND;
use super::mapping_error::own_words;
use super::truth::{says_nothing, truth_of};
use super::work::{self, SETTLED};
use crate::truth::truth;

const FILTER: &str = "unless_no";

/// The text that follows a marked operand; an opening bracket precedes it.
const MARK: &str = ")|unless_no";

/// The filter of operands that decide whether a partner declines or fails, and what is written behind one.
const STRICT_FILTER: &str = "unless_nothing";
const STRICT_MARK: &str = ")|unless_nothing";

/// What is wrong with a text that is no condition.
pub(super) const NO_TRUTH: &str = "gives a text that means neither yes nor no; compare it, as in \
    `response.status == 'open'`, or test it with `is defined`";

/// Operators of Jinja whose letters apart would be others.
const LONG: [&str; 6] = ["==", "!=", "<=", ">=", "**", "//"];

/// Operators that compare.
pub(super) const COMPARING: [&str; 7] = ["==", "!=", "<=", ">=", "<", ">", "in"];

/// Operators that bind more strongly.
const COMPUTING: [&str; 8] = ["+", "-", "*", "/", "//", "%", "**", "~"];

/// Keywords, which are not names.
pub(super) const WORDS: [&str; 14] =
    ["not", "and", "or", "if", "elif", "else", "in", "is", "true", "false", "none", "True", "False", "None"];

/// Offset and text of a word, a quoted text or an operator.
pub(super) type ConditionToken<'t> = (usize, &'t str);

/// How a tag begins, and its tokens.
pub(super) type Tag<'t> = (&'static str, Vec<ConditionToken<'t>>);

/// Whether a word may make an expression deeper.
pub(super) fn nests(word: &str) -> bool {
    let is_sign = word.starts_with(|first: char| first.is_ascii_punctuation() && !"_'\"".contains(first));
    let is_of_list = [",", ":", ")", "]", "}"].contains(&word);
    is_sign && !is_of_list || ["not", "and", "or", "if", "else", "in", "is"].contains(&word)
}

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter(FILTER, unless_no);
    environment.add_filter(STRICT_FILTER, |value: &Value| something(value).map(unless_no));
}

/// False for a text that means no; any other value unchanged.
fn unless_no(value: &Value) -> Value {
    match value.is_true() && truth_of(value) == Some(false) {
        true => false.into(),
        false => value.clone(),
    }
}

/// A value that is no text that may stand for nothing.
pub(super) fn something(value: &Value) -> Result<&Value, Error> {
    match says_nothing(value) {
        true => Err(own_words(NO_TRUTH)),
        false => Ok(value),
    }
}

/// An expression that says whether a partner declines or fails, with its conditions marked.
pub(super) fn marked_strictly(expression: &str) -> String {
    marked(expression).replace(MARK, STRICT_MARK)
}

/// Whether an expression names `status`, and whether it looks up names in `response` without naming `status`
/// or `response` itself.
pub(super) fn reach(expression: &str) -> (bool, bool) {
    let mut marking = Marking::of(expression);
    (marking.tokens, _) = tokens(expression, 0, None);
    let (mut names_status, mut names_whole, mut names_part) = (false, false, false);
    for nth in (0..marking.tokens.len()).filter(|nth| !marking.is_named(*nth)) {
        names_status |= marking.word(nth) == "status";
        if marking.word(nth) == "response" {
            let mut at = nth + 1;
            while let "." | "[" = marking.word(at) {
                names_part |= marking.word(at) == "." || marking.word(at + 1).starts_with(['\'', '"']);
                at = if marking.opens(at) { marking.closing(at) + 1 } else { at + 2 };
            }
            names_whole |= at == nth + 1;
        }
    }
    (names_status, names_part && !names_whole && !names_status)
}

/// An expression or a template with bounds alone, which takes samples for what they are.
pub(super) fn bounded(text: &str, tags: Vec<Tag<'_>>) -> String {
    Marking { is_bound: true, ..Marking::of(text) }.tags(tags).marked()
}

/// A mapping with divisions in place of products: as valid, but the compiler makes no long texts of it, which
/// it would before a bound is marked.
pub(super) fn without_products(text: &str, tags: &[Tag<'_>]) -> String {
    let mut text = text.to_owned();
    for (_, tokens) in tags {
        for pair in tokens.windows(2) {
            // `*more` is an argument.
            if pair[1].1 == "*" && !["(", ","].contains(&pair[0].1) {
                text.replace_range(pair[1].0..pair[1].0 + 1, "/");
            }
        }
    }
    text
}

/// An expression with its conditions marked.
pub(super) fn marked(expression: &str) -> String {
    Marking::of(expression).tags(vec![("{{", tokens(expression, 0, None).0)]).marked()
}

/// Marks the conditions in the tags of a template.
pub(super) fn marked_template(template: &str) -> String {
    Marking::of(template).tags(tags(template)).marked()
}

/// The tags of a template.
pub(super) fn tags(template: &str) -> Vec<Tag<'_>> {
    let (mut tags, mut at) = (Vec::new(), 0);
    while let Some((begin, kind)) = next_tag(template, at) {
        let end = match kind {
            "{#" => {
                at = template[begin..].find("#}").map_or(template.len(), |end| begin + end + 2);
                continue;
            }
            "{%" => "%}",
            _ => "}}",
        };
        let code = begin + kind.len();
        let code = code + usize::from(template[code..].starts_with(['-', '+']));
        let (tokens, after) = tokens(template, code, Some(end));
        let is_raw = kind == "{%" && tokens.first().is_some_and(|(_, word)| *word == "raw");
        at = if is_raw { end_of_raw(template, after) } else { after };
        tags.extend((!is_raw).then_some((kind, tokens)));
    }
    tags
}

/// Offset and opening of the next tag or comment.
fn next_tag(template: &str, from: usize) -> Option<(usize, &'static str)> {
    let found = |mark: &'static str| Some((from + template[from..].find(mark)?, mark));
    ["{{", "{%", "{#"].into_iter().filter_map(found).min()
}

/// Offset of the tag that ends a raw block.
fn end_of_raw(template: &str, from: usize) -> usize {
    let is_end = |at: &usize| {
        let tag = template[at + 2..].trim_start_matches(['-', '+']).trim_start();
        tag.starts_with("endraw")
    };
    let mut tags = template[from..].match_indices("{%").map(|(at, _)| from + at);
    tags.find(is_end).unwrap_or(template.len())
}

/// The tokens of code up to the `end` of its tag, and the offset of that end.
pub(super) fn tokens<'t>(text: &'t str, from: usize, end: Option<&str>) -> (Vec<ConditionToken<'t>>, usize) {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (mut tokens, mut at, mut depth) = (Vec::new(), from, 0_usize);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_end = |end: &str| {
            rest.starts_with(end) || rest.strip_prefix(['-', '+']).is_some_and(|rest| rest.starts_with(end))
        };
        if depth == 0 && end.is_some_and(is_end) {
            break;
        }
        let length = match first {
            '\'' | '"' => length_of_text(rest, first),
            _ if is_of_word(first) => rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len()),
            _ if LONG.iter().any(|operator| rest.starts_with(operator)) => 2,
            _ => first.len_utf8(),
        };
        depth = depth_behind(&rest[..length], depth);
        if !first.is_whitespace() {
            tokens.push((at, &rest[..length]));
        }
        at += length;
    }
    (tokens, at)
}

/// The depth of brackets behind a token.
pub(super) fn depth_behind(token: &str, depth: usize) -> usize {
    match token {
        "(" | "[" | "{" => depth + 1,
        ")" | "]" | "}" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Length of a quoted text, quotes included.
fn length_of_text(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = rest[1..].find(|letter| {
        let is_end = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// The marking of one mapping.
struct Marking<'t> {
    text: &'t str,
    tokens: Vec<ConditionToken<'t>>,
    /// Names bound to personal data or secrets, whose texts never mean no: a person may be called No.
    ours: BTreeSet<&'t str>,
    /// New texts of ranges, which are empty where a text is inserted.
    marks: Vec<(Range<usize>, String)>,
    /// Whether only bounds are marked.
    is_bound: bool,
}

impl<'t> Marking<'t> {
    fn of(text: &'t str) -> Self {
        let ours = BTreeSet::from(["lead", "secret"]);
        Self { text, tokens: Vec::new(), ours, marks: Vec::new(), is_bound: false }
    }

    /// Marks the tags of a template, or an expression as one of them.
    fn tags(mut self, tags: Vec<Tag<'t>>) -> Self {
        for (kind, tokens) in tags {
            self.tokens = tokens;
            match kind {
                "{%" => self.statement(),
                _ => self.operands(0..self.tokens.len(), false),
            }
        }
        self
    }

    /// The text with the marks.
    fn marked(mut self) -> String {
        self.marks.sort_by_key(|(range, _)| range.start);
        let (mut marked, mut from) = (String::with_capacity(self.text.len()), 0);
        for (range, mark) in self.marks {
            marked.push_str(&self.text[from..range.start]);
            marked.push_str(&mark);
            from = range.end;
        }
        marked + &self.text[from..]
    }

    /// The text that tokens span.
    fn span(&self, of: Range<usize>) -> Range<usize> {
        let (last, word) = self.tokens[of.end - 1];
        self.tokens[of.start].0..last + word.len()
    }

    fn insert(&mut self, at: usize, mark: impl Into<String>) {
        self.marks.push((at..at, mark.into()));
    }

    /// How tokens are written, as a text of Jinja.
    fn quoted(&self, of: Range<usize>) -> String {
        let text = self.text[self.span(of)].replace('\\', "\\\\").replace('\'', "\\'");
        format!("'{}'", text.replace(['\n', '\r'], " "))
    }

    fn word(&self, nth: usize) -> &'t str {
        self.tokens.get(nth).map_or("", |(_, word)| word)
    }

    /// Whether a word is the name of an attribute, filter or test in this position, even if it is a keyword.
    fn is_named(&self, nth: usize) -> bool {
        nth.checked_sub(1).is_some_and(|before| match self.word(before) {
            "." | "|" => true,
            "is" => !self.is_named(before),
            "not" => self.word(before.wrapping_sub(1)) == "is" && !self.is_named(before - 1),
            _ => false,
        })
    }

    /// Number of tokens of the comparing operator in this position; 0 if it is none.
    fn comparing(&self, nth: usize) -> usize {
        match self.word(nth) {
            _ if self.is_named(nth) => 0,
            "not" if self.word(nth + 1) == "in" => 2,
            word => usize::from(COMPARING.contains(&word)),
        }
    }

    /// Marks the conditions of a statement, and records which names it binds to which data.
    fn statement(&mut self) {
        let end = self.tokens.len();
        match self.word(0) {
            "for" => {
                let within = (1..end).find(|nth| self.word(*nth) == "in").unwrap_or(end);
                let is_recursive = self.word(end - 1) == "recursive" && !self.is_named(end - 1);
                let end = end - usize::from(is_recursive);
                self.bind(1..within, within + 1..end);
                self.operands(within + 1..end, false);
            }
            "set" | "with" => {
                let (mut names, mut settled) = (1, Vec::new());
                while let Some(assigns) = (names..end).find(|nth| self.word(*nth) == "=") {
                    self.bind(names..assigns, assigns + 1..end);
                    let is_one = self.word(0) == "set";
                    names = if is_one { end } else { self.next_pair(assigns + 1, end).min(end) };
                    settled.push(assigns + 1..names);
                }
                self.operands(1..end, false);
                for value in settled.into_iter().filter(|value| !value.is_empty()) {
                    let Range { start, end } = self.span(value);
                    self.marks.insert(0, (start..start, "(".to_owned()));
                    self.insert(end, format!(")|{SETTLED}"));
                }
            }
            "if" | "elif" => self.operands(1..end, true),
            _ => self.operands(1..end, false),
        }
    }

    /// Start of the next `name = value`.
    fn next_pair(&self, from: usize, end: usize) -> usize {
        let mut at = from;
        while at < end && self.word(at) != "," {
            at = if self.opens(at) { self.closing(at) } else { at } + 1;
        }
        at
    }

    /// Records whether names are bound to personal data.
    fn bind(&mut self, names: Range<usize>, value: Range<usize>) {
        let is_ours = self.is_ours(value);
        let named: Vec<_> = names.map(|nth| self.word(nth)).collect();
        self.ours.retain(|name| !named.contains(name));
        self.ours.extend(named.into_iter().filter(|_| is_ours));
    }

    fn opens(&self, nth: usize) -> bool {
        ["(", "[", "{"].contains(&self.word(nth))
    }

    /// The bracket that closes this one.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        let mut each = open..self.tokens.len();
        let closes = |nth: &usize| {
            depth = depth_behind(self.word(*nth), depth);
            depth == 0
        };
        each.find(closes).unwrap_or(self.tokens.len())
    }

    /// Marks the operands that are conditions; all of them if `is_asked`, the whole being a condition.
    fn operands(&mut self, of: Range<usize>, is_asked: bool) {
        let (mut begin, mut before, mut asks) = (of.start, "", is_asked);
        let mut at = of.start;
        while at < of.end {
            if self.opens(at) {
                at = self.closing(at) + 1;
                continue;
            }
            if self.divides(at, begin) {
                let behind = self.word(at);
                let is_condition = asks || before == "not" || ["and", "or"].contains(&behind);
                self.operand(begin..at, is_condition);
                asks = match behind {
                    "if" => true,
                    "and" | "or" | "not" => asks,
                    _ => is_asked,
                };
                (begin, before) = (at + 1, behind);
            }
            at += 1;
        }
        self.operand(begin..of.end, asks || before == "not");
    }

    /// Whether the word separates two operands.
    fn divides(&self, at: usize, begin: usize) -> bool {
        match self.word(at) {
            _ if self.is_named(at) => false,
            "and" | "or" | "if" | "else" | "," | ":" | "=" => true,
            // `a not in b` is one operand, and `*more` is an argument.
            "not" | "*" | "**" => at == begin,
            _ => false,
        }
    }

    /// Marks an operand if it compares or is a condition, its conversions, and what its brackets hold.
    fn operand(&mut self, of: Range<usize>, is_condition: bool) {
        let Some(last) = of.end.checked_sub(1).filter(|last| of.contains(last)) else { return };
        let is_group = self.word(of.start) == "(" && self.closing(of.start) == last;
        let (mut at, mut from, mut is_tested, mut operators) = (of.start, of.start, false, Vec::new());
        while at < of.end {
            let operator = at..at + self.comparing(at);
            if self.opens(at) {
                let end = self.closing(at);
                self.operands(at + 1..end, is_condition && is_group);
                at = end;
            } else if !operator.is_empty() {
                at = operator.end - 1;
                from = operator.end;
                operators.push(operator);
            } else if COMPUTING.contains(&self.word(at)) {
                from = at + 1;
            } else if self.word(at) == "|" {
                if let Some(payer) = work::payer(self.word(at + 1), self.word(at + 3)) {
                    self.insert(self.tokens[at].0, format!("|{payer}"));
                }
                if !self.is_bound && self.converts(at + 1) {
                    let mark = format!("(of={})", self.quoted(from..at + 2));
                    self.insert(self.span(at..at + 2).end, mark);
                }
            }
            is_tested |= self.word(at) == "is" && !self.is_named(at);
            at += 1;
        }
        let is_text_perhaps = is_condition && !is_group && !is_tested && operators.is_empty();
        self.addends(of.clone());
        self.joins(of.clone());
        let Range { start, end } = self.span(of.clone());
        if self.is_bound {
            return;
        }
        if !operators.is_empty() {
            // What Jinja compares alike is left to it, which is faster.
            if !self.is_alike(&of, &operators) {
                self.compare(of, operators);
            }
        } else if is_text_perhaps && self.root(of.clone()).is_some() && !self.is_ours(of) {
            self.insert(start, "(");
            self.insert(end, MARK);
        }
    }

    /// Marks what sums and products compute with, unless a sum has a word and so joins texts.
    fn addends(&mut self, of: Range<usize>) {
        let is_joined =
            |nth: usize| self.word(nth) == "+" && [nth - 1, nth + 1].iter().any(|at| self.is_quoted(*at));
        let of_sum = if self.is_bound || (of.start + 1..of.end).any(is_joined) { PART } else { ADDEND };
        let (mut begin, mut before, mut at) = (of.start, "", of.start);
        while at <= of.end {
            let word = if at < of.end { self.word(at) } else { "" };
            let divides =
                COMPUTING.contains(&word) || self.comparing(at) > 0 || word == "is" && !self.is_named(at);
            if word.is_empty() || divides {
                let is_number = self.word(begin).starts_with(|first: char| first.is_ascii_digit())
                    || at > begin + 2 && self.word(at - 2) == "|" && self.converts(at - 1);
                let of_both = [before, word];
                let filter = if of_both.contains(&"*") { FACTOR } else { of_sum };
                let is_word = at == begin + 1 && self.is_quoted(begin) && filter != FACTOR;
                if begin < at && (before == "+" || filter == FACTOR) && !is_number && !is_word {
                    self.insert(self.span(begin..at).end, format!("|{filter}"));
                }
                (begin, before) = (at + 1, word);
            }
            at = if self.opens(at) { self.closing(at) } else { at } + 1;
        }
    }

    /// Makes one call of each chain of `~`.
    fn joins(&mut self, of: Range<usize>) {
        let (mut begin, mut signs, mut at) = (of.start, Vec::new(), of.start);
        while at <= of.end {
            let word = if at < of.end { self.word(at) } else { "" };
            let is_sign = at > begin && !COMPUTING.contains(&self.word(at - 1));
            if word == "~" {
                signs.push(at);
            } else if word.is_empty() || ["+", "-"].contains(&word) && is_sign || self.comparing(at) > 0 {
                let mut call = format!(")|{JOINED}(");
                if !signs.is_empty() && begin < at {
                    let Range { start, end } = self.span(begin..at);
                    self.insert(start, "(");
                    for sign in signs.drain(..) {
                        self.marks
                            .push((self.span(sign..sign + 1), std::mem::replace(&mut call, ", ".to_owned())));
                    }
                    self.insert(end, ")");
                }
                at += self.comparing(at).saturating_sub(1);
                begin = at + 1;
            }
            at = if self.opens(at) { self.closing(at) } else { at } + 1;
        }
    }

    /// Whether it is a quoted text that is no number.
    fn is_quoted(&self, nth: usize) -> bool {
        let quoted = self.word(nth);
        let text = quoted.trim_matches(['\'', '"']);
        text != quoted && text.trim().parse::<f64>().is_err()
    }

    /// Whether the filter is a conversion to a number without arguments.
    fn converts(&self, filter: usize) -> bool {
        ["float", "int"].contains(&self.word(filter)) && self.word(filter + 1) != "("
    }

    /// Whether it asks if a value of the lead is a word that means neither a number nor a truth.
    fn is_alike(&self, of: &Range<usize>, operators: &[Range<usize>]) -> bool {
        let word = self.word(of.end - 1).trim_matches(['\'', '"']);
        let is_word = self.is_quoted(of.end - 1) && truth(word).is_none();
        let is_equality = |operator: &Range<usize>| {
            ["==", "!="].contains(&self.word(operator.start)) && operator.end + 1 == of.end
        };
        is_word && operators.iter().all(is_equality) && self.is_ours(of.clone())
    }

    /// Replaces the operators of a comparison by a call of the filter.
    fn compare(&mut self, of: Range<usize>, operators: Vec<Range<usize>>) {
        let mut begin = format!(")|{}({}, ", comparison::FILTER, self.quoted(of.clone()));
        let Range { start, end } = self.span(of);
        self.insert(start, "(");
        for operator in operators {
            let name = if operator.len() == 2 { "not in" } else { self.word(operator.start) };
            self.marks.push((self.span(operator), format!("{begin}'{name}', ")));
            begin = ", ".to_owned();
        }
        self.insert(end, ")");
    }

    /// The root name of a lookup: `response` of `response.Offer[0]`.
    fn root(&self, mut of: Range<usize>) -> Option<&'t str> {
        let is_name = |nth: &usize| {
            let word = self.word(*nth);
            word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && !WORDS.contains(&word)
                && !self.is_named(*nth)
                && self.word(nth + 1) != "("
        };
        of.find(is_name).map(|nth| self.word(nth))
    }

    fn is_ours(&self, of: Range<usize>) -> bool {
        self.root(of).is_some_and(|root| self.ours.contains(root))
    }
}

#[cfg(test)]
mod tests {
    use minijinja::AutoEscape;
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::{Expression, TextTemplate};
    use super::*;

    #[test]
    fn operands_whose_truth_is_asked_for_are_marked_and_no_values() {
        for text in [
            "not «response.Approved»",
            "response.message if «response.code»",
            "«response.reason» or true if not «response.accepted»",
            "«offer.a» or offer.b",
            "1 if («response.a» and «response.b») else 2",
            "1 if (lead.a and «response.b») else response.c",
            "not «response.Offer[0].X» and not «response['X']» or «response.a['b c'].d|default» or response.e",
            "not «(response.a - response.b)|default»",
            "«f(«response.a» or response.b)[1:2]» and response.c|default(«response.d» or 1, x=«response.e» or 2)",
            "{'a': «response.a» or 1, 'b': 2 if «response.b» else 3}",
            "not response.a is defined and response.b is not none",
            "offer.fee",
            "'if x' - offer.fee",
            r"'it\'s not' - offer.fee",
            "1 if response.a is defined else offer.b",
            "response.if.not.or",
            // A person may be called No.
            "lead.personalInformation.lastName or ''",
            "not lead.personalInformation['lastName']|default and secret.key",
        ] {
            let wanted = text.replace('«', "(").replace('»', MARK);
            assert_eq!(marked(&text.replace(['«', '»'], "")), wanted);
        }
    }

    #[test]
    fn comparisons_and_conversions_are_calls_that_know_how_they_are_written() {
        for (text, wanted) in [
            ("a == 'b'", "(a )|compared('a == \\'b\\'', '==',  'b')"),
            ("x if 1<a<=2", "x if (1)|compared('1<a<=2', '<', a, '<=', 2)"),
            ("not a in b", "not (a )|compared('a in b', 'in',  b)"),
            ("a not in b", "(a )|compared('a not in b', 'not in',  b)"),
            ("a is not in(b) or a.in", "(a is not in(b) or a.in".trim_start_matches('(')),
            ("1 + a.b|float / 2", "1 + a.b|float(of='a.b|float') / 2"),
            ("a|int(0)", "a|int(0)"),
            ("a + b.c|x - d", "a + b.c|weighed|x|addend - d"),
            ("a.b[c + d] * 2 ~ e", "(a.b[c + d|addend]|factor * 2 )|joined( e)"),
            ("2*-a + b|float", "2*-a + b|float(of='b|float')"),
            ("a+b==c", "(a+b|addend)|compared('a+b==c', '==', c)"),
            ("(a + '5') if b * c is none", "(a + '5'|addend) if b|factor * c|factor is none"),
            ("'x' * 3 + a + b", "'x'|factor * 3 + a|addend + b|addend"),
            (
                "a ~ -1 ~ b+c ~ d == e",
                "((a )|joined( -1 ,  b)+(c|addend )|joined( d) )|compared('a ~ -1 ~ b+c ~ d == e', '==',  e)",
            ),
            ("a|map('x')|first", "a|weighed|map('x')|first"),
            ("a|map(attribute='x')|sort", "a|counted|map(attribute='x')|weighed|sort"),
            // A word says that texts are joined.
            ("'/' + a + b", "'/' + a|part + b|part"),
            // Jinja compares alike.
            ("lead.a == 'refinance'", "lead.a == 'refinance'"),
            ("lead.a == 'no'", "(lead.a )|compared('lead.a == \\'no\\'', '==',  'no')"),
        ] {
            assert_eq!(marked(text), wanted);
        }
    }

    /// Which mappings judge an answer outside 2xx, and one without a table.
    #[test]
    fn a_mapping_reaches_as_far_as_it_names() {
        for (text, names_status, needs_table) in [
            ("response.status != 'ok'", false, true),
            ("response['status'] != 'ok'", false, true),
            ("response.code[:3] != '200'", false, true),
            ("not response[0].ok", false, true),
            ("status == 404", true, false),
            ("status == 404 or response.status != 'ok'", true, false),
            ("response == ''", false, false),
            ("not response or response.no", false, false),
            ("response[:2] == 'NO'", false, false),
            ("response|length == 0 and 'status' == header['status']", false, false),
            ("kept.status", false, false),
        ] {
            assert_eq!(reach(text), (names_status, needs_table), "{text}");
        }
    }

    #[test]
    fn a_text_that_says_no_is_false_in_conditions_alone() {
        let context = Value::from(Serde(json!({"response": {
            "Ok": "false", "Code": "0", "Word": "open", "Other": 7,
            "Offer": [{"Ok": "no"}, {"Ok": "yes"}], "a.b": {"Ok": "N"},
        }})));
        for (text, made) in [
            ("not response.Ok", json!(true)),
            ("1 if response.Ok else 2", json!(2)),
            ("1 if response.Code else response.Code", json!("0")),
            ("response.Other if not response.Ok", json!(7)),
            ("response.Ok", json!("false")),
            ("response.Ok == 'false'", json!(true)),
            ("1 if response.Word else 2", json!(1)),
            ("1 if response.Offer[0].Ok else 2", json!(2)),
            ("1 if response['Ok'] else 2", json!(2)),
            ("1 if response['a.b']['Ok'] or response.Offer[-1]['Ok'] else 2", json!(1)),
            ("1 if response.Offer|map(attribute='Ok')|first else 2", json!(2)),
            ("1 if response.Ok|trim and true else 2", json!(2)),
            ("response.Offer|map(attribute='Ok')|select|list", json!(["yes"])),
            ("response.Offer|map(attribute='Ok')|reject|list", json!(["no"])),
            ("response.Ok or response.Word", json!("open")),
            ("response.Word and response.Code", json!("0")),
        ] {
            let value = Expression::compile(text).unwrap().run(&context).unwrap();
            assert_eq!(serde_json::to_value(&value).unwrap(), made, "{text}");
        }
        // No limit on their number.
        let many: String = (0..200).map(|nth| format!("response.x{nth} or ")).collect();
        let value = Expression::compile(&format!("1 if {many}response.Ok else 2")).unwrap().run(&context);
        assert_eq!(value.unwrap().to_string(), "2");
    }

    #[test]
    fn a_text_says_no_in_the_tags_of_a_template() {
        let context = Value::from(Serde(json!({
            "kept": {"open": "false", "list": [{"n": "a", "open": "no"}, {"n": "b", "open": "Y"}]},
            "lead": {"name": "No", "names": ["No"]},
        })));
        for (text, made) in [
            ("<n>Applicant's</n>{% if kept.open %}<Open/>{% endif %}", "<n>Applicant's</n>"),
            ("{% for one in kept.list %}{% if one.open %}{{ one.n }}{% endif %}{% endfor %}", "b"),
            ("{% for one in kept.list if one['open'] %}{{ one.n }}{% endfor %}", "b"),
            ("{% for one in kept.none or kept.list if not one.open %}{{ one.n }}{% endfor %}", "a"),
            ("{%- set flag = kept.open -%}{%- if flag -%}1{%- elif not flag -%}2{%- endif -%}", "2"),
            (
                "{% with a = kept.open, b = lead.name %}{{ 1 if a else 2 }}{{ 1 if b else 2 }}{% endwith %}",
                "21",
            ),
            ("{{ {'a': {'b': kept.open or 7}}['a']['b'] }}", "7"),
            (
                "do not call {# not {{ kept.open #}{% raw %}{{ kept.open or 1 }}{% endraw %}{{ kept.open or 2 }}",
                "do not call {{ kept.open or 1 }}2",
            ),
            // A person may be called No.
            ("{% if lead.name %}<l/>{% endif %}", "<l/>"),
            ("{% set name = lead.name %}{% if name %}<l/>{% endif %}", "<l/>"),
            ("{% for name in lead.names if name %}{{ name }}{% endfor %}", "No"),
        ] {
            let made_of = TextTemplate::compile(text, AutoEscape::None).unwrap().run(&context).unwrap();
            assert_eq!(made_of, made, "{text}");
        }
    }
}
