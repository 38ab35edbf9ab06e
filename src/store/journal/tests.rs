//! What a journal leaves on the disk, and what the next start reads of it.

use super::*;

const POSITIONS: [Position; 1] = [Position { volume: 0, file: 1, bytes: 20 }];

/// The directory of a store, with the journal in it.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        fs::create_dir(files.journal()).unwrap();
        files
    }

    fn journal(&self) -> PathBuf {
        Journal::directory(self.0.path())
    }

    fn replay(&self) -> JournalReplay {
        JournalReplay::of(self.journal()).unwrap()
    }

    fn begin(&self) -> Journal {
        Journal::begin(self.replay(), SyncFault::default(), &POSITIONS).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = files(&self.journal())
            .unwrap()
            .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn segment(&self, number: u64) -> PathBuf {
        path_of(&self.journal(), number)
    }

    /// A segment with the values as its groups; without an end, it is the one in use.
    fn write(&self, number: u64, values: &[&str], is_closed: bool) {
        let mut segment = Segment::begin(&self.journal(), number, None, &POSITIONS).unwrap();
        for value in values {
            let mut body = vec![segment::CHANGES];
            changes::push(&mut body, 0, b"key", Some(value.as_bytes()));
            segment.append(&body).unwrap();
        }
        if is_closed {
            segment.append(&[]).unwrap();
        }
    }

    /// The values, the number of groups and the damaged segments.
    fn read(&self) -> (Vec<String>, usize, Vec<PathBuf>) {
        let (mut values, mut damaged) = (Vec::new(), Vec::new());
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let take = |changes: Vec<RecordChange>| {
            values.extend(changes.iter().map(|change| text(change.value.as_deref().unwrap())));
            Ok(())
        };
        let groups = self.replay().read(|file, _| damaged.push(file.to_owned()), take).unwrap();
        (values, groups, damaged)
    }

    /// Flips a bit.
    fn damage(&self, number: u64, place: usize) {
        let mut bytes = fs::read(self.segment(number)).unwrap();
        bytes[place] ^= 1;
        fs::write(self.segment(number), bytes).unwrap();
    }

    fn retire(&self, number: u64, bytes: u64) {
        File::create(self.segment(number)).unwrap().set_len(bytes).unwrap();
        Closed(self.segment(number)).retire().unwrap();
    }
}

#[test]
fn each_segment_has_the_number_after_the_last() {
    let files = Files::new();
    let mut journal = files.begin();
    assert_eq!(files.names(), ["0000000000000001.log"]);
    journal.roll(&POSITIONS).unwrap();
    assert_eq!(files.names(), ["0000000000000001.log", "0000000000000002.log"]);
    journal.renew(&POSITIONS).unwrap();
    assert_eq!(files.names(), ["0000000000000003.log"]);
    journal.clear().unwrap();
    assert_eq!(files.names(), [""; 0]);
}

/// Else a spare could bring back the groups of its earlier use.
#[test]
fn a_number_in_use_by_a_spare_is_not_given_again() {
    let files = Files::new();
    files.write(7, &[], true);
    Closed(files.segment(7)).retire().unwrap();
    assert_eq!((files.replay().next, files.names()), (8, vec!["spare-0000000000000007.log".to_owned()]));
}

#[test]
fn two_retired_segments_are_kept_as_spares_unless_they_are_too_long() {
    let files = Files::new();
    files.retire(1, 2 * SEGMENT_BYTES + 1);
    assert_eq!(files.names(), [""; 0]);
    files.retire(2, SEGMENT_BYTES);
    files.retire(3, 2 * SEGMENT_BYTES);
    files.retire(4, SEGMENT_BYTES);
    assert_eq!(files.names(), ["spare-0000000000000002.log", "spare-0000000000000003.log"]);
}

#[test]
fn a_start_reads_the_segments_behind_the_last_gap() {
    let files = Files::new();
    files.write(1, &["obsolete"], true);
    files.write(3, &["a", "b"], true);
    files.write(4, &["c"], false);
    assert_eq!(files.read(), (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], 3, Vec::new()));
    assert_eq!(files.replay().next, 5);
}

/// For each case: whether all is there since the known positions, whether anything is there.
#[test]
fn a_look_tells_what_is_there_and_whether_all_of_it_is() {
    let look = |make: &dyn Fn(&Files)| {
        let files = Files::new();
        make(&files);
        let looked = files.replay().look().unwrap();
        (looked.positions.is_some(), looked.is_whole, looked.is_there, files.read().2.len())
    };
    assert_eq!(look(&|_| {}), (false, false, false, 0), "no journal");
    assert_eq!(look(&|files| files.write(1, &[], false)), (true, true, true, 0), "one that is begun");
    let closed_and_open = |files: &Files| {
        files.write(1, &["a"], true);
        files.write(2, &["b"], false);
    };
    assert_eq!(look(&closed_and_open), (true, true, true, 0));
    let without_end = |files: &Files| {
        files.write(1, &["a"], false);
        files.write(2, &["b"], false);
    };
    assert_eq!(look(&without_end), (true, false, true, 1), "the end of the first is missing");
    let damaged_first = |files: &Files| {
        closed_and_open(files);
        files.damage(1, 0);
    };
    assert_eq!(look(&damaged_first), (true, false, true, 1), "a heading is damaged, the positions follow it");
    let only_blank = |files: &Files| fs::write(files.segment(1), [0; 64]).unwrap();
    assert_eq!(look(&only_blank), (false, false, false, 0), "a file that a crash kept from being begun");
    let blank_behind = |files: &Files| {
        files.write(1, &["a"], true);
        fs::write(files.segment(2), [0; 64]).unwrap();
    };
    assert_eq!(look(&blank_behind), (true, true, true, 0));
    let blank_before = |files: &Files| {
        fs::write(files.segment(1), [0; 64]).unwrap();
        files.write(2, &["b"], false);
    };
    assert_eq!(look(&blank_before), (false, false, true, 1), "the positions are unknown");
}

#[test]
fn a_damaged_segment_is_copied_beside_the_journal() {
    let files = Files::new();
    files.write(1, &["a"], false);
    assert_eq!(set_aside(files.0.path()), [""; 0]);
    files.replay().set_aside(&files.segment(1), 9);
    assert_eq!(set_aside(files.0.path()), ["0000000000000001.log"]);
    let copy = replay::aside(files.0.path()).join("0000000000000001.log");
    assert_eq!(fs::read(copy).unwrap(), fs::read(files.segment(1)).unwrap());
}

#[test]
fn a_journal_without_a_segment_is_gone() {
    let files = Files::new();
    assert!(is_gone(files.0.path()));
    let mut journal = files.begin();
    assert!(!is_gone(files.0.path()));
    journal.clear().unwrap();
    assert!(is_gone(files.0.path()));
}

#[test]
fn nothing_is_appended_to_a_segment_that_is_gone() {
    let files = Files::new();
    let mut journal = files.begin();
    let elsewhere = files.journal().join("elsewhere");
    fs::rename(files.segment(1), &elsewhere).unwrap();
    assert!(journal.append(&[]).is_err());
    fs::rename(&elsewhere, files.segment(1)).unwrap();
    assert!(journal.append(&[]).is_ok());
}

#[test]
fn a_segment_of_another_format_is_damage() {
    let files = Files::new();
    files.write(1, &[], false);
    let mut heading = fs::read(files.segment(1)).unwrap()[..8].to_vec();
    heading[7] += 1;
    fs::write(files.segment(1), heading).unwrap();
    assert_eq!(files.read(), (Vec::new(), 0, vec![files.segment(1)]));
}
