//! `POST /callbacks/{id}`, on the integrations listener: partners that answer an ask by calling us.

use crate::http::prelude::*;
use crate::matching::callbacks::{self, Called};
use crate::matching::received_call::{Received, receive};

/// Takes in what a partner answers, once.
pub async fn take(mut context: Context<App>) -> Result<Reply, Failure> {
    let unknown = || Failure::unknown("Callback does not exist");
    let id: Uuid = context.params.uuid("id").map_err(|_| unknown())?;
    let api = &context.app.settings.api;
    let body = context.request.read_any_body(api.max_body_bytes, api.request_timeout).await;
    let body = body.inspect_err(|failure| {
        if failure.status == StatusCode::PAYLOAD_TOO_LARGE {
            callbacks::count("too_large");
        }
    })?;
    let engine = context.app.matchmaker.engine();
    let called = Called { headers: context.request.headers.clone(), body };
    match receive(engine, id, called).await {
        Ok(Received::Taken) => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        Ok(Received::Unreadable(why)) => {
            Err(Failure::malformed(vec![ApiError::new(ErrorType::Malformed, why)]))
        }
        Ok(Received::Unsigned) => Err(Failure::forbidden("The signature is not that of the partner")),
        Ok(Received::Again) => Err(Failure::gone("The callback was taken before")),
        Ok(Received::Late) => Err(Failure::gone("The ask has ended")),
        Ok(Received::Unknown) => Err(unknown()),
        Err(error) => Err(unreadable(error)),
    }
}
