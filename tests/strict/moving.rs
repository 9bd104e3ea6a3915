//! Conversations that move from endpoint to endpoint: not one request is refused, nothing that was loaded is lost.

use tower_genai::{Effort, Reasoning};

use crate::harness::{Setup, Strict, Talk, WIRES, Wire, small_tools};

fn setup(wire: Wire, conversation: &str) -> Setup {
    let setup = Setup::new(wire, "fake", conversation);
    let mut setup = match wire.hosted() {
        Some(tool) => setup.hosting(tool),
        None => setup,
    };
    setup.reasoning = Some(Reasoning::effort(Effort::High).summary(true));
    setup
}

/// Goes on with another endpoint.
fn go_on(talk: &mut Talk, setup: &Setup, strict: &Strict) {
    talk.model = setup.build(strict);
    talk.reasoning = setup.reasoning;
}

/// How many searches the dialogue holds.
fn searches(talk: &Talk) -> usize {
    talk.history.searches()
}

#[tokio::test]
async fn every_endpoint_goes_on_where_another_stopped() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for from in WIRES {
            for to in WIRES {
                let [first, second] = [from, to].map(|wire| setup(wire, &format!("{from:?} to {to:?}")));
                let mut talk = Talk::new(&first, &strict, small_tools());
                let answer = talk.say("THINK\nCALL get_alpha {\"x\":1} QUERY alpha\nCALL now {}\nCALL fail {}").await.unwrap();
                for part in ["get_alpha=ran get_alpha {\"x\":1}", "now=ran now", "fail=it did not work"] {
                    assert!(answer.contains(part), "{from:?} to {to:?}: {answer}");
                }
                if let Some(tool) = from.hosted() {
                    let answer = talk.say(&format!("SERVER {tool}")).await.unwrap();
                    assert!(answer.contains("SERVED"), "{from:?}: {answer}");
                }
                go_on(&mut talk, &second, &strict);
                let searched = searches(&talk);
                let asked =
                    "THINK\nCALL get_alpha {\"x\":2}\nCALL get_beta {\"x\":3} QUERY beta\nCALL fail {}\nCALL crm__list {} QUERY customers";
                let answer = talk.say(asked).await.unwrap();
                for part in ["get_alpha=ran get_alpha {\"x\":2}", "get_beta=ran get_beta", "fail=it did not work", "crm__list=ran crm.list"]
                {
                    assert!(answer.contains(part), "{from:?} to {to:?}: {answer}");
                }
                assert_eq!(searches(&talk), searched + 2, "what was loaded stays loaded: {from:?} to {to:?}");
                if let Some(tool) = to.hosted() {
                    assert!(talk.say(&format!("SERVER {tool}")).await.unwrap().contains("SERVED"), "{from:?} to {to:?}");
                }
                go_on(&mut talk, &first, &strict);
                let answer = talk.say("THINK\nCALL get_beta {\"x\":4}\nCALL crm__list {}\nCALL get_gamma {} QUERY gamma").await.unwrap();
                for part in ["get_beta=ran get_beta {\"x\":4}", "crm__list=ran crm.list", "get_gamma=ran get_gamma"] {
                    assert!(answer.contains(part), "{from:?} to {to:?}: {answer}");
                }
                assert_eq!(searches(&talk), searched + 3, "{from:?} to {to:?}");
                strict.assert_accepted(&first.conversation);
                strict.assert_accepted(&second.conversation);
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_moves_at_every_turn() {
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        for start in 0..WIRES.len() {
            let setups: Vec<Setup> =
                (0..WIRES.len()).map(|at| setup(WIRES[(start + at) % WIRES.len()], &format!("round {start}"))).collect();
            let mut talk = Talk::new(&setups[0], &strict, small_tools());
            let names = ["alpha", "beta", "gamma", "delta"];
            for turn in 0..2 * setups.len() {
                let setup = &setups[turn % setups.len()];
                go_on(&mut talk, setup, &strict);
                let (new, old) = (names[turn.min(3)], names[turn.saturating_sub(1).min(3)]);
                let asked = format!("THINK\nCALL get_{new} {{\"x\":{turn}}} QUERY {new}\nCALL get_{old} {{}} QUERY {old}\nCALL now {{}}");
                let answer = talk.say(&asked).await.unwrap();
                for part in [format!("get_{new}=ran get_{new} {{\"x\":{turn}}}"), format!("get_{old}=ran"), "now=ran now".to_owned()] {
                    assert!(answer.contains(&part), "{start} {turn}: {answer}");
                }
            }
            assert_eq!(searches(&talk), names.len(), "each tool is searched once");
            for setup in &setups {
                strict.assert_accepted(&setup.conversation);
            }
        }
    }
}
