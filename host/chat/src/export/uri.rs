//! Places as VS Code serialises them: a URI in pieces (`UriComponents`, whose `$mid` differs by
//! version), a location (a URI with a range), a symbol (a name with a location), or plain text.

use crate::node::JsonView;

/// Returns a place as people read it: a path if it is a local file, else a URI, with a line if
/// there is a range.
pub(crate) fn place(node: JsonView<'_>) -> Option<String> {
    if let Some(text) = node.text() {
        return Some(text.into_owned());
    }
    if let Some(location) = node.get("location") {
        return place(location);
    }
    if let Some(uri) = node.get("uri") {
        let line = node.path(&["range", "startLineNumber"]).and_then(JsonView::integer);
        let place = place(uri)?;
        return Some(line.map_or_else(|| place.clone(), |line| format!("{place}#{line}")));
    }
    components(node)
}

fn components(node: JsonView<'_>) -> Option<String> {
    let path = node.get_text("path").or_else(|| node.get_text("fsPath"))?;
    let scheme = node.get_text("scheme").unwrap_or_default();
    let authority = short(node.get_text("authority").unwrap_or_default());
    Some(match &*scheme {
        "" | "file" if authority.is_empty() => path,
        _ => format!("{scheme}://{authority}{path}"),
    })
}

/// The authority of a dev container holds its whole configuration in hexadecimal, which no person
/// can read.
fn short(authority: String) -> String {
    const LONGEST: usize = 64;
    match authority.split_once('+') {
        Some((kind, _)) if authority.len() > LONGEST => format!("{kind}+…"),
        _ => authority,
    }
}

/// Returns an inline reference as a Markdown link.
pub(crate) fn link(part: JsonView<'_>, member: &str) -> Option<String> {
    let target = part.get_some(member)?;
    let place = place(target);
    let name = part.get_text("name").or_else(|| target.get_text("name"));
    let name = name.or_else(|| place.as_deref().map(base_name))?;
    Some(match place {
        Some(place) => format!("[{name}]({place})"),
        None => name,
    })
}

fn base_name(place: &str) -> String {
    place.trim_end_matches('/').rsplit('/').next().unwrap_or(place).to_owned()
}
