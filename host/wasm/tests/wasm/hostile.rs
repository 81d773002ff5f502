//! Plugins that misbehave. Each gets its own fault, and a good plugin on the same loader answers
//! before and after it.

use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use crate::support::guest::{self, Guest, case, edit, finding};
use crate::support::{BothWays, load_bytes, text};
use leafgate_contract::{
    Action, Amount, CheckedEdits, CheckedFindings, Cost, Fault, InvalidAnswer, LeafKind, LoadError, Plugin,
    PluginEdit, PluginFinding, PluginLimits, PluginLoader as _, PluginSource, Role, SectionKind, Spent,
    Target, TransformLeaf, TransformRequest, TransformSection, ValueType,
};
use leafgate_wasm::{LoaderConfig, LoaderLimits, WasmLoader};

const FOREVER: &str = "(loop $again (br $again)) unreachable";
const TRAP: &str = "unreachable";

/// One loader for all tests of this file, as in the gate: a fault must not reach from one plugin
/// into another.
static LOADERS: LazyLock<BothWays> = LazyLock::new(|| {
    // Short enough for tests that wait for them, long enough for a loaded machine.
    let (start_deadline, call_deadline) = (Duration::from_millis(300), Duration::from_millis(100));
    let limits = LoaderLimits { start_deadline, call_deadline, ..LoaderLimits::default() };
    BothWays::new(LoaderConfig { limits, ..LoaderConfig::default() })
});

/// What a detector answers about two leaves, the second with a character of two bytes at 1..3.
fn detect(guest: &Guest) -> Result<Vec<PluginFinding>, Fault> {
    let plugin = load_bytes(&*LOADERS, &guest.module(), "{}").expect("the guest loads");
    let answer = plugin.detect(&[text("first"), text("aé!")], &Spent::default());
    assert_good_plugins_still_answer();
    answer.map(CheckedFindings::into_vec).map_err(|fault| fault.parts().1.clone())
}

/// What a transformer answers about one section with a text and a number.
fn transform(guest: &Guest) -> Result<Vec<PluginEdit>, Fault> {
    let plugin = load_bytes(&*LOADERS, &guest.module(), "{}").expect("the guest loads");
    let answer = transform_with(&*plugin, &Spent::default());
    assert_good_plugins_still_answer();
    answer.map_err(|fault| fault.parts().1.clone())
}

fn transform_with(plugin: &dyn Plugin, spent: &Spent) -> Result<Vec<PluginEdit>, Fault> {
    let section = TransformSection {
        kind: SectionKind::User,
        role: Role::User,
        label: "User",
        message: Some(0),
        ..TransformSection::default()
    };
    let leaf = |value, text| TransformLeaf {
        section: 0,
        kind: LeafKind::Text,
        value,
        pointer: "/x",
        key: "x",
        text,
    };
    let request = TransformRequest {
        format: "generic",
        model: "",
        session: "",
        subagent: false,
        sections: &[section],
        leaves: &[leaf(ValueType::Text, "aé!"), leaf(ValueType::Number, "17")],
    };
    plugin.transform(&request, spent).map(CheckedEdits::into_vec)
}

fn refused(guest: &Guest) -> LoadError {
    refused_bytes(&guest.module())
}

fn refused_bytes(bytes: &[u8]) -> LoadError {
    let error = load_bytes(&*LOADERS, bytes, "{}").expect_err("the guest does not load");
    assert_good_plugins_still_answer();
    error
}

fn assert_good_plugins_still_answer() {
    let plugin = load_bytes(&*LOADERS, &Guest::detector().call(finding(0, 0, 4, 0)).module(), "{}").unwrap();
    let findings = plugin.detect(&[text("good")], &Spent::default()).unwrap().into_vec();
    assert_eq!((findings[0].leaf, findings[0].at.clone(), findings[0].label), (0, 0..4, 0));
}

fn invalid(answer: InvalidAnswer) -> Fault {
    Fault::Invalid(answer)
}

#[test]
fn a_good_guest_answers_as_a_module_and_as_a_component() {
    let guest = Guest::detector().call(finding(1, 1, 3, 0));
    for bytes in [guest.module(), guest.component()] {
        let plugin = load_bytes(&*LOADERS, &bytes, "{}").unwrap();
        assert_eq!(plugin.description().name, "tested");
        assert_eq!(
            plugin.description().labels.iter().map(|label| label.as_str()).collect::<Vec<_>>(),
            ["NAME"]
        );
        let findings = plugin.detect(&[text("first"), text("aé!")], &Spent::default()).unwrap().into_vec();
        assert_eq!((findings[0].leaf, findings[0].at.clone()), (1, 1..3));
    }
}

// Time.

#[test]
fn invariant_9_a_loop_in_detect_meets_the_deadline() {
    // 100 ms, two leaves at 0.2 ms and one begun KiB at 1 ms.
    assert_eq!(detect(&Guest::detector().call(FOREVER)), Err(Fault::Deadline { limit_ms: 101 }));
}

#[test]
fn a_loop_in_transform_meets_the_deadline() {
    assert!(matches!(transform(&Guest::transformer().call(FOREVER)), Err(Fault::Deadline { .. })));
}

#[test]
fn a_loop_in_post_return_meets_the_deadline() {
    let guest = Guest::detector().post("(loop $again (br $again))");
    assert!(matches!(detect(&guest), Err(Fault::Deadline { .. })));
}

#[test]
fn a_loop_in_realloc_meets_the_deadline() {
    // `configure` is handed a text too, so this one never loads.
    let error = refused(&Guest::detector().realloc(FOREVER));
    assert!(error.message.contains("`configure`") && error.message.contains("deadline of 300 ms"), "{error}");
}

#[test]
fn a_loop_at_the_start_in_describe_or_in_configure_is_refused_on_load() {
    for (guest, place) in [
        (Guest::detector().start("(loop $again (br $again))"), "describe"),
        (Guest::detector().describe(FOREVER), "describe"),
        (Guest::detector().configure(FOREVER), "configure"),
    ] {
        let error = refused(&guest);
        assert!(error.message.contains(place) && error.message.contains("deadline of 300 ms"), "{error}");
    }
}

// Memory.

#[test]
fn invariant_9_allocating_without_end_meets_the_memory_limit() {
    let guest = Guest::detector().call(
        "(loop $more (br_if $more (i32.ne (i32.const -1) (memory.grow (i32.const 1)))))
         unreachable",
    );
    assert_eq!(detect(&guest), Err(Fault::Memory { limit: 64 << 20 }));
}

#[test]
fn a_denied_growth_that_the_guest_survives_is_no_fault() {
    let guest =
        Guest::detector().call(format!("(drop (memory.grow (i32.const 65000))) {}", guest::findings(0)));
    assert_eq!(detect(&guest), Ok(vec![]));
}

#[test]
fn a_memory_that_starts_above_the_limit_is_refused() {
    let error = refused(&Guest::detector().memory("2000"));
    assert!(error.message.contains("compile") || error.message.contains("memory"), "{error}");
}

#[test]
fn a_table_without_end_meets_the_limit() {
    let guest = Guest::detector().with("(table $t 0 funcref)").call(
        "(loop $more (br_if $more (i32.ne (i32.const -1) (table.grow $t (ref.null func) (i32.const 1000)))))
         unreachable",
    );
    assert_eq!(detect(&guest), Err(Fault::Memory { limit: 64 << 20 }));
}

#[test]
fn a_recursion_without_end_exhausts_its_own_stack() {
    let guest = Guest::detector()
        .with("(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))")
        .call("(call $deep)");
    assert_eq!(detect(&guest), Err(Fault::Trap { code: "call stack exhausted".to_owned() }));
}

// Traps.

#[test]
fn invariant_9_a_trap_is_named() {
    let unreachable = "wasm `unreachable` instruction executed".to_owned();
    assert_eq!(detect(&Guest::detector().call(TRAP)), Err(Fault::Trap { code: unreachable.clone() }));
    assert_eq!(detect(&Guest::detector().post(TRAP)), Err(Fault::Trap { code: unreachable }));
    let divided = Guest::detector().call("(i32.div_u (i32.const 1) (i32.const 0))");
    assert_eq!(detect(&divided), Err(Fault::Trap { code: "integer divide by zero".to_owned() }));
}

/// A panic of Rust said `unreachable`, and nothing of what or where.
#[test]
fn a_panic_is_told_in_its_own_words() {
    let guest = Guest::detector()
        .with(r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#)
        .call("(call $log (i32.const 3) (i32.const 16) (i32.const 6)) unreachable");
    let fault = detect(&guest).unwrap_err();
    assert!(matches!(fault, Fault::Panicked { .. }), "{fault:?}");
    assert_eq!(fault.words().unwrap().expose().len(), 6);
    let warned = Guest::detector()
        .with(r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#)
        .call("(call $log (i32.const 2) (i32.const 16) (i32.const 6)) unreachable");
    assert!(matches!(detect(&warned), Err(Fault::Trap { .. })), "a warning is no panic");
}

#[test]
fn a_plugin_may_give_up_in_its_own_words() {
    let fault = detect(&Guest::detector().call(guest::failure())).unwrap_err();
    let Fault::GaveUp { unsupported: false, message } = &fault else { panic!("{fault:?}") };
    assert_eq!(message.expose(), "tested");
    assert!(!format!("{fault} {fault:?}").contains("tested"));
}

// Answers.

#[test]
fn invariant_9_findings_must_fit_what_was_given() {
    for (answer, expected) in [
        (finding(0, 0, 6, 0), InvalidAnswer::SpanOutside),
        (finding(0, 3, 2, 0), InvalidAnswer::SpanOutside),
        (finding(1, 0, 2, 0), InvalidAnswer::SpanInsideCharacter),
        (finding(2, 0, 1, 0), InvalidAnswer::UnknownLeaf),
        (finding(u32::MAX, 0, 1, 0), InvalidAnswer::UnknownLeaf),
        (finding(0, 0, 1, 1), InvalidAnswer::UnknownLabel),
    ] {
        assert_eq!(detect(&Guest::detector().call(answer)), Err(invalid(expected)));
    }
}

#[test]
fn an_empty_finding_is_none() {
    assert_eq!(detect(&Guest::detector().call(finding(0, 2, 2, 0))), Ok(vec![]));
}

#[test]
fn more_findings_than_allowed_are_too_much() {
    let answer = guest::empty_findings(20_001);
    let guest = Guest::detector().memory("16").call(answer);
    assert_eq!(detect(&guest), Err(Fault::TooMuch { limit: 20_000, what: Amount::Findings }));
}

#[test]
fn a_list_that_lies_about_its_length_cannot_be_read() {
    let unreadable = invalid(InvalidAnswer::Unreadable { limit: LoaderLimits::default().answer_bytes });
    for count in [1_000_000, u32::MAX] {
        assert_eq!(detect(&Guest::detector().call(guest::findings(count))), Err(unreadable.clone()));
    }
    assert_eq!(detect(&Guest::detector().call(guest::no_such_case())), Err(unreadable));
}

#[test]
fn strings_that_overlap_cost_the_host_no_more_than_one_answer_may() {
    // 9000 edits, each a note of the same megabyte: 9 GB if the host copied them.
    let guest = Guest::transformer().memory("32").call(
        "(local $i i32)
         (loop $next
            (i32.store offset=4096 (i32.mul (local.get $i) (i32.const 24)) (i32.const 0))
            (i32.store offset=4104 (i32.mul (local.get $i) (i32.const 24)) (i32.const 5))
            (i32.store offset=4108 (i32.mul (local.get $i) (i32.const 24)) (i32.const 0))
            (i32.store offset=4112 (i32.mul (local.get $i) (i32.const 24)) (i32.const 1000000))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (i32.const 9000))))
         (i32.store (i32.const 1024) (i32.const 0))
         (i32.store (i32.const 1028) (i32.const 4096))
         (i32.store (i32.const 1032) (i32.const 9000))
         (i32.const 1024)",
    );
    let limit = LoaderLimits::default().answer_bytes;
    assert_eq!(transform(&guest), Err(invalid(InvalidAnswer::Unreadable { limit })));
}

#[test]
fn invariant_9_edits_must_fit_their_targets() {
    let (at, length) = guest::TESTED;
    for (answer, expected) in [
        (edit(case::LEAF, 2, case::SET, at, length), InvalidAnswer::UnknownLeaf),
        (edit(case::SECTION, 1, case::DELETE, 0, 0), InvalidAnswer::UnknownSection),
        (edit(case::REQUEST, 0, case::SET, at, length), InvalidAnswer::Misfit),
        (edit(case::SECTION, 0, case::SET, at, length), InvalidAnswer::Misfit),
        (edit(case::SECTION, 0, case::REDACT, 0, 0), InvalidAnswer::Misfit),
        (edit(case::LEAF, 0, case::DELETE, 0, 0), InvalidAnswer::Misfit),
        (edit(case::REQUEST, 0, case::PIN, 0, 0), InvalidAnswer::Misfit),
        // The second leaf is a number, and `tested` is none.
        (edit(case::LEAF, 1, case::SET, at, length), InvalidAnswer::Misfit),
    ] {
        assert_eq!(transform(&Guest::transformer().call(answer)), Err(invalid(expected)));
    }
}

#[test]
fn edits_that_fit_come_through() {
    let (at, length) = guest::TESTED;
    let answer = |body: String| transform(&Guest::transformer().call(body)).unwrap().remove(0);
    let set = answer(edit(case::LEAF, 0, case::SET, at, length));
    assert_eq!(set, PluginEdit { target: Target::Leaf(0), action: Action::Set("tested".to_owned()) });
    let delete = answer(edit(case::SECTION, 0, case::DELETE, 0, 0));
    assert_eq!(delete, PluginEdit { target: Target::Section(0), action: Action::Delete });
    let note = answer(edit(case::REQUEST, 0, case::NOTE, at, length));
    assert_eq!(note, PluginEdit { target: Target::Request, action: Action::Note("tested".to_owned()) });
}

// One request, many calls.

/// Limits under which each leaf is a batch of its own.
fn leaf_by_leaf() -> LoaderLimits {
    LoaderLimits { batch_leaves: 1, request_time_per_kib: Duration::ZERO, ..LoaderLimits::default() }
}

/// A loader of its own, and on it one guest.
fn loaded(limits: LoaderLimits, guest: &Guest) -> Arc<dyn Plugin> {
    let loaders = BothWays::new(LoaderConfig { limits, ..LoaderConfig::default() });
    load_bytes(&loaders, &guest.module(), "{}").expect("the guest loads")
}

#[test]
fn invariant_9_findings_are_bounded_for_a_request_over_all_its_batches() {
    let limits = LoaderLimits { findings: 3, ..leaf_by_leaf() };
    let plugin = loaded(limits, &Guest::detector().call(finding(0, 0, 1, 0)));
    let leaves = [text("a"), text("b"), text("c"), text("d")];
    let places = |findings: CheckedFindings| -> Vec<usize> {
        findings.into_vec().iter().map(|finding| finding.leaf).collect()
    };
    assert_eq!(plugin.detect(&leaves[..3], &Spent::default()).map(places), Ok(vec![0, 1, 2]));
    let too_much = Fault::TooMuch { limit: 3, what: Amount::Findings };
    assert_eq!(plugin.detect(&leaves, &Spent::default()), Err(too_much.clone()));
    // The same over two calls, as in two phases; and the next request begins anew.
    let spent = Spent::default();
    assert!(plugin.detect(&leaves[..2], &spent).is_ok());
    assert_eq!(plugin.detect(&leaves[..2], &spent), Err(too_much));
    assert!(plugin.detect(&leaves[..2], &Spent::default()).is_ok());
}

#[test]
fn invariant_9_answers_are_bounded_in_bytes_for_a_request_over_all_its_batches() {
    // One finding is 20 bytes in the guest's memory, and as many in the host's.
    let limits = LoaderLimits { answer_bytes: 3 * 20, ..leaf_by_leaf() };
    let plugin = loaded(limits, &Guest::detector().call(finding(0, 0, 1, 0)));
    let spent = Spent::default();
    assert!(plugin.detect(&[text("a"), text("b")], &spent).is_ok());
    let fault = plugin.detect(&[text("a"), text("b")], &spent).unwrap_err();
    assert_eq!(fault.limit(), Some("answer_bytes"), "{fault:?}");
    assert!(spent.so_far().findings <= 4, "no batch is asked after the fault");
}

#[test]
fn invariant_9_edits_are_bounded_for_a_request_over_all_its_calls() {
    let (at, length) = guest::TESTED;
    let limits = LoaderLimits { edits: 1, ..LoaderLimits::default() };
    let plugin = loaded(limits, &Guest::transformer().call(edit(case::LEAF, 0, case::SET, at, length)));
    let spent = Spent::default();
    assert!(transform_with(&*plugin, &spent).is_ok());
    let too_much = Fault::TooMuch { limit: 1, what: Amount::Edits };
    assert_eq!(transform_with(&*plugin, &spent), Err(too_much));
}

#[test]
fn invariant_9_a_call_gets_no_more_time_than_its_request_has_left() {
    let limits = LoaderLimits {
        request_time: Duration::from_millis(50),
        call_deadline: Duration::from_secs(600),
        ..leaf_by_leaf()
    };
    let plugin = loaded(limits, &Guest::detector().call(FOREVER));
    let leaves = [text("a"), text("b")];
    let out_of_time = Err(Fault::RequestTime { limit_ms: 50 });
    assert_eq!(plugin.detect(&leaves, &Spent::default()), out_of_time);
}

#[test]
fn invariant_9_a_request_without_time_left_starts_no_guest() {
    // Were the guest entered, it would trap.
    let plugin = loaded(leaf_by_leaf(), &Guest::detector().call(TRAP));
    let spent = Spent::default();
    spent.charge(Cost { time: Duration::from_secs(2), ..Cost::default() });
    assert_eq!(plugin.detect(&[text("a")], &spent), Err(Fault::RequestTime { limit_ms: 2000 }));
}

#[test]
fn invariant_9_a_plugin_that_takes_all_its_places_leaves_room_for_others() {
    // The guest logs while it runs; the sink asks for another call of the same plugin, and for one
    // of another.
    let logs = Guest::detector()
        .with(r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#)
        .call(format!("(call $log (i32.const 0) (i32.const 16) (i32.const 6)) {}", guest::findings(0)));
    type Asked = Result<CheckedFindings, Fault>;
    let slot: Arc<OnceLock<[Arc<dyn Plugin>; 2]>> = Arc::default();
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let (from_sink, answers) = (Arc::clone(&slot), Arc::clone(&asked));
    let sink: leafgate_wasm::LogSink = Arc::new(move |_, _, _| {
        for plugin in from_sink.get().unwrap() {
            let answer = plugin.detect(&[text("good")], &Spent::default());
            answers.lock().unwrap().push(answer);
        }
    });
    let limits = LoaderLimits {
        calls_per_plugin: 1,
        request_time: Duration::from_millis(200),
        request_time_per_kib: Duration::ZERO,
        ..LoaderLimits::default()
    };
    let loader =
        WasmLoader::new(LoaderConfig { limits, log: Some(sink), ..LoaderConfig::default() }).unwrap();
    let busy = load_bytes(&loader, &logs.module(), "{}").unwrap();
    let other = load_bytes(&loader, &Guest::detector().call(finding(0, 0, 4, 0)).module(), "{}").unwrap();
    slot.set([Arc::clone(&busy), other]).unwrap();
    let _ = busy.detect(&[text("first")], &Spent::default());
    let answers = asked.lock().unwrap();
    assert_eq!(answers[0], Err(Fault::RequestTime { limit_ms: 200 }));
    assert_eq!(answers[1].clone().map(|findings| findings.into_vec().len()), Ok(1));
}

#[test]
fn a_plugin_has_the_limits_that_its_rule_file_gives_it() {
    let loaded = |guest: &Guest, limits: PluginLimits| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), guest.module()).unwrap();
        let source = PluginSource::new("tested", file.path().to_owned(), "{}");
        LOADERS.load(&PluginSource { limits, ..source }).unwrap()
    };
    let ask = |plugin: &dyn Plugin| {
        let answer = plugin.detect(&[text("first")], &Spent::default());
        answer.map(|_| ()).map_err(|fault| fault.parts().1.clone())
    };
    let (none, loops) = (PluginLimits::default(), Guest::detector().call(FOREVER));
    let call_deadline = Some(Duration::from_millis(30));
    let own = loaded(&loops, PluginLimits { call_deadline, ..none });
    assert_eq!(ask(&*own), Err(Fault::Deadline { limit_ms: 31 }));
    assert_eq!(ask(&*loaded(&loops, none)), Err(Fault::Deadline { limit_ms: 101 }), "of the same file");
    let request_time = Some(Duration::from_millis(20));
    let own = loaded(&loops, PluginLimits { request_time, ..none });
    assert_eq!(ask(&*own), Err(Fault::RequestTime { limit_ms: 20 }));

    let grows = Guest::detector().call(format!(
        "(if (i32.eq (i32.const -1) (memory.grow (i32.const 1600))) (then unreachable)) {}",
        guest::findings(0)
    ));
    assert_eq!(ask(&*loaded(&grows, none)), Err(Fault::Memory { limit: 64 << 20 }));
    let memory_bytes = Some(128 << 20);
    assert_eq!(ask(&*loaded(&grows, PluginLimits { memory_bytes, ..none })), Ok(()));

    let finds = Guest::detector().memory("16").call(guest::empty_findings(11));
    let own = loaded(&finds, PluginLimits { findings: Some(10), ..none });
    assert_eq!(ask(&*own), Err(Fault::TooMuch { limit: 10, what: Amount::Findings }));
}

// State.

#[test]
fn invariant_7_no_state_is_carried_from_one_call_to_the_next() {
    let counts = Guest::detector().with("(global $calls (mut i32) (i32.const 0))").call(format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
         (if (i32.load (i32.const 512)) (then unreachable))
         (i32.store (i32.const 512) (i32.const 1))
         {}",
        finding(0, 0, 1, 0)
    ));
    let plugin = load_bytes(&*LOADERS, &counts.module(), "{}").unwrap();
    for call in 0..3 {
        let findings = plugin.detect(&[text("first")], &Spent::default());
        assert_eq!(findings.map(|findings| findings.into_vec().len()), Ok(1), "call {call}");
    }
}

#[test]
fn invariant_9_a_trap_on_one_leaf_is_that_call_s_alone() {
    // The length of the first leaf's text stands behind id, kinds, tool and key.
    let picky = Guest::detector().call(format!(
        "(if (i32.eq (i32.load offset=32 (local.get $leaves)) (i32.const 5)) (then unreachable)) {}",
        finding(0, 0, 1, 0)
    ));
    let plugin = load_bytes(&*LOADERS, &picky.module(), "{}").unwrap();
    for _ in 0..3 {
        let good = plugin.detect(&[text("fine")], &Spent::default());
        assert_eq!(good.map(|findings| findings.into_vec().len()), Ok(1));
        let bad = plugin.detect(&[text("five!")], &Spent::default()).unwrap_err();
        assert!(matches!(bad.parts(), (Some(0), Fault::Trap { .. })), "{bad:?}");
    }
}

#[test]
fn a_million_edits_are_no_answer() {
    let million = "(i32.store (i32.const 1024) (i32.const 0))
         (i32.store (i32.const 1028) (i32.const 262144))
         (i32.store (i32.const 1032) (i32.const 1000000))
         (i32.const 1024)";
    let fault = transform(&Guest::transformer().memory("400").call(million)).unwrap_err();
    let limit = LoaderLimits::default().answer_bytes;
    assert_eq!(fault, invalid(InvalidAnswer::Unreadable { limit }));
}

// Admission.

#[test]
fn a_component_of_ten_thousand_types_is_looked_at_and_refused() {
    let types = "(type (func (param \"a\" (list string)) (result u32)))".repeat(10_000);
    let component = format!(
        r#"(component {types} (instance $nothing)
            (export "leafgate:plugin/lifecycle@0.1.0" (instance $nothing))
            (export "leafgate:plugin/detect@0.1.0" (instance $nothing)))"#
    );
    let error = refused_bytes(&wat::parse_str(component).unwrap());
    assert!(error.message.contains("has no `describe`"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.wasm");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = crate::support::load(&*LOADERS, &pipe, "{}").unwrap_err();
    assert!(error.message.contains("it is no regular file"), "{error}");
}

#[test]
fn a_foreign_import_is_named_with_a_way_around_it() {
    let core = Guest::detector()
        .with(r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#);
    let error = refused(&core);
    assert!(error.message.contains("`wasi_snapshot_preview1.fd_write`"), "{error}");
    assert!(error.hint.unwrap().contains("wasm32-unknown-unknown"));

    let component =
        wat::parse_str(r#"(component (import "wasi:cli/environment@0.2.3" (instance)))"#).unwrap();
    let error = refused_bytes(&component);
    assert!(error.message.contains("`wasi:cli/environment@0.2.3`"), "{error}");
    assert!(error.hint.unwrap().contains("--stub-wasi"));

    let bindgen = Guest::detector()
        .with(r#"(import "__wbindgen_placeholder__" "__wbindgen_throw" (func (param i32 i32)))"#);
    assert!(refused(&bindgen).hint.unwrap().contains("wasm-bindgen"));
}

#[test]
fn another_version_of_the_contract_is_refused_and_a_patch_is_not() {
    let error = refused_bytes(&Guest::detector().module_of_version("0.2.0"));
    assert!(
        error.message.contains("@0.2.0` is of a newer contract")
            && error.message.contains("leafgate:plugin 0.1"),
        "{error}"
    );
    assert!(error.hint.unwrap().starts_with("upgrade leafgate"));
    assert!(load_bytes(&*LOADERS, &Guest::detector().module_of_version("0.1.7"), "{}").is_ok());
}

#[test]
fn neither_world_and_both_worlds_are_refused() {
    let error = refused_bytes(&wat::parse_str("(component)").unwrap());
    assert!(error.message.contains("neither"), "{error}");
    let error = refused_bytes(&Guest::both_worlds());
    assert!(error.message.contains("both"), "{error}");
}

#[test]
fn what_is_no_plugin_is_refused_for_what_it_is() {
    for (bytes, message) in [
        (b"#!/bin/sh".to_vec(), "neither a WebAssembly component nor a core module"),
        (b"(module)".to_vec(), "neither a WebAssembly component nor a core module"),
        (Vec::new(), "neither a WebAssembly component nor a core module"),
        (Guest::detector().untyped(), "does not say which contract"),
    ] {
        let error = refused_bytes(&bytes);
        assert!(error.message.contains(message), "{error}");
    }
    for whole in [Guest::detector().module(), Guest::detector().component()] {
        let error = refused_bytes(&whole[..whole.len() * 2 / 3]);
        assert!(error.message.contains("damaged"), "{error}");
    }
}

#[test]
fn a_file_that_is_not_the_pinned_one_is_refused_with_its_digest() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let module = Guest::detector().module();
    std::fs::write(file.path(), &module).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&module).into();
    let pinned_to = |sha256| {
        let source = PluginSource::new("tested", file.path().to_owned(), "{}");
        LOADERS.load(&PluginSource { sha256: Some(sha256), ..source })
    };
    assert!(pinned_to(digest).is_ok());
    let error = pinned_to([0xab; 32]).unwrap_err();
    assert!(error.message.contains(&"ab".repeat(32)), "{error}");
    assert!(error.hint.unwrap().starts_with("if the change is intended, set `sha256 = "));
}

#[test]
fn invariant_8_a_plugin_in_use_does_not_change_with_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let load = |end| {
        std::fs::write(file.path(), Guest::detector().call(finding(0, 0, end, 0)).module()).unwrap();
        crate::support::load(&*LOADERS, file.path(), "{}").unwrap()
    };
    let ends = |plugin: &dyn Plugin| {
        let findings = plugin.detect(&[text("some text")], &Spent::default()).unwrap().into_vec();
        findings.iter().map(|finding| finding.at.end).collect::<Vec<_>>()
    };
    let (first, second) = (load(4), load(9));
    assert_eq!((ends(&*first), ends(&*second)), (vec![4], vec![9]));
}

#[test]
fn a_file_above_the_limit_is_refused_before_it_is_read_whole() {
    let limits = LoaderLimits { file_bytes: 100, ..LoaderLimits::default() };
    let loader = WasmLoader::new(LoaderConfig { limits, ..LoaderConfig::default() }).unwrap();
    let error = load_bytes(&loader, &[0; 101], "{}").unwrap_err();
    assert!(error.message.contains("larger than 100 bytes"), "{error}");
    #[cfg(unix)]
    {
        let endless = crate::support::load(&loader, std::path::Path::new("/dev/zero"), "{}").unwrap_err();
        assert!(endless.message.contains("it is no regular file"), "{endless}");
    }
}

#[test]
fn a_component_with_other_types_is_refused() {
    // The names of the contract, the types of something else.
    let component = r#"(component
        (core module $m (func (export "f") (result i32) (i32.const 0)))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))
        (instance $lifecycle (export "describe" (func $f)) (export "configure" (func $f)))
        (instance $detect (export "detect" (func $f)))
        (export "leafgate:plugin/lifecycle@0.1.0" (instance $lifecycle))
        (export "leafgate:plugin/detect@0.1.0" (instance $detect)))"#;
    let error = refused_bytes(&wat::parse_str(component).unwrap());
    assert!(error.message.contains("not those of the contract"), "{error}");
}

#[test]
fn more_instances_than_the_pools_hold_are_refused() {
    let many = "(core instance (instantiate $m))".repeat(5000);
    let component = format!(
        r#"(component (core module $m (memory 1)) {many}
            (instance $nothing)
            (export "leafgate:plugin/lifecycle@0.1.0" (instance $nothing))
            (export "leafgate:plugin/detect@0.1.0" (instance $nothing)))"#
    );
    let error = refused_bytes(&wat::parse_str(component).unwrap());
    assert!(error.message.contains("does not compile"), "{error}");
}

#[test]
fn a_label_that_cannot_stand_in_a_token_is_refused() {
    for label in ["name", "N_ME", "N-E "] {
        let error = refused(&Guest::detector().label(label));
        assert!(error.message.contains("label 1"), "{error}");
    }
}

#[test]
fn what_configure_finds_is_the_error() {
    let error = refused(&Guest::detector().configure(guest::configuration_error()));
    assert_eq!(error.message, "its configuration is not accepted: NAME");
}

#[test]
fn a_log_without_end_reaches_nobody_and_meets_the_deadline() {
    let guest = Guest::detector()
        .with(r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#)
        .call("(loop $again (call $log (i32.const 0) (i32.const 16) (i32.const 6)) (br $again)) unreachable");
    assert!(matches!(detect(&guest), Err(Fault::Deadline { .. })));
}
