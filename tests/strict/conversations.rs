//! Conversations of several turns: not one request is refused, and each is a prefix of the next.

use serde_json::Value;
use tower_genai::{
    Effort, Json, Reasoning, ToolDefinition, ToolSet, server_tools::ServerToolsLayer, tool_guidelines::Placement,
    tool_guidelines::ToolGuidelinesLayer, tool_search::CatalogPlacement, tool_search::ToolSearchLayer,
};

use crate::harness::{Part, Setup, Strict, Talk, WIRES, Wire, deferred, shared, small_tools};

/// Three turns: a search and a call, several of both at once, and what is loaded already.
async fn three_turns(talk: &mut Talk, context: &str) {
    let answer = talk.say("CALL get_alpha {\"x\":1} QUERY alpha record").await.unwrap();
    assert!(answer.contains("get_alpha=ran get_alpha {\"x\":1}"), "{context}: {answer}");
    let answer = talk.say("CALL get_beta {} QUERY beta record\nCALL now {}\nCALL crm__list {} QUERY customers").await.unwrap();
    for part in ["get_beta=ran get_beta", "now=ran now", "crm__list=ran crm.list"] {
        assert!(answer.contains(part), "{context}: {answer}");
    }
    let answer = talk.say("CALL get_alpha {\"x\":2}\nCALL get_gamma {} QUERY gamma record").await.unwrap();
    assert!(answer.contains("get_alpha=ran get_alpha {\"x\":2}") && answer.contains("get_gamma=ran"), "{context}: {answer}");
}

#[tokio::test]
async fn search_and_call_over_several_turns() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for wire in WIRES {
            let setup = Setup::new(wire, "fake", "plain");
            let mut talk = Talk::new(&setup, &strict, small_tools());
            three_turns(&mut talk, &setup.conversation).await;
            let odd = talk.say("CALL weather_report_f0fae4ae {} QUERY weather place").await.unwrap();
            assert!(odd.contains("weather report") || odd.contains("NOT FOUND"), "{odd}");
            assert_eq!(talk.say("thank you").await.unwrap(), "OK");
            strict.assert_prefixes(&setup.conversation);
        }
    }
}

#[tokio::test]
async fn every_real_tool_deferred() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let mut tools = Vec::new();
    for pool in ["livemcp", "mcp_distract"] {
        let path = shared().unwrap().join(format!("retrieval/tools/{pool}.jsonl"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let tool: Value = serde_json::from_str(line).unwrap();
            let definition = ToolDefinition::new(tool["name"].as_str().unwrap())
                .namespace(tool["server"].as_str().unwrap())
                .description(tool["description"].as_str().unwrap_or_default())
                .parameters(Json::from(tool["parameters"].clone()));
            tools.push(definition.deferred(true));
        }
    }
    assert!(tools.len() > 1_000);
    let tools = ToolSet::new(tools).unwrap();
    for wire in WIRES {
        let setup = Setup::new(wire, "fake", "real tools");
        let mut talk = Talk::new(&setup, &strict, tools.clone());
        let wanted = "CALL yahoo-finance__get_current_stock_price {\"symbol\":\"A\"} QUERY current stock price";
        let answer = talk.say(&format!("{wanted}\nCALL bing-cn-mcp__bing_search {{\"query\":\"x\"}} QUERY bing search")).await.unwrap();
        assert!(
            answer.contains("yahoo-finance__get_current_stock_price=ran") && answer.contains("bing-cn-mcp__bing_search=ran"),
            "{answer}"
        );
        assert!(talk.say(wanted).await.unwrap().contains("=ran"));
        strict.assert_prefixes(&setup.conversation);
    }
}

#[tokio::test]
async fn every_order_of_the_layers() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let mut parts = vec![Part::Search(ToolSearchLayer::new()), Part::Guidelines(ToolGuidelinesLayer::new()), Part::Deferred];
        parts.extend(wire.hosted().map(|hosted| Part::ServerTools(ServerToolsLayer::with([hosted]).unwrap())));
        let mut orders = 0;
        for order in permutations(&(0..parts.len()).collect::<Vec<_>>()) {
            orders += 1;
            let mut setup = Setup::new(wire, "fake", &format!("order {order:?}"));
            setup.parts = order.iter().map(|index| parts[*index].clone()).collect();
            let mut talk = Talk::new(&setup, &strict, small_tools());
            three_turns(&mut talk, &setup.conversation).await;
            strict.assert_prefixes(&setup.conversation);
        }
        assert_eq!(orders, (1..=parts.len()).product::<usize>());
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![vec![]];
    }
    let each = items.iter().flat_map(|first| {
        let rest: Vec<usize> = items.iter().copied().filter(|item| item != first).collect();
        permutations(&rest).into_iter().map(move |mut order| {
            order.insert(0, *first);
            order
        })
    });
    each.collect()
}

#[tokio::test]
async fn every_subset_of_the_layers() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        for subset in 0..8u32 {
            let mut setup = Setup::new(wire, "fake", &format!("subset {subset}"));
            let all = [Part::Search(ToolSearchLayer::new()), Part::Guidelines(ToolGuidelinesLayer::new()), Part::Deferred];
            setup.parts = (0u32..).zip(all).filter(|(bit, _)| subset & (1 << bit) != 0).map(|(_, part)| part).collect();
            let mut talk = Talk::new(&setup, &strict, small_tools());
            three_turns(&mut talk, &setup.conversation).await;
            strict.assert_prefixes(&setup.conversation);
        }
    }
}

#[tokio::test]
async fn every_placement_of_catalogue_and_guidelines() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        for catalog in [CatalogPlacement::None, CatalogPlacement::SearchDescription, CatalogPlacement::SystemPrompt] {
            for guidelines in [Placement::SystemPrompt, Placement::Description] {
                let setup = Setup::new(wire, "fake", &format!("placed {catalog:?} {guidelines:?}")).placed(catalog, guidelines);
                let mut talk = Talk::new(&setup, &strict, small_tools());
                three_turns(&mut talk, &setup.conversation).await;
                strict.assert_prefixes(&setup.conversation);
            }
        }
    }
}

#[tokio::test]
async fn thinking_bound_or_not() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for wire in WIRES {
            for model in ["fake", "fake+bound"] {
                let mut setup = Setup::new(wire, model, &format!("thinking {model}"));
                setup.reasoning = Some(Reasoning::effort(Effort::Medium));
                let mut talk = Talk::new(&setup, &strict, small_tools());
                for line in
                    ["CALL get_alpha {} QUERY alpha record", "CALL get_beta {} QUERY beta record\nCALL now {}", "CALL get_alpha {\"x\":3}"]
                {
                    let answer = talk.say(&format!("THINK\n{line}")).await.unwrap();
                    assert!(answer.contains("=ran"), "{wire:?} {model}: {answer}");
                }
                strict.assert_prefixes(&setup.conversation);
            }
        }
    }
}

#[tokio::test]
async fn hosted_tools_and_mixed_turns() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let Some(hosted) = wire.hosted() else { continue };
        let setup = Setup::new(wire, "fake", "hosted").hosting(hosted);
        let mut talk = Talk::new(&setup, &strict, small_tools());
        assert!(talk.say(&format!("SERVER {hosted}")).await.unwrap().contains("SERVED"));
        three_turns(&mut talk, "hosted").await;
        assert!(talk.say(&format!("SERVER {hosted}\nCALL now {{}}")).await.unwrap().contains("now=ran"));
        strict.assert_prefixes(&setup.conversation);
    }
    let setup = Setup::new(Wire::Anthropic, "fake", "mixed").hosting("web_search_20250305");
    let mut talk = Talk::new(&setup, &strict, small_tools());
    for line in
        ["MIXED web_search\nCALL now {}", "MIXED web_search\nCALL get_alpha {} QUERY alpha record", "MIXED web_search\nCALL get_alpha {}"]
    {
        let answer = talk.say(line).await.unwrap();
        assert!(answer.contains("=ran"), "{line}: {answer}");
        assert_eq!(talk.say("and now?").await.unwrap(), "OK");
    }
    strict.assert_accepted(&setup.conversation);
}

#[tokio::test]
async fn a_pause_is_resumed_inside() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let setup = Setup::new(Wire::Anthropic, "fake", "pause").hosting("web_search_20250305");
    let mut talk = Talk::new(&setup, &strict, small_tools());
    for line in ["PAUSE\nSERVER web_search\nSAY fine", "PAUSE\nSERVER web_search\nCALL now {}"] {
        talk.say(line).await.unwrap();
    }
    assert_eq!(talk.say("and now?").await.unwrap(), "OK");
    strict.assert_accepted(&setup.conversation);
}

#[tokio::test]
async fn refusals_and_truncation_are_answers() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let setup = Setup::new(wire, "fake", "stops");
        let mut talk = Talk::new(&setup, &strict, small_tools());
        for line in ["TRUNCATE\nSAY a long story", "REFUSE", "SAY hello"] {
            talk.say(line).await.unwrap();
        }
        strict.assert_accepted(&setup.conversation);
    }
}

#[tokio::test]
async fn the_tool_set_changes_between_turns() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for wire in WIRES {
            for (model, think) in [("fake", ""), ("fake+bound", "THINK\n")] {
                let mut setup = Setup::new(wire, model, &format!("changing {model}"));
                setup.reasoning = (!think.is_empty()).then(|| Reasoning::effort(Effort::Low));
                let mut talk = Talk::new(&setup, &strict, small_tools());
                three_turns(&mut talk, &setup.conversation).await;
                let all: Vec<ToolDefinition> = small_tools().iter().map(|tool| (**tool).clone()).collect();
                let without = |name: &str| all.iter().filter(|tool| &*tool.name.name != name).cloned().collect::<Vec<_>>();

                // A loaded tool vanishes, and another tool comes.
                let mut gained = without("get_alpha");
                gained.push(deferred("get_omega", "Reads the omega record"));
                talk.tools = ToolSet::new(gained).unwrap();
                let answer = talk.say(&format!("{think}CALL get_omega {{}} QUERY omega record")).await.unwrap();
                assert!(answer.contains("get_omega=ran"), "{wire:?} {model}: {answer}");
                let answer = talk.say(&format!("{think}CALL get_alpha {{}}")).await.unwrap();
                assert!(!answer.contains("=ran get_alpha"), "{wire:?} {model}: {answer}");

                // The schema of a loaded tool changes.
                let mut changed = without("get_beta");
                changed.push(deferred("get_beta", "Reads the beta record, quickly"));
                talk.tools = ToolSet::new(changed).unwrap();
                talk.say(&format!("{think}CALL get_beta {{}} QUERY beta record quickly")).await.unwrap();

                // A loaded tool is no longer deferred.
                let mut eager = without("get_gamma");
                eager.push(ToolDefinition::new("get_gamma").description("Reads the gamma record"));
                talk.tools = ToolSet::new(eager).unwrap();
                let answer = talk.say(&format!("{think}CALL get_gamma {{}}")).await.unwrap();
                assert!(answer.contains("get_gamma=ran"), "{wire:?} {model}: {answer}");

                // Nothing is deferred, then there are no tools at all.
                talk.tools = ToolSet::new([ToolDefinition::new("now").description("The current time")]).unwrap();
                let answer = talk.say(&format!("{think}CALL now {{}}")).await.unwrap();
                assert!(answer.contains("now=ran"), "{wire:?} {model}: {answer}");
                talk.tools = ToolSet::default();
                talk.say(&format!("{think}SAY nothing left")).await.unwrap();
                talk.tools = small_tools();
                talk.say(&format!("{think}CALL get_alpha {{}} QUERY alpha record")).await.unwrap();
                strict.assert_accepted(&setup.conversation);
            }
        }
    }
}

#[tokio::test]
async fn searches_that_cannot_be_read_do_no_harm() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for wire in WIRES {
        let setup = Setup::new(wire, "fake", "malformed");
        let mut talk = Talk::new(&setup, &strict, small_tools());
        for arguments in [r#"{"queries":"alpha"}"#, "{}", r#"{"queries":[]}"#, r#"{"queries":[1]}"#] {
            talk.say(&format!("CALL tool_search {arguments}")).await.unwrap();
        }
        three_turns(&mut talk, "malformed").await;
        strict.assert_prefixes(&setup.conversation);
    }
}

#[tokio::test]
async fn the_providers_own_search_takes_over() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    for (wire, hosted) in [(Wire::Anthropic, "tool_search_tool_bm25_20251119"), (Wire::Responses, "tool_search")] {
        let setup = Setup::new(wire, "fake", "hosted search").hosting(hosted);
        let mut talk = Talk::new(&setup, &strict, small_tools());
        let answer = talk.say("CALL get_alpha {} QUERY get_alpha alpha record").await.unwrap();
        assert!(answer.contains("get_alpha=ran"), "{wire:?}: {answer}");
        talk.say("CALL get_alpha {\"x\":2}").await.unwrap();
        let inside = {
            let mut setup = Setup::new(wire, "fake", "hosted search inside");
            let tools = ServerToolsLayer::with([hosted]).unwrap();
            setup.parts = vec![Part::Search(ToolSearchLayer::new()), Part::ServerTools(tools), Part::Deferred];
            setup
        };
        let mut talk = Talk::new(&inside, &strict, small_tools());
        let answer = talk.say("CALL get_alpha {} QUERY get_alpha alpha record").await.unwrap();
        assert!(answer.contains("get_alpha=ran"), "{wire:?}: {answer}");
        for conversation in [&setup.conversation, &inside.conversation] {
            strict.assert_accepted(conversation);
        }
    }
}
