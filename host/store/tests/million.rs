//! A page of a log of a million requests. What is measured here stands in `host/ARCHITECTURE.md`; that no
//! page walks the whole log is tested beside the schema.

use std::time::Instant;

use leafgate_store::{Filter, Log, Store, StoreConfig, StoreKeys};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

#[test]
#[ignore = "makes a log of a million requests: `cargo nextest run -p leafgate-store --run-ignored only`"]
#[allow(clippy::print_stdout, reason = "what it measures is what it is for")]
fn a_page_of_a_million_requests() {
    let folder = tempfile::tempdir().unwrap();
    let key = InstallationKey::from_bytes([7; 32]);
    let keys = StoreKeys::derive(&key, TokenKeys::derive(&key, &ClientIdentity::new("test")));
    Store::open(StoreConfig::new(folder.path().to_owned()), keys).unwrap().close();
    let database = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    database
        .execute_batch(
            "BEGIN;
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000000)
             INSERT INTO request (id, at, session, agent, class, api, method, path, upstream, verdict, generation, rules,
               edits, redactions, bytes_received, received, judging_us, pieces, receipt, signature)
             SELECT n, n * 1000, 'SESSION_h' || (n % 5000), 'curl', 'main', 'chat', 'POST', '/v1/chat/completions',
               'https://api.example', 'forwarded', 'abcdef', '[]', 0, 1, 9, 'd', 1, x'', '{}', x'' FROM n;
             INSERT INTO words (rowid, text) SELECT id * 1048576, 'answer ' || id || ' says common' FROM request;
             INSERT INTO edit (request, at, kind, path, place, rule, label)
               SELECT id, at, 'redact', 'messages[0]', 'messages[]', 'secrets', 'EMAIL' FROM request;
             COMMIT;",
        )
        .unwrap();
    drop(database);
    let log = Log::open(folder.path()).unwrap();
    let session = Filter { session: Some("SESSION_h77".to_owned()), ..Filter::default() };
    let hour = Filter { since: Some(1_000_000_000 - 3_600_000), ..Filter::default() };
    let timed = |what: &str, page: &dyn Fn() -> usize| {
        let began = Instant::now();
        let count = page();
        println!("{what}: {count} in {:?}", began.elapsed());
        assert!(count > 0);
    };
    timed("the newest", &|| log.list(&Filter::default(), None, 50).unwrap().len());
    timed("from the middle", &|| log.list(&Filter::default(), Some(500_000), 50).unwrap().len());
    timed("of a conversation", &|| log.list(&session, None, 50).unwrap().len());
    timed("a word that all have", &|| log.search("common", None, 50).unwrap().len());
    timed("the same from the middle", &|| log.search("common", Some(500_000), 50).unwrap().len());
    timed("a word that one has", &|| log.search("123456", None, 50).unwrap().len());
    timed("two words", &|| log.search("common 777", None, 50).unwrap().len());
    timed("redactions of an hour", &|| log.redactions(&hour).unwrap().len());
}
