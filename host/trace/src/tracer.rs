//! Takes what a gate tells, and has one thread make spans of it and send them.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use leafgate_admin::StoreStatus;
use leafgate_answer::Summary;
use leafgate_detect::{Engine, Input};
use leafgate_gate::record::{AnswerPart, RecordId, Recorded, Recorder, RequestRecord, RevealRecord};

use crate::collector::Collector;
use crate::span::{Span, message};

/// Messages that wait for the thread: parts of streams are small and many.
const MESSAGES: usize = 4096;

/// Requests whose answers are followed at once. More have spans without an answer.
const OPEN: usize = 4096;

/// Spans of one message, and how long the first of them waits for others.
const BATCH: usize = 128;
const WAIT: Duration = Duration::from_secs(5);

/// Letters of a model's name that are told.
const NAME: usize = 64;

/// Sends a span for each request.
#[derive(Debug)]
pub struct Tracer {
    sender: SyncSender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What waits for the thread.
enum Message {
    Request(RecordId, Box<Span>),
    Answer(RecordId, AnswerPart),
    Stop,
}

impl Tracer {
    /// Begins to send to a collector, which need not answer yet.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(collector: Collector) -> std::io::Result<Tracer> {
        let (sender, receiver) = mpsc::sync_channel(MESSAGES);
        let thread = std::thread::Builder::new().name("leafgate-trace".to_owned());
        let thread = thread.spawn(move || Sending::new(collector, receiver).run())?;
        Ok(Tracer { sender, thread: Mutex::new(Some(thread)) })
    }

    /// Sends what is there, and ends. What is told later is forgotten.
    pub fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // An error means that the thread has ended.
            let _ = self.sender.send(Message::Stop);
            let _ = thread.join();
        }
    }

    fn offer(&self, message: Message) {
        // What does not fit is forgotten: no request waits for a span.
        if let Err(TrySendError::Full(_)) = self.sender.try_send(message) {
            tracing::debug!(target: "leafgate::trace", "more is traced than can be sent");
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Recorder for Tracer {
    fn request(&self, request: Box<RequestRecord>) -> Recorded {
        if let Some(span) = span(&request) {
            self.offer(Message::Request(request.id, Box::new(span)));
        }
        Recorded::Taken
    }

    fn answer(&self, request: RecordId, part: AnswerPart) {
        if matches!(part, AnswerPart::Said(_)) {
            return;
        }
        self.offer(Message::Answer(request, part));
    }

    fn reveal(&self, _: RevealRecord) -> Recorded {
        // It is no request, and no span.
        Recorded::Taken
    }

    fn is_required(&self) -> bool {
        false
    }

    fn status(&self) -> Option<StoreStatus> {
        None
    }
}

/// Returns the span of a request that has just been judged; `None` where the system gives no random
/// bytes for its id.
fn span(request: &RequestRecord) -> Option<Span> {
    let mut ids = [0; 24];
    getrandom::fill(&mut ids).ok()?;
    let redactions = request.edits.iter().filter(|edit| edit.kind == "redact").count();
    Some(Span {
        trace: base16ct::lower::encode_string(&ids[..16]),
        id: base16ct::lower::encode_string(&ids[16..]),
        began: request.at,
        took: request.judging + request.waiting.unwrap_or_default(),
        api: request.api,
        agent: request.agent.to_string(),
        class: request.class,
        session: request.session.to_string(),
        upstream: request.upstream.to_string(),
        upstream_name: request.upstream_name.as_deref().map(str::to_owned),
        model: request.model.clone(),
        verdict: request.verdict,
        generation: request.policy.generation_name(),
        edits: request.edits.len() - redactions,
        redactions,
        judging: request.judging,
        waiting: request.waiting,
        status: None,
        head: None,
        complete: false,
        finish: None,
        usage: None,
    })
}

/// The thread's own.
struct Sending {
    collector: Collector,
    receiver: Receiver<Message>,
    open: HashMap<RecordId, Open>,
    done: Vec<Span>,
    /// When the first of these was done.
    since: Instant,
    names: Option<Engine>,
    failing: bool,
}

/// A request whose answer is coming.
struct Open {
    span: Span,
    began: Instant,
}

impl Sending {
    fn new(collector: Collector, receiver: Receiver<Message>) -> Self {
        Sending {
            collector,
            receiver,
            open: HashMap::new(),
            done: Vec::new(),
            since: Instant::now(),
            names: Engine::new(&["secrets", "pii"]).ok(),
            failing: false,
        }
    }

    fn run(mut self) {
        loop {
            let wait = if self.done.is_empty() { WAIT } else { WAIT.saturating_sub(self.since.elapsed()) };
            match self.receiver.recv_timeout(wait) {
                Ok(Message::Request(id, span)) => self.request(id, *span),
                Ok(Message::Answer(id, part)) => self.answer(id, &part),
                Err(RecvTimeoutError::Timeout) => self.send(),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    // What has no answer yet is told as far as it came.
                    for (_, open) in std::mem::take(&mut self.open) {
                        self.finish(open, None);
                    }
                    return self.send();
                }
            }
            if self.done.len() >= BATCH {
                self.send();
            }
        }
    }

    fn request(&mut self, id: RecordId, mut span: Span) {
        span.model = span.model.filter(|model| self.is_a_name(model));
        let open = Open { span, began: Instant::now() };
        match open.span.verdict == "forwarded" && self.open.len() < OPEN {
            true => drop(self.open.insert(id, open)),
            false => self.done(open.span),
        }
    }

    /// A client chooses the model's name, and may choose anything.
    fn is_a_name(&self, model: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/@".contains(&byte);
        let clean = |names: &Engine| names.scan(&Input::new(model)).is_empty();
        model.len() <= NAME && model.bytes().all(plain) && self.names.as_ref().is_some_and(clean)
    }

    fn answer(&mut self, id: RecordId, part: &AnswerPart) {
        let Some(open) = self.open.get_mut(&id) else { return };
        match part {
            AnswerPart::Head { status, after } => {
                (open.span.status, open.span.head) = (Some(status.as_u16()), Some(*after));
            }
            AnswerPart::End { complete, answer } => {
                open.span.complete = *complete;
                if let Some(open) = self.open.remove(&id) {
                    self.finish(open, answer.as_deref());
                }
            }
            // No word of it is told.
            AnswerPart::Said(_) => {}
            // Decided perhaps long after the span has ended.
            AnswerPart::Ruled { .. } => {}
        }
    }

    fn finish(&mut self, open: Open, answer: Option<&Summary>) {
        let Open { mut span, began } = open;
        span.took += began.elapsed();
        if let Some(answer) = answer {
            (span.finish, span.usage) = (answer.reply.finish, answer.reply.usage);
        }
        self.done(span);
    }

    fn done(&mut self, span: Span) {
        if self.done.is_empty() {
            self.since = Instant::now();
        }
        self.done.push(span);
    }

    /// Sends what is done. What the collector does not take is gone.
    fn send(&mut self) {
        let spans = std::mem::take(&mut self.done);
        if spans.is_empty() {
            return;
        }
        let sent = self.collector.send(&message(&spans));
        match &sent {
            Ok(()) if self.failing => tracing::info!(target: "leafgate::trace", "traces are taken again"),
            Err(error) if !self.failing => {
                let collector = &self.collector;
                tracing::warn!(target: "leafgate::trace", %collector, %error, "traces are not taken");
            }
            Ok(()) | Err(_) => {}
        }
        self.failing = sent.is_err();
    }
}
