//! The words of the XML in office documents: a line for each paragraph, cell or other element, whatever
//! runs of letters it is made of.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::UnreadReason;

/// Elements within a line: what a word may be made of.
const WITHIN: &[&str] = &[
    "t",
    "r",
    "hyperlink",
    "ins",
    "del",
    "delText",
    "moveTo",
    "smartTag",
    "sdt",
    "sdtContent",
    "fldSimple",
    "instrText",
    "fld",
    "span",
    "a",
];

/// Attributes that say something to readers of a document.
const SAYING: &[&str] = &["Target", "descr", "title", "tooltip", "href", "string-value", "formula", "author"];

/// Returns the words of a text of XML, those in attributes behind all others.
pub(crate) fn words(xml: &str) -> Result<String, UnreadReason> {
    let (mut words, mut attributes) = (String::with_capacity(xml.len() / 4), String::new());
    // Elements of properties say how a run looks, in the midst of a word too.
    let mut properties = 0_usize;
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|_| UnreadReason::Broken)? {
            Event::Text(text) => words.push_str(&text.xml10_content()),
            Event::CData(text) => words.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(letter)) => words.push(letter),
                _ => words.push_str(resolve_predefined_entity(&reference).ok_or(UnreadReason::Broken)?),
            },
            Event::Start(start) => {
                said(&start, &mut attributes)?;
                properties += usize::from(is_properties(local(start.name().as_ref())));
            }
            Event::Empty(start) => {
                said(&start, &mut attributes)?;
                match local(start.name().as_ref()) {
                    "tab" | "ptab" | "br" | "cr" | "s" | "line-break" => words.push(' '),
                    "noBreakHyphen" => words.push('-'),
                    _ => {}
                }
            }
            Event::End(end) => match local(end.name().as_ref()) {
                name if is_properties(name) => properties = properties.saturating_sub(1),
                name if properties == 0 && !WITHIN.contains(&name) && !words.ends_with('\n') => {
                    words.push('\n')
                }
                _ => {}
            },
            // It may name texts that are written elsewhere.
            Event::DocType(_) => return Err(UnreadReason::Broken),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    words.push_str(&attributes);
    Ok(words)
}

fn is_properties(name: &str) -> bool {
    name.ends_with("Pr")
}

fn said(start: &BytesStart<'_>, words: &mut String) -> Result<(), UnreadReason> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| UnreadReason::Broken)?;
        if SAYING.contains(&local(attribute.key.as_ref())) {
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            words.push('\n');
            words.push_str(&value.map_err(|_| UnreadReason::Broken)?);
        }
    }
    Ok(())
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}
