//! Advice for the author of a partner file about an answer that is neither offers nor a decline.

use super::absent::AbsentMapping;
use super::answer::Received;
use super::exchange::PartnerExchange;
use super::expression::Expression;
use super::given::Given;
use super::source::HttpSource;

/// What to do about a status, to follow it.
pub(super) fn of_status(status: u16) -> &'static str {
    match status {
        400 | 422 => ": it refuses the request; `offerd partners try --send` shows its words",
        401 => ": it does not accept our key; check `auth`, `headers` and `secrets`",
        403 => ": it does not let us in; check the key, and ask it to admit this machine's address",
        404 | 410 => ": check the path of the URL",
        405 => ": it does not take this method there; check `method` and the URL",
        406 => ": check the header `Accept`",
        415 => ": it does not take this kind of body; check `json`, `form` or `xml`, and `Content-Type`",
        429 => ": it takes fewer calls; lower `limits.per_minute`, or ask it for more",
        _ => "",
    }
}

impl HttpSource {
    /// The paths of `error` and `declined` that an answer lacks, so that they cannot judge it.
    pub fn lacking_verdicts(
        &self,
        exchange: &PartnerExchange,
        received: Received<'_>,
        given: &Given,
    ) -> Vec<AbsentMapping> {
        let context = received.context(self.context(given, exchange), &self.attributes);
        let Ok(values) = context.map(|context| context.values) else { return Vec::new() };
        let step = self.step(exchange);
        let is_last = exchange.step + 1 == self.steps.len();
        let last = [&self.answer.error, &self.answer.declined];
        let judges = if is_last { last } else { [&step.error, &step.declined] };
        let paths = judges.into_iter().flatten().flat_map(|by| {
            let paths = by.variables().into_iter().filter(|path| path.starts_with("response."));
            paths.filter_map(|path| {
                let mut path = Expression::compile(&path).ok()?;
                path.key.clone_from(&by.key);
                Some(path)
            })
        });
        let absent = paths.filter(|path| path.run(&values).is_ok_and(|value| value.is_undefined()));
        absent.map(|path| AbsentMapping::of(&path, &values)).collect()
    }
}
