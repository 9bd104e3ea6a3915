use super::*;
use proptest::prelude::*;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-z_\"\\\\é日{}]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["client", "server", "failed", "completed", "c1", "msg_1", "{\"a\":1}", "{"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let object = prop::collection::vec((key(), inner.clone()), 0..4).prop_map(|entries| entries.into_iter().collect());
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::from), object]
    })
}

fn key() -> impl Strategy<Value = String> {
    let keys = [
        "type",
        "id",
        "call_id",
        "name",
        "namespace",
        "status",
        "execution",
        "arguments",
        "input",
        "content",
        "summary",
        "action",
        "operation",
        "environment",
        "queries",
        "code",
        "error",
        "text",
        "refusal",
        "output",
        "usage",
        "message",
        "reason",
        "incomplete_details",
        "response",
    ];
    prop_oneof![4 => prop::sample::select(keys.map(str::to_owned).to_vec()), 1 => "[a-z]{1,6}"]
}

fn item() -> impl Strategy<Value = Value> {
    let kinds = [
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
        "mcp_call",
        "mcp_approval_request",
        "program",
        "program_output",
        "shell_call",
        "local_shell_call",
        "apply_patch_call",
        "computer_call",
        "compaction",
        "unknown",
    ];
    let fields = prop::collection::vec((key(), json_value()), 0..8);
    (prop::sample::select(kinds.to_vec()), fields).prop_map(|(kind, fields)| {
        let mut object: serde_json::Map<String, Value> = fields.into_iter().collect();
        object.insert("type".into(), kind.into());
        Value::Object(object)
    })
}

fn event() -> impl Strategy<Value = Value> {
    let kinds = [
        "created",
        "completed",
        "incomplete",
        "failed",
        "output_item.added",
        "output_item.done",
        "output_text.delta",
        "refusal.delta",
        "reasoning_text.delta",
        "reasoning_summary_text.delta",
        "function_call_arguments.delta",
        "custom_tool_call_input.delta",
        "mcp_call_arguments.delta",
        "unknown",
    ];
    let response = prop::collection::vec(item(), 0..4).prop_map(|output| json!({"output": output}));
    let value = prop_oneof![2 => json_value(), 3 => item(), 1 => response];
    let fields =
        prop::collection::vec((prop::sample::select(vec!["output_index", "item_id", "delta", "item", "response", "error"]), value), 0..5);
    (prop::sample::select(kinds.to_vec()), fields, 0u64..4).prop_map(|(kind, fields, index)| {
        let mut object: serde_json::Map<String, Value> = FromIterator::from_iter([("output_index".to_owned(), json!(index))]);
        object.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        object.insert("type".into(), format!("response.{kind}").into());
        Value::Object(object)
    })
}

proptest! {
    /// Whatever is JSON is read: the only errors are those of the provider.
    #[test]
    fn any_stream_of_objects_is_read(events in prop::collection::vec(event(), 0..12)) {
        let decoded = stream(&events);
        if let Err(error) = &decoded.outcome {
            prop_assert!(error.provider().is_some(), "{error}");
        } else if decoded.is_done {
            let message = decoded.message();
            let started = decoded.events.iter().filter(|event| matches!(event, ModelEvent::ToolCallStarted { .. })).count();
            prop_assert!(started >= message.tool_calls().count());
            if let Some(replay) = &message.replay {
                prop_assert!(replay.items.len() >= message.tool_calls().count());
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(data in "\\PC{0,40}|[\\[\\]{}\",:a1. ]{0,40}") {
        let mut decoder = Decoder::new(Context::default(), &Target::new("host", "model"));
        for outcome in [decoder.push(&data, &mut VecDeque::new()), decoder.whole(data.as_bytes(), &mut VecDeque::new())] {
            if let Err(error) = outcome {
                prop_assert!(error.kind() == ErrorKind::Protocol || error.provider().is_some(), "{:?}", error.kind());
            }
        }
    }

    /// However the text of an item is cut into deltas, the events say it once and whole.
    #[test]
    fn deltas_add_up_to_the_item(pieces in prop::collection::vec("[a-z é\"\\\\]{0,5}", 0..6), missing in 0usize..3) {
        let whole: String = pieces.concat();
        let mut events: Vec<Value> = pieces.iter().take(pieces.len().saturating_sub(missing)).map(|piece| delta("output_text", 0, piece)).collect();
        events.extend([done(0, message(&whole)), completed(json!([]))]);
        let decoded = stream(&events);
        let said: String = decoded.trace().iter().filter_map(|line| line.strip_prefix("text ")).collect();
        prop_assert_eq!(said, whole.clone());
        prop_assert_eq!(decoded.response().text(), whole);
    }
}
