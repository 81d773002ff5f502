//! The field names of a serde struct, asked of the struct itself, so that no second list can fall
//! behind it.

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the names that `T` accepts in a rule file.
pub(crate) fn fields_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // The probe always answers with an error: it has no value to give, it only listens.
    let _ = T::deserialize(Probe { fields: &mut fields });
    fields
}

struct Probe<'a> {
    fields: &'a mut &'static [&'static str],
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.fields = fields;
        Err(serde::de::Error::custom("a probe has no value"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("a probe has no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
