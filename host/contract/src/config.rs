//! A plugin's configuration, from TOML to what the plugin is handed, and what is wrong with it.

use serde_json::Value;

use crate::line::one_line;
use crate::schema::shown;

/// One thing that is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFinding {
    /// RFC 6901 pointer into the configuration; "" for the whole.
    pub pointer: String,
    /// What is wrong, in one line that names the key.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigFinding {
    /// Takes what a plugin says of its configuration, as JSON text. A pointer at its beginning says
    /// where: `/patterns/3: not a regular expression`. One that leads nowhere is part of what is
    /// said.
    pub fn said(text: &str, config: &str) -> Self {
        let placed = text.split_once(": ").filter(|(pointer, _)| pointer.starts_with('/'));
        let inside = |pointer: &str| {
            serde_json::from_str::<Value>(config).is_ok_and(|config| config.pointer(pointer).is_some())
        };
        match placed.filter(|(pointer, _)| inside(pointer)) {
            Some((pointer, rest)) => ConfigFinding {
                pointer: pointer.to_owned(),
                message: format!("`{}`: {}", one_line(&shown(pointer)), one_line(rest)),
                hint: None,
            },
            None => ConfigFinding { pointer: String::new(), message: one_line(text), hint: None },
        }
    }
}

/// Returns a table of TOML as JSON text; `None` where it holds a date or an infinite number: these have no
/// counterpart there.
pub fn config_json(table: &toml::Table) -> Option<String> {
    table.values().all(is_json).then(|| serde_json::to_string(table).ok())?
}

fn is_json(value: &toml::Value) -> bool {
    match value {
        toml::Value::Datetime(_) => false,
        toml::Value::Float(number) => number.is_finite(),
        toml::Value::Array(items) => items.iter().all(is_json),
        toml::Value::Table(table) => table.values().all(is_json),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_at_the_beginning_says_where_if_it_leads_somewhere() {
        let said = |text: &str| {
            let found = ConfigFinding::said(text, r#"{"patterns": ["a", "("]}"#);
            (found.pointer, found.message)
        };
        let placed = ("/patterns/1".to_owned(), "`patterns[1]`: unclosed: group".to_owned());
        assert_eq!(said("/patterns/1: unclosed: group"), placed);
        for text in
            ["/etc/names: there is no such file", "patterns/1: x", "/patterns/2: x", "/patterns/1 is bad"]
        {
            assert_eq!(said(text), (String::new(), text.to_owned()));
        }
    }
}
