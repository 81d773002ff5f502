//! The value of a token, for the person at this machine.
//!
//! The one answer of this API that holds what redaction took away. It is given only once it is on
//! record who asked for which token: in the log of the process always, and in that of requests
//! where one is kept. Where that cannot be written, nothing is revealed.

use std::time::SystemTime;

use leafgate_admin::{ErrorCode, Reveal, Revealed, RevealedValue};

use super::answer::{self, Answered, CallFailure};
use crate::session::Recalled;
use crate::shared::Shared;
use leafgate_record::{Recorded, RevealRecord};

/// Characters of a name in the log.
const MOST_BY: usize = 64;

pub(super) async fn reveal(gate: &Shared, command: Reveal) -> Answered {
    let Reveal { token, by } = command;
    check_name(&by)?;
    let (token, session, value) = match gate.sessions.recall(&token) {
        Recalled::Value { token, session, value } => (token, session, value),
        Recalled::Kept => {
            return Err(CallFailure::new(
                ErrorCode::Blocked,
                "the rule that redacted this value gives it back to nobody (`restore = \"off\"`)",
            ));
        }
        Recalled::Forgotten => {
            return Err(CallFailure::new(
                ErrorCode::NotFound,
                "no conversation that this gate remembers has this token: it has expired",
            )
            .hint(
                "values are forgotten when the gate ends, and with the conversations used least lately \
                 (limits `sessions` and `vaults`); a turn that sends the value again brings it back",
            ));
        }
        Recalled::Unknown => return Err(foreign_token()),
    };
    let record = RevealRecord {
        at: SystemTime::now(),
        token: token.clone(),
        session: session.clone(),
        by: by.clone(),
    };
    let kept = match gate.recorder.get().map(|recorder| recorder.reveal(record)) {
        None | Some(Recorded::Taken | Recorded::Missed) => true,
        Some(Recorded::Awaited(kept)) => kept.await.is_ok(),
        Some(Recorded::Refused) => false,
    };
    tracing::warn!(target: "leafgate::reveal", token, session = &*session, by, kept, "the value of a token is asked for");
    if !kept {
        return Err(CallFailure::new(
            ErrorCode::Internal,
            "this cannot be written into the log, so nothing is revealed",
        )
        .hint("`leafgate status` says why the log cannot be written"));
    }
    Ok(answer::json(&Revealed {
        token,
        session: session.to_string(),
        value: RevealedValue::new(value.as_str()),
    }))
}

pub(super) fn foreign_token() -> CallFailure {
    CallFailure::new(ErrorCode::NotFound, "this is no token of this installation: its check does not fit")
        .hint("copy the whole word, label included, as in EMAIL_k7f3q2xw9mz4ab6c")
}

/// Refuses what is no name of a person.
pub(super) fn check_name(by: &str) -> Result<(), CallFailure> {
    let is_a_name =
        (1..=MOST_BY).contains(&by.len()) && by.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    match is_a_name {
        true => Ok(()),
        false => Err(CallFailure::new(ErrorCode::Malformed, "`by` is no name that a log can hold")
            .hint(format!("1 to {MOST_BY} printable characters of ASCII"))),
    }
}
