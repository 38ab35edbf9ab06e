//! Where the offers of an answer stand: a list, one object, lists in a list, or nothing at all.

use minijinja::value::{Value as Mapped, ValueKind};

use super::absent::Absent;
use super::answer_mapping::AnswerMapping;
use super::expression::Expression;
use super::mapping_error::MappingError;

/// What stands where the offers of an answer are looked for.
pub(super) enum OfferList {
    /// The offers; none where the partner says that there are none.
    Given(Vec<ListedOffer>),
    /// Nothing, so that nobody knows what the partner says.
    Missing(Absent),
}

/// An offer as it stands in an answer; and what it stands in, where lists stand in a list.
pub(super) type ListedOffer = (Mapped, Option<Mapped>);

impl OfferList {
    /// Finds the offers of an answer, of `xml` or not.
    pub(super) fn find(mapping: &AnswerMapping, context: &Mapped, xml: bool) -> Result<Self, MappingError> {
        let outermost = match elements(&mapping.offers, context, xml)? {
            Ok(elements) => elements,
            Err(absent) => return Ok(Self::Missing(absent)),
        };
        let Some(inner) = &mapping.inner else {
            return Ok(Self::Given(outermost.into_iter().map(|offer| (offer, None)).collect()));
        };
        let mut offers = Vec::new();
        for (nth, outer) in outermost.into_iter().enumerate() {
            let context = minijinja::context! { offer => outer.clone(), ..context.clone() };
            match elements(inner, &context, xml)? {
                Ok(elements) => {
                    offers.extend(elements.into_iter().map(|offer| (offer, Some(outer.clone()))));
                }
                Err(absent) => return Ok(Self::Missing(absent.in_offer(nth))),
            }
        }
        Ok(Self::Given(offers))
    }
}

/// The elements of the list that an expression gives, or what it met where there is none.
fn elements(
    expression: &Expression,
    context: &Mapped,
    xml: bool,
) -> Result<Result<Vec<Mapped>, Absent>, MappingError> {
    let list = expression.run(context)?;
    Ok(Ok(match list.kind() {
        ValueKind::Undefined if xml && stands_in_empty(expression, context) => Vec::new(),
        ValueKind::Undefined => return Ok(Err(Absent::of(expression, context))),
        ValueKind::None => Vec::new(),
        ValueKind::String if xml && list.as_str() == Some("") => Vec::new(),
        // In XML a list of one is no list.
        ValueKind::Map => vec![list],
        ValueKind::Seq | ValueKind::Iterable => list.try_iter().into_iter().flatten().collect(),
        _ => return Err(MappingError::new(&expression.key, "is no list")),
    }))
}

/// Whether what an expression looks for would stand in an element that is there and has no other in it: `<Offers/>`.
fn stands_in_empty(expression: &Expression, context: &Mapped) -> bool {
    let Some((parent, _)) = expression.path().and_then(|path| path.rsplit_once('.')) else { return false };
    let found = parent.split('.').try_fold(context.clone(), |value, name| value.get_attr(name));
    found.is_ok_and(|element| match element.kind() {
        ValueKind::String => element.as_str() == Some(""),
        ValueKind::Map => element
            .try_iter()
            .is_ok_and(|mut names| names.all(|name| name.as_str().is_some_and(|name| name.starts_with('@')))),
        _ => false,
    })
}
