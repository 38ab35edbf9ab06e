//! The store against a map: after any commits in any groups, both have the same content.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const TREES_USED: [Tree; 2] = [Tree::Templates, Tree::Companies];
const COMPANY: Uuid = Uuid::from_u128(9);

/// A record by its place in [`TREES_USED`] and its key.
type Place = (usize, u8);

#[derive(Debug, Clone)]
enum Step {
    Absent(Place),
    UnlessRecent(Place, i64),
    Put(Place, i64, bool),
    Remove(Place),
    Append,
}

#[derive(Default)]
struct Model {
    records: BTreeMap<Place, Vec<u8>>,
    happenings: usize,
}

fn payload(time_ms: i64, large: bool) -> Vec<u8> {
    let mut payload = time_ms.to_be_bytes().to_vec();
    payload.resize(if large { 2 * 6_000 + 77 } else { 12 }, time_ms as u8);
    payload
}

fn commit(steps: &[Step]) -> Commit {
    steps.iter().fold(Commit::new(), |commit, step| match *step {
        Step::Absent((tree, key)) => commit.absent(TREES_USED[tree], [key]),
        Step::UnlessRecent((tree, key), since_ms) => commit.unless_recent(TREES_USED[tree], [key], since_ms),
        Step::Put((tree, key), time_ms, large) => {
            commit.put(TREES_USED[tree], [key], payload(time_ms, large))
        }
        Step::Remove((tree, key)) => commit.remove(TREES_USED[tree], [key]),
        Step::Append => commit.append(Tree::LeadEvents, COMPANY, "happening"),
    })
}

impl Model {
    fn commit(&mut self, steps: &[Step]) -> CommitResult {
        let guards = steps.iter().filter_map(|step| match *step {
            Step::Absent(place) => Some((place, i64::MIN)),
            Step::UnlessRecent(place, since_ms) => Some((place, since_ms)),
            _ => None,
        });
        for (index, (place, since_ms)) in guards.enumerate() {
            if let Some(found) = self.records.get(&place) {
                let time_ms = i64::from_be_bytes(*found.first_chunk().unwrap());
                if time_ms >= since_ms {
                    return Err(CommitError::Guard { index, found: found.clone() });
                }
            }
        }
        for step in steps {
            match *step {
                Step::Put(place, time_ms, large) => drop(self.records.insert(place, payload(time_ms, large))),
                Step::Remove(place) => drop(self.records.remove(&place)),
                Step::Append => self.happenings += 1,
                Step::Absent(_) | Step::UnlessRecent(..) => {}
            }
        }
        Ok(())
    }
}

fn assert_same(store: &Store, model: &Model) {
    let mut stored = BTreeMap::new();
    for (index, tree) in TREES_USED.into_iter().enumerate() {
        for entry in store.scan(tree, "") {
            let (key, payload) = entry.unwrap();
            assert_eq!(store.payload(tree, &key).as_ref(), Some(&payload));
            stored.insert((index, key[0]), payload);
        }
    }
    assert!(stored == model.records, "the store and the model differ");
    let feed = store.feed(COMPANY);
    assert_eq!(feed.len(), model.happenings);
    assert!(feed.is_sorted_by(|earlier, later| earlier.arrival_us < later.arrival_us));
    assert!(store.check().unwrap().is_sound());
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..TREES_USED.len(), 0..4_u8);
    prop_oneof![
        1 => place().prop_map(Step::Absent),
        1 => (place(), 0..50_i64).prop_map(|(place, since_ms)| Step::UnlessRecent(place, since_ms)),
        4 => (place(), 0..50_i64, prop::bool::weighted(0.3)).prop_map(|(p, time, large)| Step::Put(p, time, large)),
        2 => place().prop_map(Step::Remove),
        1 => Just(Step::Append),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(20) })]

    #[test]
    fn the_store_tells_what_a_map_tells(groups in vec(vec(vec(step(), 0..5), 1..6), 1..12)) {
        let directory = directory();
        let mut model = Model::default();
        {
            let store = inline(&directory);
            for group in &groups {
                let commits: Vec<Commit> = group.iter().map(|steps| commit(steps)).collect();
                let expected: Vec<CommitResult> = group.iter().map(|steps| model.commit(steps)).collect();
                prop_assert_eq!(store.commit_group(&commits), expected);
            }
            assert_same(&store, &model);
        }
        assert_same(&inline(&directory), &model);
    }
}
