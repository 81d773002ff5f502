//! What was not judged reaches no client, whatever way it reads.

use leafgate_harness::Input;
use leafgate_harness::answers::table::{self, Guarded};
use leafgate_harness::answers::{Part, hostile, recorded, spoken};
use leafgate_harness::clients::Api;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::rig::{Rig, Rules, check, cuts};

/// Draws the cases of each API: the same 2,000 over all of them, so that what fails belongs to a change, and where there is time
/// 100,000 that nobody has seen.
fn runner() -> TestRunner {
    let is_long = std::env::var_os("LEAFGATE_SOAK").is_some();
    let cases = if is_long { 20_000 } else { 400 };
    let config = Config { cases, max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() };
    match is_long {
        true => TestRunner::new(config),
        false => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

fn no_client_finds_what_was_not_judged(api: Api) {
    let rigs = [false, true].map(|respells| Rig::start(&Rules::ALL, respells));
    let recordings = recorded(api);
    let tried = runner().run(&prop::collection::vec(any::<u8>(), 8..96), |choices| {
        let choices = [&[0], &choices[..]].concat();
        let mut input = Input::new(&choices);
        let rules = Rules::ALL[input.choose(Rules::ALL.len())];
        let (answer, steps) = hostile(api, &rules.words(), &recordings, &mut input);
        let bytes = answer.bytes();
        let cuts = cuts(&mut input, bytes.len());
        for (rig, spelled) in rigs.iter().zip(["as it came", "spelled anew"]) {
            if let Some((client, fault, left)) = rig.fault(rules, api, answer.stream, &bytes, &cuts) {
                return Err(TestCaseError::fail(format!(
                    "{rules:?}, {spelled}: {client:?} finds {fault}\nsteps: {steps:#?}\nin\n{}\nof\n{}",
                    String::from_utf8_lossy(&left.body),
                    String::from_utf8_lossy(&bytes),
                )));
            }
        }
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn no_client_of_chat_completions_finds_what_was_not_judged() {
    no_client_finds_what_was_not_judged(Api::Chat);
}

#[test]
fn no_client_of_responses_finds_what_was_not_judged() {
    no_client_finds_what_was_not_judged(Api::Responses);
}

#[test]
fn no_client_of_messages_finds_what_was_not_judged() {
    no_client_finds_what_was_not_judged(Api::Messages);
}

#[test]
fn no_client_of_gemini_finds_what_was_not_judged() {
    no_client_finds_what_was_not_judged(Api::Gemini);
}

#[test]
fn no_client_of_code_assist_finds_what_was_not_judged() {
    no_client_finds_what_was_not_judged(Api::CodeAssist);
}

#[test]
fn no_client_finds_what_a_hostile_answer_hides() {
    let rigs = [false, true].map(|respells| (respells, Rig::start(&Rules::ALL, respells)));
    let mut faults = Vec::new();
    for ((respells, rig), row) in
        rigs.iter().flat_map(|rig| table::rows().into_iter().map(move |row| (rig, row)))
    {
        let rules: &[Rules] = match row.guards {
            Guarded::Calls => &[Rules::Calls, Rules::Approval],
            Guarded::Texts => &[Rules::Texts, Rules::WholeTexts, Rules::Blocked],
            Guarded::Values => &[Rules::Values],
        };
        let bytes = row.answer.as_bytes();
        let everywhere: Vec<usize> = (0..bytes.len()).step_by(5).collect();
        let whole = rules.iter().map(|&rules| (rules, &[][..]));
        for (rules, cuts) in whole.chain([(rules[0], &everywhere[..])]) {
            if let Some((client, fault, _)) = rig.fault(rules, row.api, row.stream, bytes, cuts) {
                let pieces = if cuts.is_empty() { "" } else { ", in pieces" };
                let spelled = if *respells { ", spelled anew" } else { "" };
                faults.push(format!(
                    "{} ({}{pieces}{spelled}) under {rules:?}: {client:?} finds {fault}",
                    row.name, row.what
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn what_fuzz_targets_check_holds_on_every_recording() {
    for &api in Api::ALL {
        for answer in recorded(api) {
            for (rules, spelled) in (0..Rules::ALL.len()).flat_map(|rules| [(rules, 0), (rules, 1)]) {
                check(api, &[&answer.bytes()[..], &[0, rules as u8, spelled]].concat());
            }
        }
    }
}

/// What all of the above would pass without: an answer about which all agree leaves as it came.
#[test]
fn an_answer_that_all_read_alike_leaves_byte_for_byte() {
    let rigs = [false, true].map(|respells| Rig::start(&Rules::ALL, respells));
    for (rig, rules) in rigs.iter().flat_map(|rig| Rules::ALL.map(|rules| (rig, rules))) {
        let fine = rules.words().fine;
        let text = if rules == Rules::Values { fine.text.0.clone() } else { fine.text.0 + &fine.text.1 };
        for (api, stream) in Api::ALL.iter().flat_map(|&api| [(api, false), (api, true)]) {
            let answer =
                spoken(api, stream, &[Part::Says(&text), Part::Calls(&fine.tool, &fine.arguments)], 4);
            let bytes = answer.bytes();
            let left = rig.exchange(rules, api, stream, vec![bytes.clone().into()]);
            assert_eq!(
                String::from_utf8_lossy(&left.body),
                String::from_utf8_lossy(&bytes),
                "{rules:?} {api:?} {stream}"
            );
            assert_eq!(left.shown.len(), usize::from(rules == Rules::Approval), "{api:?} {stream}");
        }
    }
}

/// What all of the above would pass without: the models find what is there.
#[test]
fn what_is_hidden_in_the_table_is_found_without_a_gate() {
    let unseen: Vec<String> =
        table::rows().into_iter().filter(Rig::hides_nothing).map(|row| row.name).collect();
    assert_eq!(unseen, [] as [&str; 0]);
}
