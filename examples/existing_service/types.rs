//! The team's own request and error.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tower_genai::{Error, ErrorKind, ModelRequest};

/// One call of a model, as this team passes it through its stack.
#[derive(Clone, Debug)]
pub(crate) struct CallRequest {
    pub(crate) user: String,
    pub(crate) trace: String,
    pub(crate) model: ModelRequest,
}

/// All that the layers ask of a request. They edit what is in it and leave the rest alone.
impl AsMut<ModelRequest> for CallRequest {
    fn as_mut(&mut self) -> &mut ModelRequest {
        &mut self.model
    }
}

/// What can go wrong in the team's stack.
#[derive(Debug)]
pub(crate) enum CallError {
    NoBudget { user: String },
    Model(Error),
}

/// For the layers that refuse a request: their error becomes one of the team.
impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}

/// For the layers that call again: an error of a later round is an item of the stream, and items are the library's.
impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NoBudget { user } => Self::new(ErrorKind::Billing, format!("user `{user}` has no budget left")),
            CallError::Model(error) => error,
        }
    }
}

impl IntoResponse for CallError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoBudget { .. } => StatusCode::PAYMENT_REQUIRED,
            Self::Model(error) => match error.kind() {
                ErrorKind::InvalidRequest => StatusCode::BAD_REQUEST,
                ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                ErrorKind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
                _ => StatusCode::BAD_GATEWAY,
            },
        };
        (status, Error::from(self).to_string()).into_response()
    }
}
