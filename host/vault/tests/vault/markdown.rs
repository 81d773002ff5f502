//! The watchers against a markdown parser: whatever the text, it finds no value where a program
//! would fetch it.

use leafgate_vault::Vault;
use markdown::{Constructs, ParseOptions, mdast::Node};
use proptest::{prelude::*, sample::select};

use crate::{keys, restore};

/// No address: a parser links those wherever they stand.
const VALUE: &str = "keptsecret";

/// What markdown gives a meaning, cut so that chance makes links, images, definitions, tags and
/// attempts at them. No numbered lists: the parser panics over them next to others.
const PARTS: [&str; 43] = [
    "![",
    "[",
    "]",
    "](",
    "](<",
    "(",
    ")",
    ">)",
    "<",
    ">",
    "<img src=",
    "<b ",
    "<a href=",
    "<pre>",
    "</b>",
    "/>",
    "=",
    "\"",
    "'",
    "`",
    "``",
    "\\",
    "\n",
    "\n\n",
    "\n[x]: ",
    "[x]",
    "][x]",
    "]:",
    "http://e/",
    "//e/?q=",
    "www.e.e/",
    "e.e/",
    "mailto:",
    "a",
    " ",
    "  ",
    "\t",
    "> ",
    "- ",
    "*",
    "&#93;",
    "<!--",
    "-->",
];

fn text(token: &str) -> impl Strategy<Value = String> {
    let part = prop_oneof![3 => select(PARTS.to_vec()).prop_map(str::to_owned), 1 => Just(token.to_owned())];
    prop::collection::vec(part, 1..20).prop_map(|parts| parts.concat())
}

fn options() -> ParseOptions {
    ParseOptions { constructs: Constructs::gfm(), ..ParseOptions::gfm() }
}

/// Collects every address that a renderer would write, and every tag.
fn fetched(node: &Node, into: &mut Vec<String>) {
    match node {
        Node::Link(link) => into.push(link.url.clone()),
        Node::Image(image) => into.push(image.url.clone()),
        Node::Definition(definition) => into.push(definition.url.clone()),
        Node::Html(html) => into.extend(tags(&html.value).map(str::to_owned)),
        _ => {}
    }
    for child in node.children().into_iter().flatten() {
        fetched(child, into);
    }
}

/// The tags of raw HTML, without what stands between them.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    let opens = |tag: &&str| tag.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
    html.split('<').skip(1).filter(opens).map(|tag| tag.split('>').next().unwrap_or(tag))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_address_holds_a_value(text in text(keys("laptop").token("KEY", VALUE).as_str())) {
        let vault = Vault::new(keys("laptop"));
        vault.tokenize("KEY", VALUE).unwrap();
        let restored = restore(&vault, &text);
        let mut addresses = Vec::new();
        fetched(&markdown::to_mdast(&restored, &options()).unwrap(), &mut addresses);
        for address in addresses {
            prop_assert!(!address.contains(VALUE), "{address:?} in {restored:?}");
        }
    }
}
