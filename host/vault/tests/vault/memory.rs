//! What a session remembers, for how long, and who else may read it.

use leafgate_vault::{MAX_BYTES, MAX_ENTRIES, MemoryBound, Vault};

use crate::{ADDRESS, keys, restore, session};

#[test]
fn a_clone_is_the_same_memory() {
    let (vault, token) = session();
    let other = vault.clone();
    let second = other.tokenize("EMAIL", "bob@example.org").unwrap();
    assert_eq!(restore(&vault, second.as_str()), "bob@example.org");
    assert_eq!(restore(&other, &token), ADDRESS);
}

#[test]
fn another_session_restores_nothing() {
    let (_, token) = session();
    let other = Vault::new(keys("laptop"));
    other.tokenize("EMAIL", "bob@example.org").unwrap();
    assert_eq!(restore(&other, &token), token);
}

#[test]
fn beyond_the_number_of_values_the_one_not_sent_for_longest_goes() {
    let (vault, first) = session();
    let second = vault.tokenize("EMAIL", "bob@example.org").unwrap().to_string();
    vault.tokenize("EMAIL", ADDRESS).unwrap();
    for n in 0..MAX_ENTRIES - 1 {
        vault.tokenize("NUMBER", &n.to_string()).unwrap();
    }
    assert_eq!(restore(&vault, &first), ADDRESS);
    assert_eq!(restore(&vault, &second), second, "sent before the other, so forgotten first");
}

#[test]
fn beyond_the_bytes_of_values_the_oldest_goes() {
    let (vault, token) = session();
    let half = "x".repeat(MAX_BYTES / 2);
    vault.tokenize("BLOB", &half).unwrap();
    assert_eq!(restore(&vault, &token), ADDRESS);
    vault.tokenize("BLOB", &half.replace('x', "y")).unwrap();
    assert_eq!(restore(&vault, &token), token);
}

#[test]
fn what_is_larger_than_the_memory_is_not_remembered() {
    let vault = Vault::new(keys("laptop"));
    let token = vault.tokenize("BLOB", &"x".repeat(MAX_BYTES + 1)).unwrap();
    assert!(vault.is_empty());
    assert_eq!(restore(&vault, token.as_str()), token.as_str());
}

#[test]
fn sessions_together_remember_no_more_than_their_bound() {
    let most = 3 * MAX_BYTES;
    let shared = MemoryBound::new(most);
    let value = "x".repeat(64 * 1024);
    let sessions: Vec<Vault> = (0..8).map(|_| Vault::within(keys("laptop"), &shared)).collect();
    let mut tokens = Vec::new();
    for n in 0..60 {
        for session in &sessions {
            let token = session.tokenize("BLOB", &format!("{n} {value}")).unwrap().to_string();
            assert!(shared.bytes() <= most);
            tokens.push((session, token));
        }
    }
    assert!(!shared.has_room());
    let restored = tokens.iter().filter(|(session, token)| restore(session, token) != *token).count();
    assert!(0 < restored && restored < tokens.len(), "{restored}: what was forgotten stays a token");
    drop(tokens);
    drop(sessions);
    assert_eq!(shared.bytes(), 0, "nothing is counted twice");
}

#[test]
fn a_small_value_counts_for_more_than_its_bytes() {
    let shared = MemoryBound::new(MAX_BYTES);
    let session = Vault::within(keys("laptop"), &shared);
    session.tokenize("PIN", "1").unwrap();
    assert!(shared.bytes() > 100);
    session.tokenize("PIN", "1").unwrap();
    let once = shared.bytes();
    session.tokenize("PIN", "1").unwrap();
    assert_eq!(shared.bytes(), once);
}

#[test]
fn a_value_that_is_not_to_be_restored_keeps_its_token_whoever_asks_for_it() {
    let vault = Vault::new(keys("laptop"));
    let kept = vault.tokenize_for_good("EMAIL", ADDRESS).unwrap().to_string();
    assert!(vault.is_empty(), "there is nothing to restore");
    assert_eq!(vault.tokenize("EMAIL", ADDRESS).unwrap().as_str(), kept);
    let other = vault.tokenize("EMAIL", "bob@example.org").unwrap().to_string();
    assert_eq!(restore(&vault, &kept), kept);
    assert_ne!(other, kept);
}

#[test]
fn a_value_that_was_restored_before_is_not_restored_once_a_rule_says_so() {
    let (vault, token) = session();
    vault.tokenize_for_good("EMAIL", ADDRESS).unwrap();
    vault.tokenize("EMAIL", ADDRESS).unwrap();
    assert_eq!(restore(&vault, &token), token);
}
