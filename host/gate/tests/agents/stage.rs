//! A gate with a team, a scripted model, and a client that runs `read_file`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::Response;
use leafgate_agents::Team;
use leafgate_answer::{AnswerLimits, Api, Call, Finish, Head, Reader, Reply, answer_events, write_answer};
use leafgate_gate::{ServingTeam, TeamSource};
use serde_json::{Value, json};

use crate::kit::{Body, Client, Running, Seen, Upstream, answer, full, gate, gate_with, post};

/// The APIs, and where their requests go.
pub(crate) const APIS: [(Api, &str); 3] =
    [(Api::Chat, "/chat/completions"), (Api::Responses, "/responses"), (Api::Messages, "/messages")];

/// A team that can be replaced.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Mutex<ServingTeam>>);

impl TeamSource for Slot {
    fn team(&self) -> Option<ServingTeam> {
        Some(self.0.lock().unwrap().clone())
    }
}

impl Slot {
    pub(crate) fn new(team: &Value) -> Slot {
        Slot(Arc::new(Mutex::new(serving(team))))
    }

    pub(crate) fn replace(&self, team: &Value) {
        *self.0.lock().unwrap() = serving(team);
    }
}

fn serving(team: &Value) -> ServingTeam {
    let (team, warnings) = Team::read(&team.to_string()).unwrap();
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    ServingTeam { team: Arc::new(team), warnings: warnings.into() }
}

/// An agent that may do everything, unless changed.
pub(crate) fn agent(name: &str) -> Value {
    json!({
        "name": name,
        "systemPrompt": format!("You are {name}."),
        "description": format!("The {name}"),
        "useFor": format!("What a {name} does"),
        "delegationPermissions": { "type": "all" },
        "toolPermissions": { "type": "all" },
    })
}

pub(crate) fn team(agents: &[Value]) -> Value {
    json!({ "entryAgent": agents[0]["name"], "agents": agents })
}

/// What an agent's model answers, turn by turn.
pub(crate) type Script = BTreeMap<&'static str, Vec<Reply>>;

pub(crate) fn says(text: &str) -> Reply {
    Reply { content: text.into(), finish: Some(Finish::Stop), ..Reply::default() }
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| Call {
        id: format!("own_{at}").into(),
        name: (*name).into(),
        arguments: arguments.to_string().into(),
        ..Call::default()
    };
    Reply {
        calls: calls.iter().enumerate().map(call).collect(),
        finish: Some(Finish::Calls),
        ..Reply::default()
    }
}

pub(crate) fn delegates(to: &str, work: &str) -> Reply {
    calls(&[("delegateWork", work_of(to, work))])
}

pub(crate) fn work_of(to: &str, work: &str) -> Value {
    json!({ "agentName": to, "workDescription": work, "reportExpectations": "" })
}

pub(crate) fn reports(report: &str) -> Reply {
    calls(&[("reportOut", json!({ "report": report }))])
}

pub(crate) fn reads(path: &str) -> Reply {
    calls(&[("read_file", json!({ "path": path }))])
}

/// What the model answers to what is no turn.
pub(crate) const COUNTED: &str = "{\"input_tokens\":7}";

/// The model: it knows which agent asks by its prompt, and how often that one has asked.
pub(crate) struct Model {
    script: Script,
    asked: Mutex<BTreeMap<String, usize>>,
}

impl Model {
    pub(crate) fn new(script: Script) -> Arc<Model> {
        Arc::new(Model { script, asked: Mutex::default() })
    }

    /// Which agent a body is of.
    pub(crate) fn agent_of(body: &str) -> String {
        // The last one: the entry's prompt stands behind the client's own.
        let at = body.rfind("You are ").map_or(0, |at| at + "You are ".len());
        body[at..].split('.').next().unwrap_or_default().to_owned()
    }

    pub(crate) fn answer(&self, seen: &Seen) -> Response<Body> {
        if !APIS.iter().any(|(_, path)| seen.target.ends_with(path)) {
            return answer("application/json", full(COUNTED));
        }
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let agent = Model::agent_of(&body);
        let turn = {
            let mut asked = self.asked.lock().unwrap();
            let asked = asked.entry(agent.clone()).or_default();
            *asked += 1;
            *asked - 1
        };
        let script =
            self.script.get(agent.as_str()).unwrap_or_else(|| panic!("no script for `{agent}`: {body}"));
        let Some(reply) = script.get(turn) else {
            let mut refusal = answer("application/json", full("{\"error\":{\"message\":\"no more\"}}"));
            *refusal.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            return refusal;
        };
        let api = api_of(&seen.target);
        let head = Head { id: format!("a_{agent}_{turn}").into(), model: "m".into(), created: 1 };
        let whole = write_answer(api, reply, &head);
        let request: Value = serde_json::from_slice(&seen.body).unwrap();
        match request["stream"] == true {
            false => answer("application/json", full(whole.to_string())),
            true => {
                let events = answer_events(api, &whole, false).unwrap();
                let events: String = events.iter().map(ToString::to_string).collect();
                answer("text/event-stream", full(events))
            }
        }
    }
}

pub(crate) fn api_of(target: &str) -> Api {
    APIS.into_iter().find(|(_, path)| target.ends_with(path)).unwrap().0
}

/// A gate with a team before a scripted model.
pub(crate) struct Stage {
    pub(crate) upstream: Upstream,
    pub(crate) gate: Running,
    pub(crate) slot: Slot,
}

impl Stage {
    pub(crate) async fn new(team: &Value, script: Script) -> Stage {
        Stage::with(team, script, "").await
    }

    pub(crate) async fn with(team: &Value, script: Script, rules: &str) -> Stage {
        let model = Model::new(script);
        let upstream = Upstream::start(move |seen| {
            let model = Arc::clone(&model);
            async move { model.answer(&seen) }
        })
        .await;
        let gate = gate(rules, &upstream.url()).await;
        let slot = Slot::new(team);
        gate.gate.serve_team(slot.clone());
        Stage { upstream, gate, slot }
    }

    /// A stage whose upstream answers with what a test says.
    pub(crate) async fn before(team: &Value, upstream: Upstream) -> Stage {
        let gate = gate_with("", &upstream.url(), |limits| {
            limits.silence = std::time::Duration::from_millis(1);
            limits.keepalive = std::time::Duration::from_millis(20);
            // The same on every machine.
            limits.judges = 2;
        })
        .await;
        let slot = Slot::new(team);
        gate.gate.serve_team(slot.clone());
        Stage { upstream, gate, slot }
    }

    /// The bodies of an agent's requests, in order.
    pub(crate) fn bodies_of(&self, agent: &str) -> Vec<Value> {
        let seen = self.upstream.seen();
        let of = seen.iter().filter(|seen| Model::agent_of(&String::from_utf8_lossy(&seen.body)) == agent);
        of.map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect()
    }
}

/// A client with one tool, `read_file`, and a conversation of its own.
pub(crate) struct Conversation {
    api: Api,
    path: String,
    streams: bool,
    pub(crate) body: Value,
    key: String,
    /// What its files hold.
    files: BTreeMap<&'static str, String>,
    /// The calls that it ran, by tool and arguments.
    pub(crate) ran: Vec<(String, String)>,
    pub(crate) headers: http::HeaderMap,
}

impl Conversation {
    pub(crate) fn new(api: Api, streams: bool, task: &str) -> Conversation {
        let path = APIS.into_iter().find(|(of, _)| *of == api).unwrap().1;
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let names = ["read_file", "write_file"];
        let tools: Vec<Value> = names
            .iter()
            .map(|name| match api {
                Api::Chat => {
                    json!({ "type": "function", "function": { "name": name, "parameters": schema } })
                }
                Api::Messages => json!({ "name": name, "input_schema": schema }),
                _ => json!({ "type": "function", "name": name, "parameters": schema }),
            })
            .collect();
        let user = json!([{ "role": "user", "content": task }]);
        let mut body = match api {
            Api::Chat => json!({ "messages": user }),
            Api::Messages => json!({ "messages": user, "max_tokens": 100 }),
            _ => json!({ "input": user }),
        };
        body["model"] = json!("m");
        body["tools"] = tools.into();
        if streams {
            body["stream"] = json!(true);
        }
        Conversation {
            api,
            path: format!("/agents/v1{path}"),
            streams,
            body,
            key: "Bearer one".to_owned(),
            files: BTreeMap::new(),
            ran: Vec::new(),
            headers: http::HeaderMap::new(),
        }
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    pub(crate) fn keyed(mut self, key: &str) -> Self {
        self.key = format!("Bearer {key}");
        self
    }

    pub(crate) fn with_file(mut self, path: &'static str, text: &str) -> Self {
        self.files.insert(path, text.to_owned());
        self
    }

    /// Sends the present body once; the status, and the answer where it is one.
    pub(crate) async fn send(&mut self, stage: &Stage) -> (u16, Option<Reply>, String) {
        let mut request = post(&self.path, self.body.to_string());
        request.headers_mut().insert("authorization", self.key.parse().unwrap());
        let answer = Client::connect(stage.gate.address).await.whole(request).await;
        self.headers = answer.headers.clone();
        let text = answer.text().to_owned();
        if answer.status != 200 {
            return (answer.status, None, text);
        }
        let limits = AnswerLimits::default();
        let mut reader = match self.streams {
            true => Reader::stream(self.api, limits),
            false => Reader::whole(self.api, limits),
        };
        reader.push(&answer.body).unwrap();
        let read = reader.finish().unwrap_or_else(|error| panic!("{error}: {text}"));
        self.put(read.turn());
        (200, Some(read.reply), text)
    }

    fn list(&mut self) -> &mut Vec<Value> {
        let key = if self.api == Api::Responses { "input" } else { "messages" };
        self.body[key].as_array_mut().unwrap()
    }

    /// Puts the model's turn behind what was said, as its API wants it.
    fn put(&mut self, turn: Vec<Value>) {
        self.list().extend(turn);
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.list().push(json!({ "role": "user", "content": text }));
    }

    /// Puts the results of calls behind them.
    pub(crate) fn results(&mut self, results: &[(String, String)]) {
        let api = self.api;
        let result = |(id, text): &(String, String)| match api {
            Api::Chat => json!({ "role": "tool", "tool_call_id": id, "content": text }),
            Api::Messages => json!({ "type": "tool_result", "tool_use_id": id, "content": text }),
            _ => json!({ "type": "function_call_output", "call_id": id, "output": text }),
        };
        let results: Vec<Value> = results.iter().map(result).collect();
        match api {
            Api::Messages => self.list().push(json!({ "role": "user", "content": results })),
            _ => self.list().extend(results),
        }
    }

    /// Goes on until there is an answer without calls.
    pub(crate) async fn finish(&mut self, stage: &Stage) -> Reply {
        for _ in 0..20 {
            let (status, reply, text) = self.send(stage).await;
            let reply = reply.unwrap_or_else(|| panic!("{status}: {text}"));
            if reply.calls.is_empty() {
                return reply;
            }
            let results: Vec<(String, String)> = reply
                .calls
                .iter()
                .map(|call| {
                    self.ran.push((call.name.expose().to_owned(), call.arguments.expose().to_owned()));
                    let arguments: Value = serde_json::from_str(call.arguments.expose()).unwrap();
                    let path = arguments["path"].as_str().unwrap_or_default();
                    let text = self.files.get(path).cloned().unwrap_or_else(|| "no such file".to_owned());
                    (call.id.expose().to_owned(), text)
                })
                .collect();
            self.results(&results);
        }
        panic!("the conversation does not end");
    }
}

/// Every API, whole and as a stream.
pub(crate) fn every_way() -> impl Iterator<Item = (Api, bool)> {
    APIS.into_iter().flat_map(|(api, _)| [(api, false), (api, true)])
}
