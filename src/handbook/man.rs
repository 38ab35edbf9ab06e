//! Chapters as man pages.
//!
//! Markdown events become macros of `man(7)`: a chapter is a section, its headings are subsections, commands
//! and files are verbatim. Tables use `tbl(1)`, which every `man` runs on pages whose first line requests it.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use roff::{Inline, Roff, bold, italic, line_break, roman};

use super::Manual;
use super::html::OPTIONS;

/// The first line of a page with tables.
pub const PREAMBLE: &str = "'\\\" t\n";

/// The indentation of verbatim text, in characters.
const INDENT: &str = "4";

/// A page that consists of chapters only.
pub fn page(manual: &Manual, version: &str) -> String {
    let mut roff = Roff::new();
    let section = manual.section.to_string();
    roff.control("TH", [manual.name, &section, "", &format!("offerd {version}"), "offerd"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{} - {}", manual.name, manual.about))]);
    manual.chapters().for_each(|chapter| write(&mut roff, &chapter.markdown()));
    roff.control("SH", ["SEE ALSO"]);
    let others = [("offerd", "(8), "), ("offerd.toml", "(5), "), ("offerd-partner", "(5)")];
    roff.text(
        others.into_iter().flat_map(|(name, section)| [bold(name), roman(section)]).collect::<Vec<_>>(),
    );
    format!("{PREAMBLE}{}", roff.render())
}

/// The chapters of a page, to append to its generated parts.
pub fn chapters(manual: &Manual) -> String {
    let mut roff = Roff::new();
    manual.chapters().for_each(|chapter| write(&mut roff, &chapter.markdown()));
    roff.render()
}

fn write(roff: &mut Roff, markdown: &str) {
    let mut writer = ManWriter::of(roff);
    Parser::new_ext(markdown, OPTIONS).for_each(|event| writer.take(event));
}

/// The state of the conversion of a chapter.
struct ManWriter<'r> {
    roff: &'r mut Roff,
    /// The inlines of the current paragraph, heading or cell.
    line: Vec<Inline>,
    /// The number of open emphases, plain and strong.
    emphasis: (usize, usize),
    /// The open lists: the number of the next item, or `None` for bullets.
    lists: Vec<Option<u64>>,
    /// Whether the next paragraph is the first of its item, and needs no macro.
    in_place: bool,
    verbatim: bool,
    rows: Option<Vec<Vec<Vec<Inline>>>>,
}

impl<'r> ManWriter<'r> {
    fn of(roff: &'r mut Roff) -> Self {
        Self {
            roff,
            line: Vec::new(),
            emphasis: (0, 0),
            lists: Vec::new(),
            in_place: false,
            verbatim: false,
            rows: None,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.verbatim => {
                for line in text.lines() {
                    self.roff.text([roman(line)]);
                }
            }
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.line.push(bold(code.as_ref())),
            Event::SoftBreak => self.line.push(roman(" ")),
            Event::HardBreak => self.line.push(line_break()),
            Event::Rule => {
                self.roff.control("PP", []);
            }
            // A test ensures that the chapters have none of these.
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::Paragraph if !std::mem::take(&mut self.in_place) => {
                let gap = if self.lists.is_empty() { "PP" } else { "sp" };
                self.roff.control(gap, []);
            }
            Tag::CodeBlock(_) => {
                self.flush();
                self.verbatim = true;
                let gap = if self.lists.is_empty() { "PP" } else { "sp" };
                self.roff.control(gap, []).control("RS", [INDENT]).control("nf", []);
            }
            Tag::List(first) => {
                self.flush();
                if !self.lists.is_empty() {
                    self.roff.control("RS", [INDENT]);
                }
                self.lists.push(*first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.emphasis.0 += 1,
            Tag::Strong => self.emphasis.1 += 1,
            Tag::DefinitionListTitle => {
                self.roff.control("TP", []);
            }
            Tag::DefinitionListDefinition => self.in_place = true,
            Tag::Table(_) => self.rows = Some(Vec::new()),
            Tag::TableHead | Tag::TableRow => self.rows.iter_mut().for_each(|rows| rows.push(Vec::new())),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::DefinitionListTitle => self.flush(),
            TagEnd::Item | TagEnd::DefinitionListDefinition => {
                self.flush();
                self.in_place = false;
            }
            TagEnd::CodeBlock => {
                self.verbatim = false;
                self.roff.control("fi", []).control("RE", []);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.roff.control("RE", []);
                }
            }
            TagEnd::Emphasis => self.emphasis.0 -= 1,
            TagEnd::Strong => self.emphasis.1 -= 1,
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.rows.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let rows = self.rows.take().unwrap_or_default();
                self.table(rows);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.line.push(match self.emphasis {
            (_, 1..) => bold(text),
            (1.., _) => italic(text),
            _ => roman(text),
        });
    }

    fn flush(&mut self) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.roff.text(line);
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let heading: String = std::mem::take(&mut self.line).iter().map(plain).collect();
        match level {
            HeadingLevel::H1 => self.roff.control("SH", [heading.to_uppercase().as_str()]),
            HeadingLevel::H2 => self.roff.control("SS", [heading.as_str()]),
            _ => self.roff.control("PP", []).text([bold(heading)]),
        };
    }

    fn item(&mut self) {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.roff.control("IP", [format!("{number}.").as_str(), INDENT]);
                *number += 1;
            }
            _ => {
                self.roff.control("IP", ["•", "2"]);
            }
        }
        self.in_place = true;
    }

    /// Writes a table. Columns share the width of the line, and cells are filled like paragraphs.
    fn table(&mut self, rows: Vec<Vec<Vec<Inline>>>) {
        let layout = vec!["lx"; rows.iter().map(Vec::len).max().unwrap_or_default()].join(" ");
        self.roff.control("TS", []);
        self.roff.text([roman("tab(\t);")]);
        self.roff.text([roman(layout.replace("lx", "lbx"))]);
        self.roff.text([roman(format!("{layout}."))]);
        for row in rows {
            for (at, cell) in row.into_iter().enumerate() {
                self.roff.text([roman(if at == 0 { "T{" } else { "T}\tT{" })]);
                if !cell.is_empty() {
                    self.roff.text(cell);
                }
            }
            self.roff.text([roman("T}")]);
        }
        self.roff.control("TE", []);
    }
}

/// The text of an inline, without its font.
fn plain(inline: &Inline) -> String {
    match inline {
        Inline::Roman(text) | Inline::Bold(text) | Inline::Italic(text) => text.clone(),
        Inline::LineBreak => " ".to_owned(),
    }
}
