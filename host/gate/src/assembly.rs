//! Requests that a profile of the policy makes, before any rule looks at them.
//!
//! A request is assembled from what its client sent and from files, once, and from then on the
//! assembled body is the request: it is judged, shown and sent. Which conversation it belongs to is
//! told from what the client sent, for what is put in changes with the turns.
//!
//! A file is read anew for each question, the same one asked again among them, and kept while tools run for it, whatever
//! becomes of it meanwhile. So the calls and results of a turn stand behind the same words.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use leafgate_assemble::Counted;
use leafgate_desk::PartsDigest;
use leafgate_policy::{Assembly, Context, FolderFiles, MadeRequest, NotMade, Policy};
use leafgate_tree::{Document, NodeId};
use lru::LruCache;

use leafgate_http::Refusal;

/// Questions, and turns in which tools run, whose files are kept. A turn ends within minutes, and a gate has few of them at
/// a time.
const TURNS: NonZeroUsize = NonZeroUsize::new(256).expect("256 is not 0");

/// Bytes of all files that are kept.
const BYTES: usize = 64 * 1024 * 1024;

/// Assembles requests, and keeps what their turns have read.
pub(crate) struct Assembler {
    turns: Mutex<LruCache<[u8; 32], Arc<FolderFiles>>>,
}

/// The profile and its steps, for the log.
pub(crate) fn summary(made: &MadeRequest) -> String {
    let steps: Vec<String> = made.steps.iter().map(ToString::to_string).collect();
    format!("{}: {}", made.profile.id, steps.join("; "))
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Assembler { turns: Mutex::new(LruCache::new(TURNS)) }
    }

    /// Assembles a request with the profile that was chosen for it, or else with the first one of
    /// the policy that is for it; `None` where there is none. Of one that is `counted`, what its
    /// turn would be.
    pub(crate) fn assemble(
        &self,
        policy: &Policy,
        chosen: Option<&Arc<Assembly>>,
        document: &Arc<Document>,
        context: &Context<'_>,
        counted: Option<&Counted>,
    ) -> Result<Option<MadeRequest>, Refusal> {
        let refused = |error: NotMade| Refusal::malformed(error.to_string());
        let Some(profile) = policy.profile_for(chosen, document, context).map_err(refused)? else {
            return Ok(None);
        };
        let files = self.files(policy, profile, context.session, document, counted.is_some());
        let made = profile.make(document, &*files, counted);
        self.trim();
        Ok(Some(made.map_err(refused)?))
    }

    /// The files of a turn: where tools have run for a question, what was read for it. A question reads anew, and one whose
    /// cost is asked for keeps nothing.
    fn files(
        &self,
        policy: &Policy,
        assembly: &Assembly,
        session: &str,
        document: &Document,
        is_counted: bool,
    ) -> Arc<FolderFiles> {
        let words = document.latest_user_words();
        let question = turn(policy, assembly, session, document, &words, None);
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(call) = document.first_call_behind(&words) else {
            let files = Arc::new(assembly.files());
            if !is_counted {
                turns.put(question, Arc::clone(&files));
            }
            return files;
        };
        // The same words may be asked twice at a time: by their first calls they are told apart.
        let turn = turn(policy, assembly, session, document, &words, Some(call));
        if let Some(files) = turns.get(&turn) {
            return Arc::clone(files);
        }
        let files = turns.get(&question).map_or_else(|| Arc::new(assembly.files()), Arc::clone);
        turns.put(turn, Arc::clone(&files));
        files
    }

    /// Forgets the turns that were used least recently, as long as all of them keep too much.
    fn trim(&self) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes: usize = turns.iter().map(|(_, files)| files.bytes()).sum();
        while bytes > BYTES && turns.len() > 1 {
            let Some((_, oldest)) = turns.pop_lru() else { break };
            bytes -= oldest.bytes();
        }
    }
}

/// Names a turn: the conversation, the profile, the latest words of the user, and the first call of a tool behind them.
fn turn(
    policy: &Policy,
    assembly: &Assembly,
    session: &str,
    document: &Document,
    words: &[Range<usize>],
    call: Option<NodeId>,
) -> [u8; 32] {
    let mut parts = PartsDigest::default();
    parts.add(policy.digest());
    parts.add(assembly.id.as_bytes());
    parts.add(session.as_bytes());
    for range in words.iter().cloned().chain(call.map(|call| document.subtree(call))) {
        // Which of several equal messages it is, its place says.
        parts.add((range.start as u64).to_le_bytes());
        let leaves = range.filter_map(|node| document.leaf(NodeId::from_index(node)));
        leaves.for_each(|leaf| parts.add(leaf.spelling().0.as_bytes()));
    }
    parts.finish()
}
