//! A plugin's configuration, from TOML to what the plugin is handed.

/// Returns a table as JSON text, or `None` where it holds a date or an infinite number: these have
/// no counterpart there.
#[must_use]
pub fn config_json(table: &toml::Table) -> Option<String> {
    let all_json = table.iter().all(|(_, value)| is_json(value));
    all_json.then(|| serde_json::to_string(table).ok())?
}

fn is_json(value: &toml::Value) -> bool {
    match value {
        toml::Value::Datetime(_) => false,
        toml::Value::Float(number) => number.is_finite(),
        toml::Value::Array(items) => items.iter().all(is_json),
        toml::Value::Table(table) => table.iter().all(|(_, value)| is_json(value)),
        _ => true,
    }
}
