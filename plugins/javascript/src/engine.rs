//! QuickJS itself: starting it, loading a source, and calling what that exports.

use std::cell::RefCell;

use leafgate_plugin::Level;
use leafgate_plugin::detect::Failure;
use rquickjs_core::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Module, Object, Persistent, Runtime, Value,
    module::Evaluated, promise::PromiseState,
};

use crate::Envelope;
use crate::place;

/// JavaScript frames. The host's own stack ends soon after it, and not with an error that can be
/// caught.
const STACK: usize = 104 << 10;

/// Longest message of a fault, in bytes.
const MESSAGE: usize = 1000;

/// What a source says about itself.
#[derive(Clone, Debug, Default, serde::Deserialize)]
pub(crate) struct About {
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) summary: String,
    pub(crate) labels: Vec<String>,
    pub(crate) schema: Option<String>,
    pub(crate) detect: bool,
    pub(crate) transform: bool,
}

/// Functions of the prelude, and those of the source.
struct Held {
    prelude: Persistent<Object<'static>>,
    exported: Option<Persistent<Object<'static>>>,
    about: About,
}

/// The functions, within one call.
pub(crate) struct Loaded<'js> {
    pub(crate) ctx: Ctx<'js>,
    pub(crate) prelude: Object<'js>,
    pub(crate) exported: Object<'js>,
    pub(crate) labels: Vec<String>,
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
    static NAME: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Starts QuickJS and runs the prelude, once.
pub(crate) fn start() {
    let started = CONTEXT.with_borrow(Option::is_some);
    if started {
        return;
    }
    let runtime = Runtime::new().expect("there is memory for an empty runtime");
    runtime.set_max_stack_size(STACK);
    // An instance lives for one call: it is gone before its garbage matters.
    runtime.set_gc_threshold(usize::MAX);
    let context = Context::full(&runtime).expect("there is memory for an empty context");
    let prelude = context.with(|ctx| {
        let log = Function::new(ctx.clone(), |level: u32, message: String| {
            let level = [Level::Debug, Level::Info, Level::Warn, Level::Error][level.min(3) as usize];
            leafgate_plugin::log(level, &message);
        });
        ctx.globals().set("__log", log.expect("a function fits")).expect("a member fits");
        let prelude: Object<'_> = ctx.eval(include_str!("prelude.js")).expect("the prelude is sound");
        Persistent::save(&ctx, prelude)
    });
    CONTEXT.set(Some(context));
    HELD.set(Some(Held { prelude, exported: None, about: About::default() }));
}

/// Returns what the source says, or which engine this is.
pub(crate) fn about() -> About {
    let about = HELD.with_borrow(|held| held.as_ref().map(|held| held.about.clone()));
    about.filter(|about| !about.name.is_empty()).unwrap_or_else(|| About {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
        ..About::default()
    })
}

/// Evaluates a source and configures it.
pub(crate) fn load(envelope: &Envelope) -> Result<(), Vec<String>> {
    NAME.set(envelope.name.clone());
    with_context(|ctx| {
        let wrong = |whose: &str| {
            let whose = whose.to_owned();
            move |failure: Thrown| vec![whose.clone(), failure.text()]
        };
        let prelude = prelude(&ctx);
        let exported = evaluate(&ctx, envelope).map_err(wrong("source"))?;
        let about = thrown(&ctx, about_of(&prelude, &exported)).map_err(wrong("source"))?;
        let name = envelope.name.rsplit_once('.').map_or(&*envelope.name, |(stem, _)| stem).to_owned();
        if envelope.config.is_empty() {
            // It is only looked at.
        } else if let Ok(configure) = exported.get::<_, Function<'_>>("configure") {
            let configured = ctx
                .json_parse(envelope.config.as_str())
                .and_then(|config| configure.call::<_, Value<'_>>((config,)));
            let answered = thrown(&ctx, configured).map_err(wrong("config"))?;
            if answered.is_promise() {
                let message = "`configure` must not be async: nothing comes later".to_owned();
                return Err(vec!["source".to_owned(), message]);
            }
        } else if let Some(field) = first_field(&envelope.config) {
            let message = format!("unknown field `{field}`: the script exports no `configure`");
            return Err(vec!["config".to_owned(), message]);
        }
        let exported = Persistent::save(&ctx, exported);
        HELD.with_borrow_mut(|held| {
            if let Some(held) = held {
                held.exported = Some(exported);
                held.about = About { name, ..about };
            }
        });
        Ok(())
    })
}

/// The first field of a configuration.
fn first_field(config: &str) -> Option<String> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(config).ok()?;
    fields.keys().next().cloned()
}

/// Calls `work` with what is loaded, for the exported function of this name. What is wrong with its answer was thrown nowhere in
/// the source: then the line where the function begins stands there.
pub(crate) fn run<T>(
    function: &str,
    work: impl for<'js> FnOnce(&Loaded<'js>) -> rquickjs_core::Result<T>,
) -> Result<T, Failure> {
    with_context(|ctx| {
        let loaded = HELD.with_borrow(|held| {
            let held = held.as_ref()?;
            let exported = held.exported.clone()?.restore(&ctx).ok()?;
            let prelude = held.prelude.clone().restore(&ctx).ok()?;
            Some(Loaded { ctx: ctx.clone(), prelude, exported, labels: held.about.labels.clone() })
        });
        let loaded = loaded.ok_or_else(|| Failure::Internal("called before `configure`".to_owned()))?;
        thrown(&ctx, work(&loaded)).map_err(|wrong| {
            let begins = || {
                let function: Object<'_> = loaded.exported.get(function).ok()?;
                Some((function.get("lineNumber").ok()?, 1))
            };
            let answered = || format!("what `{function}` answers: {}", wrong.message);
            let wrong = match wrong.at {
                Some(_) => wrong,
                None => Thrown { at: begins(), message: answered() },
            };
            Failure::Internal(wrong.text())
        })
    })
}

fn with_context<T>(work: impl FnOnce(Ctx<'_>) -> T) -> T {
    let context = CONTEXT.with_borrow(Clone::clone).expect("`start` has run");
    context.with(work)
}

fn prelude<'js>(ctx: &Ctx<'js>) -> Object<'js> {
    let held = HELD.with_borrow(|held| held.as_ref().map(|held| held.prelude.clone()));
    held.and_then(|held| held.restore(ctx).ok()).expect("`start` has run")
}

/// Runs a source as a module, and returns what it exports.
fn evaluate<'js>(ctx: &Ctx<'js>, envelope: &Envelope) -> Result<Object<'js>, Thrown> {
    let declared = Module::declare(ctx.clone(), envelope.name.as_str(), envelope.source.as_str());
    let evaluated = thrown(ctx, declared.and_then(Module::eval))?;
    let (module, promise): (Module<'js, Evaluated>, _) = evaluated;
    while ctx.execute_pending_job() {}
    match promise.state() {
        PromiseState::Pending => Err(Thrown::said("it waits at its top level for what never comes")),
        PromiseState::Resolved => thrown(ctx, module.namespace()),
        PromiseState::Rejected => {
            let rejected = promise.result::<Value<'_>>().unwrap_or(Err(rquickjs_core::Error::Unknown));
            thrown(ctx, rejected.map(drop))?;
            Err(Thrown::said("it does not end well"))
        }
    }
}

fn about_of<'js>(prelude: &Object<'js>, exported: &Object<'js>) -> rquickjs_core::Result<About> {
    let about: Function<'js> = prelude.get("about")?;
    let text: String = about.call((exported.clone(),))?;
    serde_json::from_str(&text).map_err(|_| rquickjs_core::Error::Unknown)
}

/// An exception in words.
struct Thrown {
    /// Line and column in the source, where it was thrown there.
    at: Option<(u32, u32)>,
    message: String,
}

impl Thrown {
    fn said(message: &str) -> Self {
        Thrown { at: None, message: message.to_owned() }
    }

    /// `line:column: what was thrown`.
    fn text(self) -> String {
        let mut text = self.at.map_or_else(String::new, |(line, column)| format!("{line}:{column}: "));
        text.push_str(&self.message);
        text.truncate(text.floor_char_boundary(MESSAGE));
        text
    }
}

fn thrown<'js, T>(ctx: &Ctx<'js>, result: rquickjs_core::Result<T>) -> Result<T, Thrown> {
    result.catch(ctx).map_err(|error| {
        let (at, message) = match &error {
            CaughtError::Exception(exception) => {
                let stack = exception.stack().unwrap_or_default();
                let kind: String = exception.as_object().get("name").unwrap_or_default();
                let message = exception.message().unwrap_or_default();
                (NAME.with_borrow(|name| place::first(&stack, name)), format!("{kind}: {message}"))
            }
            CaughtError::Value(value) => {
                let text = value.as_string().and_then(|text| text.to_string().ok());
                (None, text.unwrap_or_else(|| format!("it threw {}", value.type_name())))
            }
            CaughtError::Error(error) => (None, error.to_string()),
        };
        Thrown { at, message }
    })
}
