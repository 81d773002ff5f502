//! The calls of the admin API. Each is declared here once: the gate's routes, its metrics and the schema follow from the rows.

leafgate_words::words! {
    /// A call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AdminCall {
        /// How the gate is.
        Status = "status" / "GET" / "/v1/status",
        /// What happens from now on.
        Events = "events" / "GET" / "/v1/events",
        /// The turns that wait.
        Pending = "pending" / "GET" / "/v1/pending",
        /// One of them.
        Turn = "turn" / "GET" / "/v1/pending/{id}",
        /// Its request in whole.
        Request = "request" / "GET" / "/v1/pending/{id}/request",
        /// The request as a tree.
        Outline = "outline" / "GET" / "/v1/pending/{id}/outline",
        /// What was changed in it.
        Diff = "diff" / "GET" / "/v1/pending/{id}/diff",
        /// The body that would leave.
        Payload = "payload" / "GET" / "/v1/pending/{id}/payload",
        /// Changes it.
        Edit = "edit" / "POST" / "/v1/pending/{id}/edit",
        /// Pins sections for people.
        Pin = "pin" / "PUT" / "/v1/pending/{id}/pins",
        /// What would be saved of its edits.
        Preview = "preview" / "GET" / "/v1/pending/{id}/capture",
        /// Saves its edits.
        Capture = "capture" / "POST" / "/v1/pending/{id}/capture",
        /// Makes an exception of what holds it.
        Except = "except" / "POST" / "/v1/pending/{id}/except",
        /// Lets it go.
        Resume = "resume" / "POST" / "/v1/pending/{id}/resume",
        /// Gives it up.
        Cancel = "cancel" / "POST" / "/v1/pending/{id}/cancel",
        /// Which turns wait without a rule.
        Mode = "mode" / "GET" / "/v1/mode",
        /// Chooses that.
        SetMode = "set_mode" / "PUT" / "/v1/mode",
        /// Has everything pass for a while.
        SwitchOff = "switch_off" / "PUT" / "/v1/off",
        /// The saved edits.
        Saved = "saved" / "GET" / "/v1/saved",
        /// Changes how they are made.
        SetSaved = "set_saved" / "PUT" / "/v1/saved",
        /// Has the next edits be saved.
        ArmCapture = "arm_capture" / "POST" / "/v1/saved/capture",
        /// Forgets those of a scope.
        ClearSaved = "clear_saved" / "POST" / "/v1/saved/clear",
        /// One of them.
        SavedEdit = "saved_edit" / "GET" / "/v1/saved/{id}",
        /// Forgets it.
        RemoveSaved = "remove_saved" / "DELETE" / "/v1/saved/{id}",
        /// What it changes.
        SavedDiff = "saved_diff" / "GET" / "/v1/saved/{id}/diff",
        /// The conversations.
        Sessions = "sessions" / "GET" / "/v1/sessions",
        /// Whether the newest is the active one.
        Follow = "follow" / "PUT" / "/v1/sessions",
        /// Looks at one.
        Select = "select" / "POST" / "/v1/sessions/{id}/select",
        /// Closes one.
        CloseSession = "close_session" / "DELETE" / "/v1/sessions/{id}",
        /// What agents asked that others started.
        Subagents = "subagents" / "GET" / "/v1/subagents",
        /// The team that serves, and its runs.
        Agents = "agents" / "GET" / "/v1/agents",
        /// One run.
        AgentRun = "agent_run" / "GET" / "/v1/agents/runs/{id}",
        /// Ends the quarantine of a plugin.
        ReleasePlugin = "release_plugin" / "POST" / "/v1/plugins/{id}/release",
        /// The value of a token.
        Reveal = "reveal" / "POST" / "/v1/reveal",
    }
    /// Its name in metrics.
    pub fn name = 0;
    /// Its method.
    pub fn method = 1;
    /// Its path, with `{id}` for an id.
    pub fn path = 2;
}

impl AdminCall {
    /// Returns the id in a path of this call, empty where it has none; `None` for a path of another call.
    #[must_use]
    pub fn id_in(self, path: &str) -> Option<&str> {
        match self.path().split_once("{id}") {
            None => (path == self.path()).then_some(""),
            Some((before, after)) => {
                let id = path.strip_prefix(before)?.strip_suffix(after)?;
                (!id.is_empty() && !id.contains('/')).then_some(id)
            }
        }
    }

    /// Returns whether it has a body. No form of a web page can send one of JSON, nor DELETE.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self.method(), "POST" | "PUT")
    }
}
