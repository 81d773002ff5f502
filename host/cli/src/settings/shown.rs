//! What people are shown of a request beside what it says.

use anyhow::bail;
use leafgate_admin::MetadataField;
use leafgate_diagnostic::hint_for;

/// Returns the fields of these names; none for none.
pub(super) fn fields(names: &[String]) -> anyhow::Result<Vec<MetadataField>> {
    let known: Vec<&str> = MetadataField::ALL.iter().map(|field| field.name()).collect();
    let field = |name: &String| match MetadataField::from_name(name) {
        Some(field) => Ok(field),
        None => bail!("there is no field `{name}`; {}", hint_for(name, &known)),
    };
    names.iter().map(field).collect()
}
