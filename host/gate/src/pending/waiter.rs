//! One connection that waits for what becomes of its turn, and what it is told.

use std::sync::Arc;

use http::StatusCode;
use leafgate_desk::{CancelReason, ConnectionId, Destination, Digest, Dismissal, TurnRelease};
use tokio::sync::oneshot;

use super::{TurnGuard, Turns};
use leafgate_http::{Code, Manner, Refusal};

/// What becomes of a turn, for the connection that gets its answer.
pub(crate) type Decision = Result<TurnRelease, Dismissed>;

/// A turn that is not sent: the client gets a refusal.
pub(crate) struct Dismissed {
    pub(crate) dismissal: Dismissal,
    /// The rules for which it waited.
    pub(crate) rules: Vec<String>,
}

impl Dismissed {
    /// 400 in any case: SDKs retry most others, and the same request would only wait again. What was cancelled may be answered in
    /// this manner; what nobody decided about is an error all the same.
    pub(crate) fn refusal(&self, manner: Option<Box<Manner>>) -> Refusal {
        let code = match self.dismissal {
            Dismissal::TimedOut { .. } => Code::TimedOut,
            Dismissal::Replaced => Code::Replaced,
            Dismissal::NoRoom(_) => Code::Blocked,
            _ => Code::Cancelled,
        };
        let manner = manner.filter(|_| code == Code::Cancelled);
        Refusal { manner, ..Refusal::new(StatusCode::BAD_REQUEST, code, self.message()) }
    }

    /// Says who held the request, for which rules, and what became of it.
    fn message(&self) -> String {
        let Dismissed { dismissal, rules } = self;
        let mut rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
        rules.dedup();
        match &rules[..] {
            [] => format!("held by this gate: {dismissal}"),
            [rule] => format!("held by this gate (rule {rule}): {dismissal}"),
            rules => format!("held by this gate (rules {}): {dismissal}", rules.join(", ")),
        }
    }
}

/// Shown is sent: the desk took the digest when the bytes were made, and it is taken again of what is about to leave, under the
/// method, path and header of the connection that gets the answer.
pub(crate) fn check_release(release: &TurnRelease, to: &Destination) -> Result<(), Refusal> {
    if Digest::of(to, &release.body) == release.digest {
        return Ok(());
    }
    Err(Refusal::internal("what would leave is not what was shown, so the request did not leave"))
}

/// Waits for a decision. Dropping it tells the desk that the connection is gone.
pub(crate) struct Waiter {
    pub(super) turns: Arc<Turns>,
    pub(super) connection: ConnectionId,
    pub(super) decision: oneshot::Receiver<Decision>,
    /// What this connection's own request asks for beside its body: its headers are those that leave.
    pub(crate) to: Destination,
    /// What the turn keeps of its policy.
    pub(crate) guard: Arc<TurnGuard>,
}

impl Waiter {
    /// Waits; may be given up and called again. The desk answers every connection once, at its deadline at the latest.
    pub(crate) async fn decision(&mut self) -> Decision {
        let decided = (&mut self.decision).await;
        let lost =
            || Dismissed { dismissal: Dismissal::Cancelled(CancelReason::GateStopped), rules: Vec::new() };
        decided.unwrap_or_else(|_| Err(lost()))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.turns.lose(self.connection);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leafgate_tree::{Document, Draft, Format, Limits};

    use super::*;

    #[test]
    fn a_dismissal_names_the_gate_the_rules_and_the_time_that_they_give() {
        let said = |dismissal, rules: &[&str]| {
            let rules = rules.iter().map(|&rule| rule.to_owned()).collect();
            Dismissed { dismissal, rules }.message()
        };
        let timed_out = Dismissal::TimedOut { limit: Duration::from_millis(6500) };
        assert_eq!(
            said(timed_out, &["production"]),
            "held by this gate (rule `production`): nobody decided about this request within 6.5 s, so it was not sent."
        );
        let words = said(timed_out, &["a", "a", "b"]);
        assert!(words.starts_with("held by this gate (rules `a`, `b`): "), "{words}");
        let stopped = said(Dismissal::Cancelled(CancelReason::GateStopped), &[]);
        assert_eq!(stopped, format!("held by this gate: {}", CancelReason::GateStopped.message()));
    }

    // S0-115
    #[test]
    fn invariant_4_other_bytes_or_another_place_than_shown_do_not_leave() {
        let to = |method: &str, path: &str| Destination {
            upstream: "main".into(),
            method: method.into(),
            path: path.into(),
            options: "".into(),
        };
        let digest = Digest::of(&to("POST", "/v1/a"), b"shown");
        let document = Document::parse("{}".into(), Format::Generic, &Limits::default()).unwrap();
        let draft = Arc::new(Draft::new(Arc::new(document)));
        let release = |body| TurnRelease {
            destination: to("POST", "/v1/a"),
            body: bytes::Bytes::from_static(body),
            digest,
            edits: 0,
            redactions: 0,
            draft: Arc::clone(&draft),
            by: "user",
        };
        assert!(check_release(&release(b"shown"), &to("POST", "/v1/a")).is_ok());
        for (to, body) in [
            (to("POST", "/v1/a"), &b"other"[..]),
            (to("POST", "/v1/b"), b"shown"),
            (to("DELETE", "/v1/a"), b"shown"),
        ] {
            assert_eq!(check_release(&release(body), &to).unwrap_err().code, Code::Internal);
        }
    }
}
