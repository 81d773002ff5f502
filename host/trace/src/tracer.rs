//! Takes what a gate tells, makes spans of it, and has one thread send them.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use leafgate_answer::Summary;
use leafgate_detect::{Engine, Input};
use leafgate_record::{AnswerPart, RecordId, Recorded, Recorder, RequestRecord};

use crate::collector::Collector;
use crate::span::{Span, message};

/// Spans that wait for the thread.
const SPANS: usize = 4096;

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
    spans: Mutex<Spans>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Spans {
    /// Requests whose answers are coming, and since when.
    open: HashMap<RecordId, (Span, Instant)>,
    /// Where spans go that are done; `None` once nothing is sent any more.
    done: Option<SyncSender<Span>>,
}

impl Tracer {
    /// Begins to send to a collector, which need not answer yet.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(collector: Collector) -> std::io::Result<Tracer> {
        let (sender, receiver) = mpsc::sync_channel(SPANS);
        let thread = std::thread::Builder::new().name("leafgate-trace".to_owned());
        let thread = thread.spawn(move || run(&collector, &receiver))?;
        let spans = Spans { open: HashMap::new(), done: Some(sender) };
        Ok(Tracer { spans: Mutex::new(spans), thread: Mutex::new(Some(thread)) })
    }

    /// Sends what is there, and ends. What is told later is forgotten.
    pub fn close(&self) {
        let mut spans = self.lock();
        // What has no answer yet is told as far as it came.
        for (_, open) in std::mem::take(&mut spans.open) {
            spans.finish(open, None);
        }
        spans.done = None;
        drop(spans);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Recorder for Tracer {
    fn request(&self, request: Box<RequestRecord>) -> Recorded {
        let (id, span) = (request.id, Span::of(request));
        let mut spans = self.lock();
        match span.record.verdict == "forwarded" && spans.open.len() < OPEN {
            true => drop(spans.open.insert(id, (span, Instant::now()))),
            false => spans.send(span),
        }
        Recorded::Taken
    }

    fn answer(&self, request: RecordId, part: AnswerPart) {
        match part {
            AnswerPart::Head { status, after } => {
                if let Some((span, _)) = self.lock().open.get_mut(&request) {
                    (span.status, span.head) = (Some(status.as_u16()), Some(after));
                }
            }
            AnswerPart::End { complete, answer } => {
                let mut spans = self.lock();
                if let Some((mut span, began)) = spans.open.remove(&request) {
                    span.complete = complete;
                    spans.finish((span, began), answer.as_deref());
                }
            }
            // No word of it is told, and rules decide perhaps long after the span has ended.
            AnswerPart::Said(_) | AnswerPart::Ruled { .. } => {}
        }
    }
}

impl Spans {
    fn finish(&self, (mut span, began): (Span, Instant), answer: Option<&Summary>) {
        span.took += began.elapsed();
        if let Some(answer) = answer {
            (span.finish, span.usage) = (answer.reply.finish, answer.reply.usage);
        }
        self.send(span);
    }

    /// Hands a span over. What does not fit is forgotten: no request waits for a span.
    fn send(&self, span: Span) {
        if let Some(Err(TrySendError::Full(_))) = self.done.as_ref().map(|done| done.try_send(span)) {
            tracing::debug!(target: "leafgate::trace", "more is traced than can be sent");
        }
    }
}

/// Sends spans until there are no more. What the collector does not take is gone.
fn run(collector: &Collector, done: &Receiver<Span>) {
    let (mut spans, mut since, mut failing) = (Vec::new(), Instant::now(), false);
    loop {
        let wait = if spans.is_empty() { WAIT } else { WAIT.saturating_sub(since.elapsed()) };
        let came = done.recv_timeout(wait);
        let is_over = matches!(came, Err(RecvTimeoutError::Disconnected));
        if let Ok(mut span) = came {
            span.record.model = span.record.model.filter(|model| is_a_name(model));
            if spans.is_empty() {
                since = Instant::now();
            }
            spans.push(span);
            if spans.len() < BATCH {
                continue;
            }
        }
        if !spans.is_empty() {
            let sent = collector.send(&message(&std::mem::take(&mut spans)));
            match &sent {
                Ok(()) if failing => tracing::info!(target: "leafgate::trace", "traces are taken again"),
                Err(error) if !failing => {
                    tracing::warn!(target: "leafgate::trace", %collector, %error, "traces are not taken");
                }
                Ok(()) | Err(_) => {}
            }
            failing = sent.is_err();
        }
        if is_over {
            return;
        }
    }
}

/// A client chooses the model's name, and may choose anything.
fn is_a_name(model: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/@".contains(&byte);
    model.len() <= NAME && model.bytes().all(plain) && Engine::built_in().scan(&Input::new(model)).is_empty()
}
