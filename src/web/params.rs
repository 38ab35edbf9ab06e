//! What stood in the braces of a path template.

use uuid::Uuid;

use super::caller::hyphenated_uuid;
use super::failure::Failure;

/// The decoded values of the path parameters, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(&'static str, String)>);

impl Params {
    /// The value of `name`; `None` when the template has no such parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name` as a UUID, or 400 naming the parameter.
    pub fn uuid(&self, name: &str) -> Result<Uuid, Failure> {
        self.get(name)
            .and_then(hyphenated_uuid)
            .ok_or_else(|| Failure::bad_attribute(name, format!("Path parameter {name} must be a UUID")))
    }

    pub(super) fn push(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_in_its_usual_spelling_only() {
        let mut params = Params::default();
        params.push("uuid", "6F2C1D3A-98B1-4C55-9D4E-0A1B2C3D4E5F".to_owned());
        params.push("bare", "6f2c1d3a98b14c559d4e0a1b2c3d4e5f".to_owned());
        assert_eq!(params.uuid("uuid").unwrap().to_string(), "6f2c1d3a-98b1-4c55-9d4e-0a1b2c3d4e5f");
        let failure = params.uuid("bare").unwrap_err();
        assert_eq!(failure.status, hyper::StatusCode::BAD_REQUEST);
        assert_eq!(failure.errors[0].attribute.as_deref(), Some("bare"));
    }
}
