//! What was not judged reaches no client, whatever way it reads.

use leafgate_harness::answers::table;
use leafgate_harness::answers::{Part, recorded, spoken};
use leafgate_harness::clients::Api;

use crate::rig::{Rig, Rules, check};

#[test]
fn what_fuzz_targets_check_holds_on_every_recording() {
    for api in Api::ALL {
        for answer in recorded(api) {
            for rules in 0..Rules::ALL.len() {
                check(api, &[&answer.bytes()[..], &[0, rules as u8]].concat());
            }
        }
    }
}

/// What all of the above would pass without: an answer about which all agree leaves as it came.
#[test]
fn an_answer_that_all_read_alike_leaves_byte_for_byte() {
    let rig = Rig::start(&Rules::ALL);
    for rules in Rules::ALL {
        let fine = rules.words().fine;
        let text = if rules == Rules::Values { fine.text.0.clone() } else { fine.text.0 + &fine.text.1 };
        for (api, stream) in Api::ALL.into_iter().flat_map(|api| [(api, false), (api, true)]) {
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
        table::rows().into_iter().filter(|row| Rig::hides_nothing(row)).map(|row| row.name).collect();
    assert_eq!(unseen, [] as [&str; 0]);
}
