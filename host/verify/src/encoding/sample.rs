//! Secrets of several kinds, as they stand in texts.

use std::fmt::Write as _;

use leafgate_words::words;
use serde::Serialize;

use crate::canary::{Family, random_base64};

words! {
    /// A kind of secret.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum SampleKind {
        /// A token with a prefix.
        Token = "token",
        /// An AWS access key id, and the secret key that is known by its name alone.
        AwsPair = "AWS pair",
        /// A payment card number.
        Card = "card",
        /// A private key in PEM.
        PrivateKey = "private key",
    }
    /// Returns its name.
    pub fn name = 0;
}

/// A text with secrets in it.
pub(super) struct Sample {
    pub(super) text: String,
    pub(super) secrets: Vec<String>,
}

impl SampleKind {
    /// Returns the secrets themselves, as they are spelled without an encoding.
    pub fn secrets(self) -> Vec<String> {
        self.sample().secrets
    }

    pub(super) fn sample(self) -> Sample {
        match self {
            SampleKind::Token => {
                let token = Family::Github.canary(7);
                Sample { text: token.clone(), secrets: vec![token] }
            }
            SampleKind::AwsPair => {
                let (id, key) = (Family::Aws.canary(7), random_base64(8, 40));
                let text = format!("aws_access_key_id = {id}\naws_secret_access_key = {key}");
                Sample { text, secrets: vec![id, key] }
            }
            SampleKind::Card => {
                let card = Family::Card.canary(7);
                Sample { text: card.clone(), secrets: vec![card] }
            }
            SampleKind::PrivateKey => private_key(),
        }
    }
}

fn private_key() -> Sample {
    let lines: Vec<String> = (0..6).map(|line| random_base64(20 + line, 64)).collect();
    let mut text = format!("-----BEGIN {} KEY-----\n", "RSA PRIVATE");
    lines.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    text.push_str(&format!("-----END {} KEY-----", "RSA PRIVATE"));
    Sample { text, secrets: lines }
}
