//! A core module wrapped as a component, by the type information that it carries.

use std::collections::HashSet;

use wasmparser::{Parser, Payload};
use wit_parser::Resolve;
use wit_parser::decoding::decode_world;

use crate::refusal::Refusal;

/// Packages of a module's type information. The contract is one.
const MOST_PACKAGES: usize = 64;

/// Wraps a core module as a component.
///
/// # Errors
/// Type information that is missing, damaged or makes no component.
pub fn wrap(module: &[u8]) -> Result<Vec<u8>, Refusal> {
    let failed = |error| Refusal::Wrap(format!("{error:#}"));
    check_packages(module)?;
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .map_err(failed)?
        .encode()
        .map_err(failed)
}

/// Refuses type information whose packages need each other. Whoever wraps a module brings them into an
/// order, and the library that does so ends in an overflow of the stack where there is none.
fn check_packages(module: &[u8]) -> Result<(), Refusal> {
    let mut all = Resolve::default();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        let Payload::CustomSection(section) = payload else { continue };
        if !section.name().starts_with("component-type") {
            continue;
        }
        if section.data().first() != Some(&0) {
            let why = "its type information has an old form: build it with a newer wit-bindgen";
            return Err(Refusal::Wrap(why.to_owned()));
        }
        let failed = |error| Refusal::Wrap(format!("{error:#}"));
        let (resolve, _) = decode_world(section.data()).map_err(failed)?;
        check_order(&resolve)?;
        all.merge(resolve).map_err(failed)?;
        check_order(&all)?;
    }
    Ok(())
}

/// Looks whether there is an order in which each package comes behind those that it needs.
fn check_order(resolve: &Resolve) -> Result<(), Refusal> {
    if resolve.packages.len() > MOST_PACKAGES {
        let why = format!("its type information has more than {MOST_PACKAGES} packages");
        return Err(Refusal::Wrap(why));
    }
    let mut placed = HashSet::new();
    for _ in 0..resolve.packages.len() {
        for (id, _) in resolve.packages.iter() {
            if resolve.package_direct_deps(id).all(|needed| placed.contains(&needed)) {
                placed.insert(id);
            }
        }
    }
    if placed.len() < resolve.packages.len() {
        let why = "packages of its type information need each other in a circle";
        return Err(Refusal::Wrap(why.to_owned()));
    }
    Ok(())
}
