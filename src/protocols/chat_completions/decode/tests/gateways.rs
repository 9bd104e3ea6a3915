//! What the hosts do that look compatible.

use tower_genai_core::{AssistantPart, HostedOutcome};

use super::*;
use crate::protocols::samples::{said, thought};

fn shown(chunks: &[Value]) -> Vec<String> {
    let mut chunks = chunks.to_vec();
    chunks.push(end("stop"));
    decoded(&chunks).shown()
}

#[test]
fn reasoning_in_every_spelling_counts_once() {
    for (chunk, expected) in [
        (json!({"reasoning_content": "a"}), "a"),
        (json!({"reasoning": "a"}), "a"),
        (json!({"reasoning_content": "a", "reasoning": "a"}), "a"),
        (json!({"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]}), "a"),
        (json!({"reasoning": null, "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]}), "a"),
        (json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]}), "a"),
    ] {
        assert_eq!(shown(&[delta(chunk.clone())]), [format!("reasoning {expected}")], "{chunk}");
    }
}

#[test]
fn details_of_reasoning_are_put_together_and_keep_their_order() {
    let decoded = decoded(&[
        delta(json!({"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "format": "x", "index": 0}]})),
        delta(
            json!({"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}, {"type": "reasoning.encrypted", "data": "D", "index": 1}]}),
        ),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.text", "signature": "S", "index": 0}, {"type": "reasoning.summary", "summary": "s", "index": 2}]}),
        ),
        delta(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "t", "index": 2}], "content": "ok"})),
        end("stop"),
    ]);
    assert_eq!(decoded.message().parts, [thought("hm"), said("ok")]);
    assert_eq!(
        item(&decoded)["reasoning_details"],
        json!([
            {"type": "reasoning.text", "text": "hm", "format": "x", "index": 0, "signature": "S"},
            {"type": "reasoning.encrypted", "data": "D", "index": 1},
            {"type": "reasoning.summary", "summary": "st", "index": 2}
        ])
    );
    assert_eq!(item(&decoded)["reasoning"], "hm");
}

#[test]
fn content_that_is_no_text() {
    assert_eq!(
        shown(&[delta(json!({"content": [{"type": "text", "text": "a"}, {"text": "b"}, {"type": "reference", "text": "c"}]}))]),
        ["text a", "text b"]
    );
    let object = whole(&json!({"choices": [{"message": {"content": {"city": "Rome"}}, "finish_reason": "stop"}]}));
    assert_eq!((object.response().text(), item(&object)["content_object"].clone()), (String::new(), json!({"city": "Rome"})));
}

#[test]
fn tools_that_the_host_runs() {
    let running = json!([{"index": 0, "type": "function", "name": "browser.search", "arguments": "{\"q\":1}"}]);
    let done = json!([{"index": 0, "type": "browser_search", "name": "browser.search", "arguments": "{\"q\":1}", "output": "found"}]);
    let decoded = decoded(&[
        delta(json!({"executed_tools": running})),
        delta(json!({"executed_tools": done})),
        delta(json!({"content": "ok"})),
        end("stop"),
    ]);
    assert_eq!(decoded.shown(), ["hosted executed_0 browser.search", "input executed_0 {\"q\":1}", "completed executed_0", "text ok"]);
    let [AssistantPart::Hosted(call), AssistantPart::Text { .. }] = decoded.message().parts.as_slice() else {
        panic!("{:?}", decoded.message())
    };
    assert_eq!(
        (&*call.name, &call.outcome, call.input.as_ref().unwrap().as_str()),
        ("browser_search", &HostedOutcome::Completed, "{\"q\":1}")
    );
}

#[test]
fn counters_wherever_they_stand() {
    let usage = |chunks: &[Value]| {
        let mut all = vec![delta(json!({"content": "a"})), end("stop")];
        all.extend_from_slice(chunks);
        let usage = decoded(&all).response().usage;
        [usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.reasoning_tokens]
    };
    let counters = json!({"prompt_tokens": 9, "completion_tokens": 5.0, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}});
    let all = [Some(9), Some(4), Some(5), Some(2)];
    assert_eq!(usage(&[json!({"choices": [], "usage": counters})]), all);
    assert_eq!(usage(&[json!({"x_groq": {"usage": counters}})]), all);
    assert_eq!(usage(&[json!({"choices": [], "usage": counters}), json!({"usage": null})]), all);
    let deepseek = json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_tokens_details": null, "completion_tokens_details": null});
    assert_eq!(usage(&[json!({"choices": [], "usage": deepseek})]), [Some(9), Some(4), Some(5), None]);
    let searched = decoded(&[end("stop"), json!({"choices": [], "usage": {"server_tool_use_details": {"tool_calls_executed": 3}}})]);
    assert_eq!(searched.response().usage.server_tool_uses, Some(3));
}

#[test]
fn pictures_annotations_and_citations_are_kept() {
    let decoded = decoded(&[
        json!({"citations": ["u1"], "choices": [{"delta": {"content": "a", "annotations": [{"type": "url_citation"}], "images": [
            {"image_url": {"url": "data:image/png;base64,AAAA"}}, {"image_url": {"url": "https://e.com/b.png"}}, {"image_url": {}}]}}]}),
        end("stop"),
    ]);
    let images: Vec<_> = decoded.message().parts.iter().filter(|part| matches!(part, AssistantPart::Image(_))).collect();
    assert_eq!(images.len(), 2);
    assert_eq!((&item(&decoded)["annotations"], &item(&decoded)["citations"]), (&json!([{"type": "url_citation"}]), &json!(["u1"])));
}

#[test]
fn what_is_new_and_all_there_is_are_not_added() {
    let chunk = |new: &str, all: &str| json!({"choices": [{"index": 0, "delta": {"content": new}, "message": {"content": all}}]});
    assert_eq!(shown(&[chunk("a", "a"), chunk("b", "ab")]), ["text a", "text b"]);
}
