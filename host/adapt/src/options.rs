//! What a request asks for beside its messages: options by one table, tools, and the choice among them.

use leafgate_api::{Api, PICKED, gemini};
use serde_json::{Map, Value, json};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// Where chat completions, Responses, Messages and Gemini have an option, as pointers below the body, or below Gemini's member of
/// options. All are read, and the first is written.
type OptionRow = [&'static [&'static str]; 4];

const OPTIONS: [OptionRow; 11] = [
    [
        &["/max_completion_tokens", "/max_tokens"],
        &["/max_output_tokens"],
        &["/max_tokens"],
        &["/maxOutputTokens", "/max_output_tokens"],
    ],
    [&["/temperature"], &["/temperature"], &["/temperature"], &["/temperature"]],
    [&["/top_p"], &["/top_p"], &["/top_p"], &["/topP", "/top_p"]],
    [&[], &[], &["/top_k"], &["/topK", "/top_k"]],
    [&["/stop"], &[], &["/stop_sequences"], &["/stopSequences", "/stop_sequences"]],
    [&["/seed"], &[], &[], &["/seed"]],
    [&["/presence_penalty"], &[], &[], &["/presencePenalty", "/presence_penalty"]],
    [&["/frequency_penalty"], &[], &[], &["/frequencyPenalty", "/frequency_penalty"]],
    [&["/reasoning_effort"], &["/reasoning/effort"], &[], &[]],
    [&["/parallel_tool_calls"], &["/parallel_tool_calls"], &[], &[]],
    [&["/user", "/safety_identifier"], &["/user", "/safety_identifier"], &["/metadata/user_id"], &[]],
];

/// Returns where an API has an option.
fn places(row: &OptionRow, api: Api) -> &'static [&'static str] {
    row[match api {
        Api::Chat => 0,
        Api::Responses => 1,
        Api::Messages => 2,
        Api::Gemini | Api::CodeAssist => 3,
    }]
}

/// Members that are read elsewhere, or say nothing to another provider: where it keeps what, and how it is to say what it costs.
const READ: &str = include_str!("read.txt");

/// Members that are named where they get lost. Any other name could be anybody's text.
const NAMED: &str = include_str!("named.txt");

/// What is lost of a member that [`NAMED`] does not have.
const UNNAMED: &str = "other members";

/// Notes what cannot be said, once.
pub(crate) fn lose(losses: &mut Vec<&'static str>, what: &'static str) {
    if !losses.contains(&what) {
        losses.push(what);
    }
}

/// Carries the options of one API over to another.
pub(crate) fn carry(from: Api, to: Api, body: &Object, made: &mut Object, losses: &mut Vec<&'static str>) {
    let read = options_of(from, body);
    let mut written = Value::Object(Object::new());
    for row in &OPTIONS {
        let value = places(row, from).iter().find_map(|at| read.pointer(at)).filter(|value| !value.is_null());
        let Some(value) = value else { continue };
        match places(row, to).first() {
            Some(at) => put(&mut written, at, fitting(to, at, value)),
            None => lose(
                losses,
                places(row, from)[0].trim_start_matches('/').split('/').next().unwrap_or(UNNAMED),
            ),
        }
    }
    let Value::Object(written) = written else { return };
    match to {
        Api::Gemini if written.is_empty() => {}
        Api::Gemini => drop(made.insert(gemini::GENERATION[0].to_owned(), written.into())),
        Api::Chat | Api::Responses | Api::Messages | Api::CodeAssist => made.extend(written),
    }
    let is_known = |key: &str| {
        let first = |at: &&str| at.trim_start_matches('/').split('/').next() == Some(key);
        key == PICKED
            || READ.lines().any(|read| read == key)
            || gemini::SYSTEM.contains(&key)
            || gemini::TOOL_CONFIG.contains(&key)
            || OPTIONS.iter().any(|row| places(row, from).iter().any(first))
    };
    let says = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({});
    let lost = read.as_object().into_iter().flatten().filter(|(key, value)| !is_known(key) && says(value));
    for (key, value) in lost {
        // One answer is what every API gives.
        if !matches!(&**key, "n" | "candidateCount") || *value != json!(1) {
            lose(losses, NAMED.lines().find(|name| name == key).unwrap_or(UNNAMED));
        }
    }
}

/// The members of a body, with those of Gemini's options among them.
fn options_of(api: Api, body: &Object) -> Value {
    let mut all = body.clone();
    if api == Api::Gemini {
        for key in gemini::GENERATION {
            if let Some(Value::Object(options)) = all.remove(key) {
                all.extend(options);
            }
        }
    }
    all.into()
}

/// Returns a value as an API takes it there.
fn fitting(to: Api, at: &str, value: &Value) -> Value {
    match (to, at) {
        (Api::Messages, "/temperature") if value.as_f64().is_some_and(|heat| heat > 1.0) => json!(1.0),
        (Api::Messages, "/stop_sequences") | (Api::Gemini, "/stopSequences") if value.is_string() => {
            json!([value])
        }
        _ => value.clone(),
    }
}

/// Puts a value where a pointer of one or two members says.
fn put(into: &mut Value, at: &str, value: Value) {
    match at.trim_start_matches('/').split_once('/') {
        Some((outer, inner)) => into[outer][inner] = value,
        None => into[&at[1..]] = value,
    }
}

/// A tool that the client runs.
pub struct ToolTerms {
    /// Its name.
    pub name: Value,
    /// What the model is told of it.
    pub description: Option<Value>,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Returns the functions that a request offers. Tools of another kind, which a provider runs, are lost.
pub(crate) fn tools(api: Api, body: &Object, losses: &mut Vec<&'static str>) -> Vec<ToolTerms> {
    let offered = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let mut tools = Vec::new();
    for tool in offered {
        let functions: Vec<&Value> = match api {
            Api::Chat => tool.get("function").into_iter().collect(),
            Api::Responses => (tool["type"] == "function").then_some(tool).into_iter().collect(),
            Api::Messages => tool.get("input_schema").map(|_| tool).into_iter().collect(),
            Api::Gemini | Api::CodeAssist => {
                let lists = gemini::FUNCTIONS.iter().filter_map(|key| tool.get(key)?.as_array());
                lists.flatten().collect()
            }
        };
        if functions.is_empty() {
            lose(losses, "tools that are no functions");
        }
        tools.extend(functions.into_iter().filter_map(terms));
    }
    tools
}

fn terms(function: &Value) -> Option<ToolTerms> {
    let keys = ["parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"];
    let schema = keys.iter().find_map(|key| function.get(key)).filter(|schema| schema.is_object());
    Some(ToolTerms {
        name: function.get("name")?.clone(),
        description: function.get("description").cloned(),
        schema: schema.cloned().unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    })
}

impl ToolTerms {
    /// Writes it as an API has it; of Gemini, as one of the functions of a tool.
    #[must_use]
    pub fn written(self, to: Api) -> Value {
        let schema = match to {
            Api::Chat | Api::Responses => "parameters",
            Api::Messages => "input_schema",
            Api::Gemini | Api::CodeAssist => "parametersJsonSchema",
        };
        let mut function = json!({ "name": self.name, schema: self.schema });
        if let Some(description) = self.description {
            function["description"] = description;
        }
        match to {
            Api::Chat => json!({ "type": "function", "function": function }),
            Api::Responses => {
                function["type"] = "function".into();
                function["strict"] = false.into();
                function
            }
            Api::Messages | Api::Gemini | Api::CodeAssist => function,
        }
    }
}

/// Writes tools as an API has them.
pub(crate) fn put_tools(to: Api, tools: Vec<ToolTerms>, made: &mut Object) {
    if tools.is_empty() {
        return;
    }
    let tools: Value = tools.into_iter().map(|tool| tool.written(to)).collect();
    let tools = match to {
        Api::Gemini | Api::CodeAssist => json!([{ gemini::FUNCTIONS[0]: tools }]),
        Api::Chat | Api::Responses | Api::Messages => tools,
    };
    made.insert("tools".to_owned(), tools);
}

/// As the model likes, none, and any.
const CHOICES: [ChoiceWords; 3] =
    [["auto", "auto", "AUTO"], ["none", "none", "NONE"], ["required", "any", "ANY"]];

/// The words of OpenAI's APIs, of Messages and of Gemini for a choice.
type ChoiceWords = [&'static str; 3];

/// Which tools a model may call.
pub(crate) enum ToolChoice {
    Of(ChoiceWords),
    One(String),
}

/// Returns the choice that a request makes.
pub(crate) fn choice(api: Api, body: &Object) -> Option<ToolChoice> {
    let member = |keys: &gemini::Spelled, of: &Value| keys.iter().find_map(|key| of.get(key)).cloned();
    let (kind, name) = match api {
        Api::Gemini | Api::CodeAssist => {
            let config = gemini::TOOL_CONFIG.iter().find_map(|key| body.get(*key))?;
            let calling = member(&gemini::CALLING, config)?;
            let allowed = member(&gemini::ALLOWED, &calling);
            (
                calling["mode"].as_str()?.to_lowercase(),
                allowed.and_then(|names| names[0].as_str().map(str::to_owned)),
            )
        }
        Api::Chat | Api::Responses | Api::Messages => {
            let choice = body.get("tool_choice")?;
            let name = choice.get("name").or_else(|| choice.get("function")?.get("name"));
            let kind = choice.as_str().or_else(|| choice["type"].as_str())?;
            (kind.to_owned(), name.and_then(Value::as_str).map(str::to_owned))
        }
    };
    match name {
        Some(name) if !matches!(&*kind, "auto" | "none") => Some(ToolChoice::One(name)),
        _ => CHOICES.into_iter().find(|words| words.contains(&&*kind)).map(ToolChoice::Of),
    }
}

/// Writes a choice as an API has it.
pub(crate) fn put_choice(to: Api, choice: &ToolChoice, made: &mut Object) {
    let value = match (to, choice) {
        (Api::Gemini | Api::CodeAssist, choice) => {
            let calling = match choice {
                ToolChoice::Of([.., mode]) => json!({ "mode": mode }),
                ToolChoice::One(name) => json!({ "mode": "ANY", gemini::ALLOWED[0]: [name] }),
            };
            made.insert(gemini::TOOL_CONFIG[0].to_owned(), json!({ gemini::CALLING[0]: calling }));
            return;
        }
        (Api::Messages, ToolChoice::Of([_, kind, _])) => json!({ "type": kind }),
        (Api::Messages, ToolChoice::One(name)) => json!({ "type": "tool", "name": name }),
        (Api::Chat | Api::Responses, ToolChoice::Of([word, ..])) => json!(word),
        (Api::Chat, ToolChoice::One(name)) => json!({ "type": "function", "function": { "name": name } }),
        (Api::Responses, ToolChoice::One(name)) => json!({ "type": "function", "name": name }),
    };
    made.insert("tool_choice".to_owned(), value);
}
