//! What is found, and what is not.

use tower_genai_core::{NameRules, ToolName, wire_name};
use tower_genai_tool_search::index::{IndexError, ToolDocument, ToolIndex};

use super::{described, found};

#[test]
fn parts_of_names_find_the_tool() {
    for (name, query) in [
        ("createIssue", "create issue"),
        ("create_issue", "createIssue"),
        ("create-issue", "CREATE ISSUE"),
        ("XMLHttpRequest", "http request"),
        ("XMLHttpRequest", "xmlhttprequest"),
        ("OvertimeService", "OvertimeService"),
        ("OvertimeService", "overtime service"),
        ("OvertimeService", "overtimeservice"),
        ("automation_update", "update"),
        ("canvas_create_edge", "create edge"),
        ("repos/list.forks", "fork"),
        ("ipv6lookup", "ipv6lookup"),
        ("s3_upload", "upload to s3"),
        ("get_weather", "weather"),
    ] {
        assert_eq!(found(&described(&[("other", "Something else."), (name, "")]), query), [1], "{name}: {query}");
        assert_eq!(found(&described(&[(name, "")]), query), [0], "alone, {name}: {query}");
    }
}

#[test]
fn the_better_name_goes_first() {
    let index = described(&[("addActivity_mcp_crm", "Add it."), ("addPerson_mcp_crm", "Add it.")]);
    for query in ["addPerson", "addPerson_mcp_crm", "person"] {
        assert_eq!(found(&index, query)[0], 1, "{query}");
    }
}

#[test]
fn inflections_and_accents_find_the_tool() {
    let index = described(&[("a", "Sends an email."), ("b", "Réserve une table au café, très naïve."), ("c", "Größe prüfen")]);
    for (query, expected) in [("emails", 0), ("Emailing", 0), ("cafe", 1), ("CAFÉ", 1), ("naive", 1), ("grösse", 2), ("GROSSE", 2)] {
        assert_eq!(found(&index, query), [expected], "{query}");
    }
}

#[test]
fn every_script_finds_its_tool() {
    let index = described(&[
        ("a", "日本の法令を検索します"),
        ("b", "浏览器自动化"),
        ("c", "초과근무 승인 규칙"),
        ("d", "カメラで撮影"),
        ("e", "Поиск авиабилетов"),
        ("f", "البحث عن الفنادق"),
        ("g", "मौसम की जानकारी"),
        ("h", "ค้นหาเที่ยวบิน"),
        ("i", "אימות כתובת"),
        ("j", "Αναζήτηση πτήσεων"),
    ]);
    for (query, expected) in [
        ("法令", 0),
        ("法", 0),
        ("帮我打开浏览器自动化工具", 1),
        ("초과근무", 2),
        ("승인", 2),
        ("ｶﾒﾗ", 3),
        ("поиск", 4),
        ("البَحث", 5),
        ("मौसम", 6),
        ("เที่ยวบิน", 7),
        ("כתובת", 8),
        ("ΠΤΉΣΕΩΝ", 9),
    ] {
        assert_eq!(found(&index, query), [expected], "{query}");
    }
}

#[test]
fn text_in_every_place_is_found() {
    let tools = [
        ToolDocument { name: "a", namespace: Some("billingServer"), ..ToolDocument::default() },
        ToolDocument { name: "b", snippet: Some("reconcile ledgers"), ..ToolDocument::default() },
        ToolDocument { name: "c", guidelines: vec!["ask first", "mention the invoice"], ..ToolDocument::default() },
        ToolDocument {
            name: "d",
            parameters: r#"{"properties":{"outer":{"items":{"anyOf":[
                {"properties":{"iban":{"enum":["sepaTransfer"]}}}
            ]}}}}"#,
            ..ToolDocument::default()
        },
    ];
    let index = ToolIndex::build(tools).unwrap();
    for (query, expected) in [("billing", 0), ("ledger", 1), ("invoices", 2), ("IBAN", 3), ("sepa", 3), ("sepaTransfer", 3)] {
        assert_eq!(found(&index, query), [expected], "{query}");
    }
}

#[test]
fn a_tool_is_found_by_the_name_that_the_model_sees() {
    let tools = [("naïve/検索🙂", ""), ("read file", ""), ("plain", "")];
    let index = described(&tools);
    for (ordinal, (name, _)) in (0..).zip(tools) {
        let name = ToolName::new(name);
        assert_eq!(found(&index, &wire_name(&name, NameRules::PORTABLE)), [ordinal], "{name}");
    }
}

#[test]
fn sets_of_equal_size_have_their_own_answers() {
    let first = described(&[("read_file", ""), ("write_file", "")]);
    let second = described(&[("send_mail", ""), ("read_mail", "")]);
    assert_eq!((found(&first, "read"), found(&second, "read")), (vec![0], vec![1]));
    assert_eq!(found(&second, "file"), [0; 0]);
}

#[test]
fn nothing_found_is_empty() {
    let index = described(&[("get_weather", "Forecast."), ("", "")]);
    for query in ["", " ", "\u{0}", "unknown", "?!*:\"", "AND OR NOT", "the of and"] {
        assert_eq!(found(&index, query), [0; 0], "{query:?}");
    }
    assert_eq!(index.search::<&str>(&[], 20, 0.0).unwrap(), []);
    assert_eq!(index.search(&["weather"], 0, 0.0).unwrap(), []);

    let empty = described(&[]);
    assert!(empty.is_empty() && found(&empty, "weather").is_empty());
    let wordless = described(&[("", ""), ("", "")]);
    assert!(wordless.len() == 2 && found(&wordless, "weather").is_empty());
}

#[test]
fn signs_are_no_query_language() {
    let index = described(&[("get_weather", "Forecast."), ("get_news", "Headlines.")]);
    for query in ["-weather", "weather AND", "+weather*", "text:weather", "(weather", "\"weather", "weather~2^4", "[weather TO news"] {
        assert_eq!(found(&index, query)[0], 0, "{query}");
    }
}

#[test]
fn the_threshold_is_strict() {
    let index = described(&[("alpha", "beta"), ("gamma", "delta"), ("alpha", "beta beta")]);
    let hits = index.search(&["beta"], 9, 0.0).unwrap();
    assert_eq!(hits.len(), 2);
    assert_eq!(index.search(&["beta"], 9, hits[1].score).unwrap(), hits[..1]);
    assert_eq!(index.search(&["beta"], 9, hits[1].score.next_down()).unwrap(), hits);
    assert_eq!(index.search(&["beta"], 9, hits[0].score).unwrap(), []);
    for threshold in [-1.0, f64::NEG_INFINITY, -0.0] {
        assert_eq!(index.search(&["beta"], 9, threshold).unwrap(), hits);
    }
    assert_eq!(index.search(&["beta"], 9, f64::INFINITY).unwrap(), []);
    let error = index.search(&["beta"], 9, f64::NAN).unwrap_err();
    assert!(matches!(error, IndexError::MinScoreNotANumber), "{error}");
}

#[test]
fn equal_scores_keep_the_order_of_the_tools_and_identities_may_repeat() {
    let index = described(&[("ping", "Ping a host."); 50]);
    assert_eq!(index.search(&["ping"], 100, 0.0).unwrap().len(), 50);
    assert_eq!(found(&index, "host"), (0..20).collect::<Vec<_>>());
    assert_eq!(found(&index, "ping"), (0..20).collect::<Vec<_>>());
}

#[test]
fn long_words_are_told_apart_by_their_ends() {
    let names = ["x", "y"].map(|end| format!("{}{end}", "q".repeat(70_000)));
    let index = described(&[(&names[0], ""), ("", &names[1]), (&names[1], &names[0])]);
    assert_eq!(found(&index, &names[0]), [0, 2]);
    assert_eq!(found(&index, &names[1]), [1, 2]);
    assert_eq!(found(&index, &"q".repeat(70_000)), [0; 0]);
}

#[test]
fn hostile_tools_can_be_indexed() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!("{}{{}}{}", r#"{"properties":{"x":"#.repeat(10_000), "}}".repeat(10_000));
    let marks = "e\u{301}".to_owned() + &"\u{301}".repeat(100_000);
    let tools = [deep.as_str(), &nested, "{", "\u{0}", r##"{"properties":{"":{"$ref":"#"}},"enum":[[]]}"##].map(|parameters| {
        ToolDocument { name: "\u{0}\u{FFFF}", description: &marks, parameters, guidelines: vec!["", "\u{202E}"], ..ToolDocument::default() }
    });
    let index = ToolIndex::build(tools).unwrap();
    assert_eq!(found(&index, "É"), [0, 1, 2, 3, 4]);
}
