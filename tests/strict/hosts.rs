//! What single hosts and models take and refuse.

use tower_genai::{
    BoxModelService, Effort, ErrorKind, ModelRequest, ModelServiceExt, Reasoning, ToolDefinition, ToolSet,
    provider::{deepseek, openrouter, xai},
    tool_search::ToolSearchLayer,
};

use crate::harness::{Part, Setup, Strict, Talk, WIRES, Wire, deferred, small_tools};

/// Searches, parallel calls, a call that fails, and thinking.
async fn turns(talk: &mut Talk, context: &str) {
    for (line, parts) in [
        ("THINK\nCALL get_alpha {\"x\":1} QUERY alpha\nCALL now {}", &["get_alpha=ran get_alpha {\"x\":1}", "now=ran now"][..]),
        ("THINK\nCALL crm__list {} QUERY customers\nCALL fail {}", &["crm__list=ran crm.list", "fail=it did not work"]),
        ("plain question", &["OK"]),
        ("THINK\nCALL get_alpha {\"x\":2}\nCALL get_beta {} QUERY beta", &["get_alpha=ran get_alpha {\"x\":2}", "get_beta=ran get_beta"]),
    ] {
        let answer = talk.say(line).await.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(parts.iter().all(|part| answer.contains(part)), "{context}: {line}: {answer}");
    }
}

fn talk(model: BoxModelService) -> Talk {
    Talk { model, history: Default::default(), tools: small_tools(), reasoning: Some(Reasoning::effort(Effort::High)) }
}

#[tokio::test]
async fn hosts_that_only_look_like_openai_and_anthropic() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        let (url, v1) = (strict.url().to_owned(), format!("{}/v1", strict.url()));
        let setup = |wire, name: &str| Setup::new(wire, "fake", name);
        let silent = |mut setup: Setup| {
            // The fake knows no field for it.
            setup.change = |it| it.thinking = tower_genai::protocols::ThinkingStyle::Unsupported;
            setup
        };
        let chat = silent(setup(Wire::Chat, "deepseek chat"));
        let mut responses = setup(Wire::Responses, "deepseek responses appends");
        // The service takes back what it wrote in the clear; the fake wants it encrypted from everyone.
        responses.change = |it| it.encrypted_reasoning = true;
        let messages = setup(Wire::Anthropic, "deepseek messages appends");
        let grok = setup(Wire::Responses, "grok appends");
        let router = silent(setup(Wire::Chat, "openrouter"));
        for (setup, model) in [
            (&chat, chat.stack(deepseek::chat("key", "fake-deepseek"), &v1, &strict)),
            (&responses, responses.stack(deepseek::responses("key", "fake-deepseek"), &v1, &strict)),
            (&messages, messages.stack(deepseek::messages("key", "fake-deepseek"), &url, &strict)),
            (&grok, grok.stack(xai::responses("key", "grok-fake"), &v1, &strict)),
            (&router, router.stack(openrouter::chat("key", "vendor/fake"), &v1, &strict)),
        ] {
            let mut talk = talk(model);
            turns(&mut talk, &setup.conversation).await;
            strict.assert_accepted(&setup.conversation);
        }
        // A dialogue of another endpoint, which thought nothing that DeepSeek could be shown.
        let mut talk = Talk::new(&setup(Wire::Gemini, "before"), &strict, small_tools());
        turns(&mut talk, "before").await;
        let after = silent(setup(Wire::Chat, "deepseek after"));
        talk.model = after.stack(deepseek::chat("key", "fake-deepseek"), &v1, &strict);
        turns(&mut talk, "after").await;
        strict.assert_accepted(&after.conversation);
    }
}

#[tokio::test]
async fn models_of_other_generations() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for (wire, model) in [
        (Wire::Gemini, "gemini-2.5-fake"),
        (Wire::Gemini, "gemini-3-fake"),
        (Wire::Responses, "gpt-4o"),
        (Wire::Chat, "gpt-4o"),
        (Wire::Anthropic, "claude-opus-4-1"),
        (Wire::Anthropic, "claude-opus-4-6"),
        (Wire::Ollama, "gpt-oss:20b"),
    ] {
        let mut setup = Setup::new(wire, model, &format!("generation {model}"));
        setup.reasoning = Some(Reasoning::effort(Effort::Medium).summary(true));
        let mut talk = Talk::new(&setup, &strict, small_tools());
        turns(&mut talk, model).await;
        strict.assert_accepted(&setup.conversation);
    }
    let mixed = Setup::new(Wire::Gemini, "gemini-2.5-fake", "mixed").hosting("googleSearch");
    let error = Talk::new(&mixed, &strict, small_tools()).say("hi").await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, None));
}

/// Tools with descriptions that are longer than OpenAI takes, one shown and the others deferred.
fn long_tools() -> ToolSet {
    let long = |name: &str| format!("Reads the {name} record. {}", "It says more. ".repeat(120));
    let mut tools: Vec<ToolDefinition> =
        (0..200).map(|number| deferred(&format!("tool_{number}"), &long(&format!("number{number}")))).collect();
    tools.push(ToolDefinition::new("now").description(long("now")));
    ToolSet::new(tools).unwrap()
}

#[tokio::test]
async fn the_limits_of_openai() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let mut setup = Setup::new(Wire::Chat, "gpt-4o", "limits");
    setup.parts[0] = Part::Search(ToolSearchLayer::new().max_tools(8));
    let mut talk = Talk::new(&setup, &strict, long_tools());
    for number in 0..5 {
        let answer = talk.say(&format!("CALL tool_{number} {{}} QUERY number{number}\nCALL now {{}}")).await.unwrap();
        assert!(answer.contains(&format!("tool_{number}=ran")) && answer.contains("now=ran"), "{answer}");
    }
    strict.assert_prefixes(&setup.conversation);
    // The search tool, `now` and six others are all that fit.
    let answer = talk.say("CALL tool_5 {} QUERY number5\nCALL tool_6 {} QUERY number6").await.unwrap();
    assert!(answer.contains("tool_5=ran") && answer.contains("tool_6") && !answer.contains("tool_6=ran"), "{answer}");
    let history = serde_json::to_string(&talk.history).unwrap();
    assert!(history.contains("No more tools can be loaded") && history.contains("0 more tools can be loaded"), "{history:.3000}");
    strict.assert_prefixes(&setup.conversation);

    let eager: Vec<ToolDefinition> = long_tools().iter().map(|tool| (**tool).clone().deferred(false)).collect();
    let error = Talk::new(&setup, &strict, ToolSet::new(eager).unwrap()).say("hi").await.unwrap_err();
    assert!(error.status().is_none() && error.to_string().contains("201 tools") && error.to_string().contains("128"), "{error}");
}

#[tokio::test]
async fn a_model_that_takes_no_tools() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let setup = Setup::new(Wire::Ollama, "fake+notools", "no tools");
    let request = ModelRequest::new().user("SAY hi").tools(small_tools());
    let error = setup.build(&strict).complete(request.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    assert!(error.to_string().contains("does not support tools"), "{error}");
    let mut known = Setup::new(Wire::Ollama, "fake+notools", "known to take no tools");
    known.change = |it| it.functions = false;
    let error = known.build(&strict).complete(request).await.unwrap_err();
    assert!(error.status().is_none() && error.to_string().contains("takes no tools"), "{error}");
}

#[tokio::test]
async fn a_refused_key_is_an_authentication_error() {
    let Some(strict) = Strict::start(&[]) else { return };
    for wire in WIRES.into_iter().filter(|wire| *wire != Wire::Ollama) {
        let error =
            Setup::new(wire, "fake", "refused").with_key("bad-key-4711").build(&strict).complete(ModelRequest::new().user("hi")).await;
        let error = error.unwrap_err();
        // Google answers a wrong key with a status of 400, and says why in details that the fake does not have.
        let expected = if wire == Wire::Gemini { (ErrorKind::InvalidRequest, Some(400)) } else { (ErrorKind::Authentication, Some(401)) };
        assert_eq!((error.kind(), error.status()), expected, "{wire:?}");
        assert!(!format!("{error} {error:?}").contains("4711"), "{wire:?}");
    }
}
