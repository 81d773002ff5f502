//! Pages of a log of a million requests, where there is time to make one (`LEAFGATE_SOAK`), else of a small
//! one. What is measured here stands in `docs/measured.md`; that no page walks the whole log is tested
//! beside the schema.

use std::time::{Duration, Instant};

use leafgate_store::{Filter, Log, Store, StoreConfig, StoreKeys};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

/// The longest that a page of a million requests may take, at the best of [`TRIES`]: others use the machine
/// too.
const LONGEST: Duration = Duration::from_millis(100);

/// How often each page is read.
const TRIES: usize = 3;

#[test]
#[allow(clippy::print_stdout, reason = "what it measures is what it is for")]
fn every_page_of_a_million_requests_is_read_in_a_tenth_of_a_second() {
    let is_long = std::env::var_os("LEAFGATE_SOAK").is_some();
    let requests: i64 = if is_long { 1_000_000 } else { 2_000 };
    let folder = tempfile::tempdir().unwrap();
    let key = InstallationKey::from_bytes([7; 32]);
    let keys = StoreKeys::derive(&key, TokenKeys::derive(&key, &ClientIdentity::new("test")));
    Store::open(StoreConfig::new(folder.path().to_owned()), keys).unwrap().close();
    let database = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    database
        .execute_batch(&format!(
            "BEGIN;
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {requests})
             INSERT INTO request (id, at, session, agent, class, api, method, path, upstream, verdict, generation, rules,
               edits, redactions, bytes_received, received, judging_us, pieces, receipt, signature)
             SELECT n, n * 1000, 'SESSION_h' || (n % 5000), 'curl', 'main', 'chat', 'POST', '/v1/chat/completions',
               'https://api.example', 'forwarded', 'abcdef', '[]', 0, 1, 9, 'd', 1, x'', '{{}}', x'' FROM n;
             INSERT INTO words (rowid, text) SELECT id * 1048576, 'answer ' || id || ' says common' FROM request;
             INSERT INTO edit (request, at, kind, path, place, rule, label)
               SELECT id, at, 'redact', 'messages[0]', 'messages[]', 'secrets', 'EMAIL' FROM request;
             COMMIT;",
        ))
        .unwrap();
    drop(database);
    let log = Log::open(folder.path()).unwrap();
    let session = Filter { session: Some("SESSION_h77".to_owned()), ..Filter::default() };
    let hour = Filter { since: Some(requests * 1000 - 3_600_000), ..Filter::default() };
    let timed = |what: &str, page: &dyn Fn() -> usize| {
        let read = || {
            let began = Instant::now();
            assert!(page() > 0, "{what}");
            began.elapsed()
        };
        let first = read();
        let best = (1..TRIES).map(|_| read()).fold(first, Duration::min);
        println!("{what}: {first:?}, at best {best:?}");
        assert!(!is_long || best < LONGEST, "{what}: {best:?} at best of {TRIES}");
    };
    timed("the newest", &|| log.list(&Filter::default(), None, 50).unwrap().len());
    timed("from the middle", &|| log.list(&Filter::default(), Some(requests / 2), 50).unwrap().len());
    timed("of a conversation", &|| log.list(&session, None, 50).unwrap().len());
    timed("a word that all have", &|| log.search("common", None, 50).unwrap().len());
    timed("the same from the middle", &|| log.search("common", Some(requests / 2), 50).unwrap().len());
    timed("a word that one has", &|| log.search("1234", None, 50).unwrap().len());
    timed("two words", &|| log.search("common 777", None, 50).unwrap().len());
    timed("redactions of an hour", &|| log.redactions(&hour).unwrap().len());
}
