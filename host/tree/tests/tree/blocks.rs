//! Blocks: every outermost section is one, and what is said of two that look alike is alike.

use std::collections::HashMap;

use leafgate_harness::recordings::{self, Recording};
use leafgate_tree::{Block, Document, Format, Limits, NodeId};
use serde_json::{Value, json};

fn parse(body: &Value, limits: &Limits) -> Document {
    Document::parse(body.to_string().into(), Format::OpenaiChat, limits).unwrap()
}

fn described(document: &Document, block: &Block) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut description = Vec::new();
    let known = document.describe(block, &mut description);
    known.then(|| (document.spelling(block).to_vec(), description))
}

/// All that a rule or a detector may know about the leaves and keys of a block.
fn shown(document: &Document, block: &Block) -> Vec<String> {
    let first = block.nodes.start;
    let of_leaf = |at: usize| {
        let leaf = document.leaf(NodeId::from_index(at))?;
        let section = leaf.section().map(|section| {
            let section = document.section(section);
            (section.kind, section.node_type, section.content_kind, section.role)
        });
        let said =
            (leaf.kind(), leaf.access(), leaf.value_type(), leaf.role(), leaf.tool(), leaf.beyond_caps());
        Some(format!("{} {} {:?} {said:?} {section:?}", at - first, leaf.key(), leaf.text().expose()))
    };
    let of_key = |at: usize| {
        let key = document.key(NodeId::from_index(at)).filter(|_| at != first)?;
        Some(format!("{} {}", at - first, key.text.expose()))
    };
    block.nodes.clone().filter_map(of_leaf).chain(block.nodes.clone().filter_map(of_key)).collect()
}

#[test]
fn blocks_are_apart_and_hold_every_section() {
    let requests = recordings::FOLDERS.iter().flat_map(|(folder, end, format)| {
        recordings::read(folder, end).into_iter().map(|file| (file.body, *format))
    });
    let mut described_blocks = 0;
    for (body, format) in requests {
        let document = Document::parse(body.into(), format, &Limits::default()).unwrap();
        let blocks = document.blocks();
        assert!(blocks.windows(2).all(|two| two[0].nodes.end <= two[1].nodes.start));
        for section in document.sections() {
            let holds = |block: &&Block| block.nodes.contains(&section.node.index());
            assert_eq!(blocks.iter().filter(holds).count(), 1);
        }
        described_blocks += blocks.iter().filter(|block| described(&document, block).is_some()).count();
        assert_eq!(
            blocks.iter().filter(|block| described(&document, block).is_none()).count(),
            0,
            "a format whose blocks nobody can describe costs on each turn what the first one does"
        );
    }
    assert!(described_blocks >= 40, "{described_blocks} blocks");
}

#[test]
fn what_is_spelled_and_described_alike_has_the_same_leaves_and_keys() {
    let mut known: HashMap<(Vec<u8>, Vec<u8>), Vec<String>> = HashMap::new();
    let mut again = 0;
    let requests = || {
        recordings::FOLDERS.iter().flat_map(|(folder, end, format)| {
            recordings::read(folder, end).into_iter().map(|file| Recording {
                name: file.name,
                body: file.body,
                format: *format,
            })
        })
    };
    for Recording { body, .. } in requests() {
        // A shape that a body was not made for says something else of the same bytes.
        for format in Format::ALL {
            for embedded in [4, 0] {
                let limits = Limits { embedded, ..Limits::default() };
                let document = Document::parse(body.clone().into(), *format, &limits).unwrap();
                for block in document.blocks() {
                    let Some(said) = described(&document, &block) else { continue };
                    let shown = shown(&document, &block);
                    let before = known.entry(said).or_insert_with(|| shown.clone());
                    again += usize::from(*before == shown);
                    assert_eq!(*before, shown);
                }
            }
        }
    }
    assert!(again > known.len(), "no block came twice");
}

#[test]
fn a_result_is_described_by_the_tool_that_was_called_before_it() {
    let of = |tool: &str, limits: &Limits| {
        let call = json!({"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}});
        let document = parse(
            &json!({"messages": [
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "{\"a\": 1}"},
            ]}),
            limits,
        );
        described(&document, &document.blocks()[1]).unwrap()
    };
    let walked = of("read", &Limits::default());
    assert_eq!(of("read", &Limits::default()), walked);
    assert_ne!(of("write", &Limits::default()), walked);
    assert_ne!(of("read", &Limits { embedded: 0, ..Limits::default() }), walked);
}

#[test]
fn the_key_that_names_an_option_is_described() {
    let of = |key: &str| {
        let document = parse(&json!({ (key): "abc", "messages": [] }), &Limits::default());
        let at = document.resolve(&format!("/{key}")).unwrap();
        described(&document, document.blocks().iter().find(|block| block.node == at).unwrap()).unwrap()
    };
    assert_ne!(of("user"), of("stop"));
}
