//! `POST /callbacks/{id}`, on the integrations listener: partners answer a request by calling us.

use crate::prelude::*;
use offerd_engine::matching::callbacks::{self, CallbackRequest, CallbackResult};
use offerd_engine::matching::received_call::receive;

/// Accepts a partner's answer, once.
pub async fn take(mut context: Context<ApiState>) -> Answer {
    let unknown = || Failure::unknown("Callback does not exist");
    let id: Uuid = context.params.uuid("id").map_err(|_| unknown())?;
    let api = &context.app.settings.api;
    let body = context.request.read_any_body(api.max_body_bytes, api.request_timeout).await;
    let body = body.inspect_err(|failure| {
        if failure.status == StatusCode::PAYLOAD_TOO_LARGE {
            callbacks::count("too_large");
        }
    })?;
    let engine = context.app.engine();
    let called = CallbackRequest { headers: context.request.headers.clone(), body };
    match receive(engine, id, called).await {
        Ok(CallbackResult::Taken) => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        Ok(CallbackResult::Unreadable { for_partner, .. }) => {
            Err(Failure::invalid(vec![ApiError::new(ErrorType::Malformed, for_partner)]))
        }
        Ok(CallbackResult::Unsigned) => Err(Failure::forbidden("The signature is not that of the partner")),
        Ok(CallbackResult::Again) => Err(Failure::gone("The callback was accepted before")),
        Ok(CallbackResult::Late) => Err(Failure::gone("The ask has ended")),
        Ok(CallbackResult::Nobody) => Err(unknown()),
        Err(error) => Err(unreadable(error)),
    }
}
