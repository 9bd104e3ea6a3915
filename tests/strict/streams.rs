//! Streams of every shape: what can be survived is, and the rest is a typed error.

use futures_util::StreamExt;
use tower::ServiceExt;
use tower_genai::{ErrorKind, ModelEvent, ModelRequest};

use crate::harness::{Setup, Strict, Talk, WIRES, short_waits, small_tools};

#[tokio::test]
async fn every_stream_that_can_be_survived() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let options = [
        "+drip",
        "+crlf",
        "+cr",
        "+bom",
        "+midbyte",
        "+json200",
        "+huge",
        "+plain",
        "+dupname",
        "+crlf+drip",
        "+bom+midbyte",
        "+cr+drip+bom",
        "+529",
        "+429",
        "+500html",
    ];
    for wire in WIRES {
        for option in options {
            let setup = Setup::new(wire, &format!("fake{option}"), &format!("survived {option}"));
            let mut talk = Talk::new(&setup, &strict, small_tools());
            let answer = talk.say("SAY naïve 検索 🙂\nCALL get_alpha {\"x\":1} QUERY alpha record\nCALL now {}").await;
            let answer = answer.unwrap_or_else(|error| panic!("{wire:?} {option}: {:?} {error}", error.kind()));
            assert!(answer.contains("get_alpha=ran get_alpha {\"x\":1}") && answer.contains("now=ran"), "{wire:?} {option}: {answer}");
            let accepted = strict.log(&setup.conversation).into_iter().filter(|line| line["status"] == 200).count();
            assert!(accepted >= 3, "{wire:?} {option}");
        }
    }
}

#[tokio::test]
async fn every_stream_that_cannot_be_survived() {
    let Some(strict) = Strict::start(&["--nv"]) else { return };
    let cases = [
        ("+cut", &[ErrorKind::Connection, ErrorKind::Protocol][..]),
        ("+eofcut", &[ErrorKind::Protocol]),
        ("+noterm", &[ErrorKind::Protocol]),
        ("+err", &[ErrorKind::Overloaded, ErrorKind::Server, ErrorKind::RateLimit]),
        ("+stall", &[ErrorKind::Timeout]),
    ];
    for wire in WIRES {
        for (option, kinds) in cases {
            let mut setup = Setup::new(wire, &format!("fake{option}"), &format!("broken {option}"));
            setup.waits = short_waits();
            let model = setup.build(&strict);
            let request = ModelRequest::new().user("SAY one two three four five six seven eight").tools(small_tools());
            let error = match model.oneshot(request).await {
                Err(error) => error,
                Ok(mut events) => loop {
                    match events.next().await {
                        Some(Ok(ModelEvent::Response(response))) => panic!("{wire:?} {option}: ended with {:?}", response.stop),
                        Some(Ok(_)) => {}
                        Some(Err(error)) => {
                            assert!(events.next().await.is_none(), "{wire:?} {option}: the stream goes on after its error");
                            break error;
                        }
                        None => panic!("{wire:?} {option}: ended without a word"),
                    }
                },
            };
            assert!(kinds.contains(&error.kind()), "{wire:?} {option}: {:?} {error}", error.kind());
        }
    }
}

#[tokio::test]
async fn an_error_before_the_first_event_is_retried() {
    let Some(strict) = Strict::start(&[]) else { return };
    for wire in WIRES {
        let setup = Setup::new(wire, "fake+err0", "err0");
        let mut talk = Talk::new(&setup, &strict, small_tools());
        let error = talk.say("SAY hello").await.unwrap_err();
        assert!(error.is_retryable(), "{:?} {error}", error.kind());
        assert!(strict.log(&setup.conversation).len() > 1, "it was tried again");
    }
}

#[tokio::test]
async fn finished_rounds_survive_a_later_failure() {
    let Some(strict) = Strict::start(&[]) else { return };
    for wire in WIRES {
        let setup = Setup::new(wire, "fake+429x9", "later failure");
        let error = Talk::new(&setup, &strict, small_tools()).say("SAY hello").await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)), "{wire:?}");
    }
}
