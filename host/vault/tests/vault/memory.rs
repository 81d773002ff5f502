//! What a session remembers, for how long, and who else may read it.

use leafgate_vault::{Channel, MAX_BYTES, MAX_ENTRIES, Vault};

use crate::{ADDRESS, keys, session};

#[test]
fn a_clone_is_the_same_memory() {
    let (vault, token) = session();
    let other = vault.clone();
    let second = other.tokenize("EMAIL", "bob@example.org").unwrap();
    assert_eq!(vault.restore(second.as_str(), Channel::Text), "bob@example.org");
    assert_eq!(other.restore(&token, Channel::Text), ADDRESS);
}

#[test]
fn a_child_reads_its_parent_and_not_the_other_way() {
    let (parent, inherited) = session();
    let child = parent.child();
    let own = child.tokenize("EMAIL", "bob@example.org").unwrap().to_string();
    assert_eq!(
        child.child().restore(&format!("{inherited} {own}"), Channel::Text),
        "ann@example.org bob@example.org"
    );
    assert_eq!(parent.restore(&own, Channel::Text), own);
}

#[test]
fn another_session_restores_nothing() {
    let (_, token) = session();
    let other = Vault::new(keys("laptop"));
    other.tokenize("EMAIL", "bob@example.org").unwrap();
    assert_eq!(other.restore(&token, Channel::Literal), token);
}

#[test]
fn a_child_is_empty_only_if_its_parent_is() {
    assert!(Vault::new(keys("laptop")).child().is_empty());
    let (parent, _) = session();
    assert!(!parent.child().is_empty());
}

#[test]
fn beyond_the_number_of_values_the_one_not_sent_for_longest_goes() {
    let (vault, first) = session();
    let second = vault.tokenize("EMAIL", "bob@example.org").unwrap().to_string();
    vault.tokenize("EMAIL", ADDRESS).unwrap();
    for n in 0..MAX_ENTRIES - 1 {
        vault.tokenize("NUMBER", &n.to_string()).unwrap();
    }
    assert_eq!(vault.restore(&first, Channel::Literal), ADDRESS);
    assert_eq!(vault.restore(&second, Channel::Literal), second, "sent before the other, so forgotten first");
}

#[test]
fn beyond_the_bytes_of_values_the_oldest_goes() {
    let (vault, token) = session();
    let half = "x".repeat(MAX_BYTES / 2);
    vault.tokenize("BLOB", &half).unwrap();
    assert_eq!(vault.restore(&token, Channel::Literal), ADDRESS);
    vault.tokenize("BLOB", &half.replace('x', "y")).unwrap();
    assert_eq!(vault.restore(&token, Channel::Literal), token);
}

#[test]
fn what_is_larger_than_the_memory_is_not_remembered() {
    let vault = Vault::new(keys("laptop"));
    let token = vault.tokenize("BLOB", &"x".repeat(MAX_BYTES + 1)).unwrap();
    assert!(vault.is_empty());
    assert_eq!(vault.restore(token.as_str(), Channel::Literal), token.as_str());
}
