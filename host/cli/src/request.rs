//! A request from a file or standard input, judged as the gate would judge it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use leafgate_assemble::Step;
use leafgate_chat::redact::ranges::{self, Ranges};
use leafgate_config::Layer;
use leafgate_gate::{AskedPath, GateLimits, SavedFiles, saved_holds, session_key};
use leafgate_policy::{Context, Evaluation, MadeRequest, NotMade, Policy, Verdict};
use leafgate_saved::SavedEditOutcome;
use leafgate_tree::{Document, Draft, Format, Limits, ParseError, ParseErrorKind, Replay};
use leafgate_vault::{TokenKeys, Vault};

use crate::options::{ConfigArgs, PolicyArg, RequestArgs, policy_source};
use crate::print::Printer;
use crate::{home, policy, settings};

/// A request and its evaluation.
pub(crate) struct JudgedRequest {
    pub(crate) document: Arc<Document>,
    pub(crate) evaluation: Evaluation,
    /// What people may see of it, where a value holds it that cannot be redacted.
    veiled: Option<Draft>,
    /// Name of the policy's generation.
    pub(crate) generation: String,
    /// The profile that made the request, and what that took.
    pub(crate) assembled: Option<(Arc<str>, Vec<Step>)>,
    /// The ranges of a chat export whose texts were changed.
    pub(crate) ranges: Ranges,
    /// Why the request is no JSON, if it is taken as one raw text.
    why_raw: Option<ParseError>,
    /// Whether nobody named the format.
    is_format_assumed: bool,
    /// Why it is shown as it would go to its own upstream, where a rule sends it to another one.
    not_followed: Option<&'static str>,
}

impl JudgedRequest {
    /// Returns the edits as people may see them.
    pub(crate) fn shown(&self) -> &Draft {
        self.veiled.as_ref().unwrap_or(&self.evaluation.draft)
    }

    /// Prints notes about the request on standard error.
    pub(crate) fn print_notes(&self, printer: &mut Printer) {
        let assumed = self.is_format_assumed.then(|| assumed(&self.document)).flatten();
        if let (Some(assumed), None) = (assumed, &self.why_raw) {
            printer.error_line(&format!("leafgate: {assumed}"));
        }
        if let Some(why) = self.not_followed {
            printer.error_line(&format!("leafgate: this is not what leaves there: {why}"));
        }
        if let Some(error) = &self.why_raw {
            printer.error_line(&format!(
                "leafgate: the request is taken as one text, for it is no JSON: {error}"
            ));
        }
    }

    /// Refuses what a gate refuses: a body that is no JSON, where nobody said that it is meant as a text.
    pub(crate) fn must_be_json(&self, file: Option<&Path>) -> anyhow::Result<()> {
        match &self.why_raw {
            Some(error) if self.is_format_assumed => Err(no_json(file, error)),
            _ => Ok(()),
        }
    }
}

/// What is wrong with a body that is no JSON, and what to do.
pub(crate) fn no_json(file: Option<&Path>, error: &ParseError) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot use {} as a request, and a gate refuses it: {error}; `--format raw` takes it as one text",
        name(file)
    )
}

/// Returns in words which format was assumed, where a body fits more than one API or none.
pub(crate) fn assumed(document: &Document) -> Option<String> {
    let why = match document.format() {
        Format::Generic => "it has the shape of no format",
        Format::OpenaiResponses if has_text_input(document) => "embeddings look alike",
        _ => return None,
    };
    Some(format!("the request is read as {}, for {why}; `--format` says otherwise", document.format()))
}

/// Whether `input` is a text: then the path alone tells what a body asks for.
fn has_text_input(document: &Document) -> bool {
    document.member(document.root(), "input").is_some_and(|input| document.leaf(input).is_some())
}

/// Reads and judges a request.
pub(crate) fn judge(policy: &PolicyArg, request: &RequestArgs) -> anyhow::Result<JudgedRequest> {
    judge_by(&policy::load(&policy.source)?, request, &ConfigArgs::default(), EarlierEdits::None)
}

/// Edits of earlier requests that are made in this one too.
pub(crate) enum EarlierEdits<'e> {
    None,
    /// Recorded ones, in the place of rewriting rules.
    Recorded(&'e mut Replay),
    /// Saved ones, before rewriting rules, and what becomes of them.
    Saved(&'e SavedFiles, &'e mut Vec<SavedEditOutcome>),
}

/// Reads a request and judges it by a policy that is loaded; where a rule sends it to another upstream, as it
/// is judged there.
pub(crate) fn judge_by(
    policy: &Policy,
    request: &RequestArgs,
    config: &ConfigArgs,
    mut earlier: EarlierEdits<'_>,
) -> anyhow::Result<JudgedRequest> {
    let (document, why_raw) = read(request.file.as_deref(), request.named_format())?;
    let received = (Arc::new(document), why_raw);
    let mut judged = judge_at(policy, request, &received, None, &mut earlier)?;
    let Verdict::Route(route) = judged.evaluation.verdict.clone() else { return Ok(judged) };
    if let EarlierEdits::Recorded(_) = earlier {
        judged.not_followed = Some("recorded edits are made for the upstream that the client asked");
        return Ok(judged);
    }
    let settings = settings::load(config, Layer::default())?;
    let Some(upstream) = settings.upstream(&route.to) else {
        judged.not_followed = Some("the upstream is not in the configuration");
        return Ok(judged);
    };
    let own = upstream.text("policy").map(policy_source).transpose().map_err(anyhow::Error::msg)?;
    let own = own.map(|own| policy::load(&own)).transpose()?;
    let there = (upstream.text("url").unwrap_or_default(), &*route.to);
    let policy = own.as_ref().unwrap_or(policy);
    let mut judged = judge_at(policy, request, &received, Some(there), &mut earlier)?;
    judged.evaluation.verdict = match judged.evaluation.verdict {
        Verdict::Forward => Verdict::Route(route),
        Verdict::Route(again) => Verdict::Block(again.refused("it was sent on already")),
        held @ (Verdict::Pause(_) | Verdict::Block(_)) => held,
    };
    Ok(judged)
}

/// Judges what was read, as it is for an upstream of this URL and name.
fn judge_at(
    policy: &Policy,
    request: &RequestArgs,
    (document, why_raw): &(Arc<Document>, Option<ParseError>),
    upstream: Option<(&str, &str)>,
    earlier: &mut EarlierEdits<'_>,
) -> anyhow::Result<JudgedRequest> {
    let mut document = Arc::clone(document);
    let keys = home::token_keys()?;
    let mut asked = AskedRequest::new(request.path.as_ref(), &document, &keys);
    (asked.upstream, asked.upstream_name) =
        upstream.map(|(url, name)| (url.to_owned(), name.to_owned())).unzip();
    let mut assembled = None;
    if let Some(made) = asked.make(policy, request.profile.as_deref(), &document)? {
        document = made.document;
        assembled = Some((Arc::clone(&made.profile.id), made.steps));
    }
    let context = asked.context();
    let (received, vault) = (Arc::clone(&document), Vault::new(keys));
    let mut evaluation = match earlier {
        EarlierEdits::None => policy.evaluate(received, &context, &vault),
        EarlierEdits::Recorded(replay) => {
            policy.replay(received, &context, &vault, |draft| replay.step(draft))
        }
        EarlierEdits::Saved(files, outcomes) => {
            policy.evaluate_with_saved(received, &context, &vault, |draft| {
                let layers: Vec<_> = files.layers.iter().collect();
                **outcomes = leafgate_saved::apply(&layers, draft);
                saved_holds(outcomes)
            })
        }
    };
    let ranges = match document.format() {
        Format::VscodeChat => {
            ranges::follow(&mut evaluation.draft).context("cannot read what would leave")?
        }
        _ => Ranges::default(),
    };
    let veiled = policy.veiled(&evaluation.draft, &evaluation.recall, &vault);
    let (generation, is_format_assumed) = (policy.generation_name(), request.named_format().is_none());
    Ok(JudgedRequest {
        document,
        evaluation,
        veiled,
        generation,
        assembled,
        ranges,
        why_raw: *why_raw,
        is_format_assumed,
        not_followed: None,
    })
}

/// What is known of a request beside its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedRequest {
    pub(crate) session: String,
    /// The path that it is sent to, where somebody says it.
    pub(crate) path: Option<AskedPath>,
    /// What an upstream was asked for, where the log says it.
    pub(crate) endpoint: Option<String>,
    /// The model, where it is named outside of the body.
    pub(crate) model: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) is_subagent: Option<bool>,
    /// The URL of the upstream that is asked, and what the configuration calls it.
    pub(crate) upstream: Option<String>,
    pub(crate) upstream_name: Option<String>,
}

impl AskedRequest {
    /// Reads the path that a body is sent to; `None` where nobody says it.
    pub(crate) fn new(path: Option<&AskedPath>, document: &Document, keys: &TokenKeys) -> Self {
        let (session, model) = (session_key(keys, document), path.and_then(|path| path.model(document)));
        AskedRequest { session, path: path.cloned(), model, ..AskedRequest::default() }
    }

    /// Returns what a policy is told.
    pub(crate) fn context(&self) -> Context<'_> {
        let path = self.path.as_ref();
        Context {
            session: &self.session,
            agent: self.agent.as_deref(),
            model: self.model.as_deref(),
            stream: path.and_then(AskedPath::stream),
            subagent: self.is_subagent,
            upstream: self.upstream.as_deref(),
            upstream_name: self.upstream_name.as_deref(),
            endpoint: path.map(AskedPath::path).or(self.endpoint.as_deref()),
            ..Context::default()
        }
    }

    /// Has a profile make the request, where one is named or is for it. Asks the model of that profile then,
    /// where the path names it.
    pub(crate) fn make(
        &mut self,
        policy: &Policy,
        named: Option<&str>,
        document: &Document,
    ) -> Result<Option<MadeRequest>, NotMade> {
        let made = policy.make_request(named, document, &self.context())?;
        if let (Some(made), Some(path)) = (&made, &self.path)
            && let Some(model) = &made.profile.profile.model
            && let Some(other) = path.with_model(model)
        {
            self.path = Some(other);
            self.model = self.model.is_some().then(|| model.to_string());
        }
        Ok(made)
    }
}

/// Reads the request of a file, or of standard input; with the reason where it is one raw text.
pub(crate) fn read(
    file: Option<&Path>,
    format: Option<Format>,
) -> anyhow::Result<(Document, Option<ParseError>)> {
    let read = document(&body(file)?, format);
    read.with_context(|| format!("cannot use {} as a request", name(file)))
}

/// Reads a body from a file, or from standard input for `-` or no path.
pub(crate) fn body(path: Option<&Path>) -> anyhow::Result<Bytes> {
    let body = match path.filter(|path| *path != Path::new("-")) {
        Some(path) => File::open(path).and_then(bounded),
        None => bounded(io::stdin().lock()),
    };
    let cannot = || format!("cannot read {} (give a file with the body of one request)", name(path));
    Ok(body.with_context(cannot)?.into())
}

/// Reads a body as a format, or as the one whose shape it has. A body that is no JSON is one raw
/// text, with the reason, unless the named format does not allow that.
pub(crate) fn document(
    body: &Bytes,
    format: Option<Format>,
) -> Result<(Document, Option<ParseError>), ParseError> {
    let limits = Limits::default();
    let read = match format {
        Some(format) => Document::parse(body.clone(), format, &limits),
        None => Document::detect(body.clone(), &limits),
    };
    match read {
        Ok(document) => Ok((document, None)),
        Err(error) if takes_text(format) && is_no_json(&error) => {
            Ok((Document::raw(body.clone()), Some(error)))
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn name(path: Option<&Path>) -> String {
    let path = path.filter(|path| *path != Path::new("-"));
    path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
}

/// Reads a file of a known format, or standard input.
pub(crate) fn read_as(path: Option<&Path>, format: Format) -> anyhow::Result<Document> {
    Document::parse(body(path)?, format, &Limits::default())
        .with_context(|| format!("cannot read {}", name(path)))
}

/// `raw` names JSON, but a body of another kind under it is meant as a text.
fn takes_text(format: Option<Format>) -> bool {
    matches!(format, None | Some(Format::Raw | Format::Generic))
}

/// Returns whether the body never was JSON. A body that ends too early or exceeds a limit is a
/// mistake to report.
fn is_no_json(error: &ParseError) -> bool {
    matches!(error.kind, ParseErrorKind::Syntax(_) | ParseErrorKind::InvalidUtf8)
}

/// Reads as much as the gate would read, and not a byte more, so that an endless pipe ends here
/// too.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let most = GateLimits::default().body;
    let mut body = Vec::new();
    source.take(most as u64 + 1).read_to_end(&mut body)?;
    if body.len() > most {
        return Err(io::Error::other(format!(
            "it is larger than {most} bytes, the most that the gate reads"
        )));
    }
    Ok(body)
}
