//! What stands in the parentheses of the attributes.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Path, Result, Token, bracketed};

/// `labels = ["NAME"], prepare = path`, in any order, each at most once.
#[derive(Default)]
pub(crate) struct MacroArguments {
    pub(crate) labels: Vec<LitStr>,
    pub(crate) prepare: Option<Path>,
}

impl Parse for MacroArguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = MacroArguments::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "labels" if arguments.labels.is_empty() => arguments.labels = labels(input)?,
                "prepare" if arguments.prepare.is_none() => arguments.prepare = Some(input.parse()?),
                "labels" | "prepare" => return Err(Error::new(name.span(), "given twice")),
                _ => {
                    return Err(Error::new(
                        name.span(),
                        "unknown argument; known are `labels` and `prepare`",
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

fn labels(input: ParseStream<'_>) -> Result<Vec<LitStr>> {
    let list;
    bracketed!(list in input);
    let labels: Punctuated<LitStr, Token![,]> = Punctuated::parse_terminated(&list)?;
    for label in &labels {
        if !is_label(&label.value()) {
            return Err(Error::new(
                label.span(),
                "a label is a capital letter and 1 to 15 capitals or digits: `NAME`",
            ));
        }
    }
    Ok(labels.into_iter().collect())
}

fn is_label(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (2..=16).contains(&text.len()) && text.as_bytes()[0].is_ascii_uppercase() && text.bytes().all(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> std::result::Result<MacroArguments, String> {
        syn::parse_str::<MacroArguments>(text).map_err(|error| error.to_string())
    }

    #[test]
    fn both_arguments_in_any_order() {
        for text in [
            r#"labels = ["NAME", "ID2"], prepare = Index::new"#,
            r#"prepare = Index::new, labels = ["NAME", "ID2"],"#,
        ] {
            let arguments = parse(text).unwrap();
            assert_eq!(arguments.labels.len(), 2);
            assert!(arguments.prepare.is_some());
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            (r#"label = ["NAME"]"#, "unknown argument"),
            (r#"labels = ["name"]"#, "capital letter"),
            (r#"labels = ["N"]"#, "capital letter"),
            (r#"labels = ["NAME"], labels = ["ID"]"#, "given twice"),
        ] {
            assert!(parse(text).err().is_some_and(|error| error.contains(message)), "{text}");
        }
    }
}
