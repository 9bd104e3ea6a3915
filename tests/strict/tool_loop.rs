//! Tools that run inside the stack: every kind of call on every wire, and not one request is refused.

use std::time::Duration;

use futures_util::StreamExt;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_genai::{
    Conversation, Effort, Message, ModelEvent, ModelRequest, Reasoning, StopReason, ToolCall, ToolDefinition, ToolSet,
    tool_loop::{RoutedTools, Steering, ToolLoopLayer, ToolOutput, ToolRouter},
};

use crate::harness::{Setup, Strict, WIRES, small_tools};

/// The small set and two tools that run alone, each as its name says.
fn router() -> (ToolSet, RoutedTools) {
    let mut router = ToolRouter::new();
    let serial = ["commit", "push"].map(|name| ToolDefinition::new(name).description("Runs alone").serial(true));
    let slow = ToolDefinition::new("slow").description("Takes a while");
    for definition in small_tools().iter().map(|tool| (**tool).clone()).chain(serial).chain([slow]) {
        let service = service_fn(|call: ToolCall| async move {
            match &*call.name.name {
                "fail" => Err(BoxError::from("it did not work")),
                "slow" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok(ToolOutput::from("ran slow"))
                }
                _ => Ok(ToolOutput::from(format!("ran {} {}", call.name, call.arguments))),
            }
        });
        router = router.route(definition, service);
    }
    router.into_parts().unwrap()
}

struct Ran {
    text: String,
    stop: StopReason,
    failed: Vec<String>,
}

/// Says something, and lets the loop do the rest. What is steered is said when the first tool starts.
async fn say(setup: &Setup, strict: &Strict, history: &mut Conversation, text: &str, steered: Option<&str>) -> Ran {
    let (tools, service) = router();
    let model = ToolLoopLayer::new(service).layer(setup.build(strict));
    history.push(Message::user(text));
    let steering = Steering::new();
    let mut request = ModelRequest::new().system("You are a test.").messages(history.clone()).tools(tools);
    request.reasoning = setup.reasoning;
    request.extensions.insert(steering.clone());
    let mut events = model.oneshot(request).await.unwrap();
    let (mut failed, mut steered) = (Vec::new(), steered);
    while let Some(event) = events.next().await {
        match event.unwrap_or_else(|error| panic!("{}: {text}: {error}", setup.conversation)) {
            ModelEvent::ToolStarted(_) => steered.take().into_iter().for_each(|text| steering.send(text)),
            ModelEvent::ToolFailed { run, reason } => failed.push(format!("{} {reason}", run.name)),
            ModelEvent::Message(message) => history.push(message),
            ModelEvent::Response(response) => {
                *history = serde_json::from_value(serde_json::to_value(&*history).unwrap()).unwrap();
                return Ran { text: response.text(), stop: response.stop.reason, failed };
            }
            _ => {}
        }
    }
    panic!("{}: no response to {text}", setup.conversation);
}

#[tokio::test]
async fn every_kind_of_call_on_every_wire() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for wire in WIRES {
            for think in ["", "THINK\n"] {
                let mut setup = Setup::new(wire, "fake", &format!("loop {}", think.trim()));
                setup.reasoning = (!think.is_empty()).then(|| Reasoning::effort(Effort::Medium).summary(true));
                let mut history = Conversation::new();
                for (line, answers, failures) in [
                    // Side by side, one of them searched for.
                    (
                        "CALL now {}\nCALL echo {\"x\":1}\nCALL get_alpha {\"x\":2} QUERY alpha",
                        &["now=ran now", "echo=ran echo {\"x\":1}", "get_alpha=ran get_alpha {\"x\":2}"][..],
                        &[][..],
                    ),
                    // Alone and after the others, and one that fails.
                    (
                        "CALL commit {}\nCALL fail {}\nCALL push {}\nCALL slow {}",
                        &["commit=ran commit", "fail=", "push=ran push", "slow=ran slow"],
                        &["fail error"],
                    ),
                    // Arguments that do not fit.
                    ("CALL get_alpha {\"x\":\"no number\"}", &["get_alpha=This call was not run"], &["get_alpha invalid_arguments"]),
                    ("plain question", &["OK"], &[]),
                    ("CALL crm__list {} QUERY customers\nCALL now {}", &["crm__list=ran crm.list", "now=ran now"], &[]),
                ] {
                    let ran = say(&setup, &strict, &mut history, &format!("{think}{line}"), None).await;
                    assert_eq!(ran.stop, StopReason::EndTurn, "{wire:?}: {line}");
                    assert!(answers.iter().all(|part| ran.text.contains(part)), "{wire:?}: {line}: {}", ran.text);
                    assert_eq!(ran.failed, failures, "{wire:?}: {line}");
                }
                strict.assert_prefixes(&setup.conversation);
            }
        }
    }
}

#[tokio::test]
async fn what_a_user_says_in_the_meantime_opens_the_next_round() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let setup = Setup::new(wire, "fake", "steered");
        let mut history = Conversation::new();
        let ran = say(&setup, &strict, &mut history, "CALL slow {}\nCALL push {}", Some("SAY as you wish")).await;
        assert!(ran.text.contains("as you wish") && ran.failed == ["push skipped"], "{wire:?}: {} {:?}", ran.text, ran.failed);
        let ran = say(&setup, &strict, &mut history, "CALL now {}", None).await;
        assert!(ran.text.contains("now=ran now"), "{wire:?}: {}", ran.text);
        strict.assert_prefixes(&setup.conversation);
    }
}

#[tokio::test]
async fn tools_of_the_provider_beside_local_ones() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let Some(hosted) = wire.hosted() else { continue };
        let setup = Setup::new(wire, "fake", "mixed loop").hosting(hosted);
        let mut history = Conversation::new();
        for line in [format!("SERVER {hosted}\nCALL now {{}}"), format!("SERVER {hosted}\nCALL get_alpha {{}} QUERY alpha\nCALL fail {{}}")]
        {
            let ran = say(&setup, &strict, &mut history, &line, None).await;
            assert!(ran.text.contains("=ran"), "{wire:?}: {line}: {}", ran.text);
        }
        strict.assert_prefixes(&setup.conversation);
    }
}

#[tokio::test]
async fn tools_that_are_not_there() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        // The endpoint declares them, the router does not have them: a stack that was put together wrongly.
        let setup = Setup::new(wire, "fake", "unknown");
        let (_, service) = ToolRouter::new().into_parts().unwrap();
        let model = ToolLoopLayer::new(service).layer(setup.build(&strict));
        let request = ModelRequest::new().user("CALL now {}\nCALL get_alpha {} QUERY alpha").tools(small_tools());
        let response = tower_genai::ModelServiceExt::complete(model, request).await.unwrap();
        assert!(
            response.text().contains("There is no tool `now` here") && response.text().contains("get_alpha"),
            "{wire:?}: {}",
            response.text()
        );
        strict.assert_prefixes(&setup.conversation);
    }
}
