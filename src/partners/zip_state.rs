//! Maps a postal code to its state by the first three digits; some border offices are the neighbour's.

use offerd_model::State::{self, *};
use offerd_model::Zipcode;

/// First and last three-digit prefix, and the state, without the armed forces and islands that `State` lacks.
#[rustfmt::skip]
const PREFIXES: &[(u16, u16, State)] = &[
    (5, 5, Ny), (6, 7, Pr), (8, 8, Vi), (9, 9, Pr), (10, 27, Ma), (28, 29, Ri), (30, 38, Nh), (39, 49, Me),
    (50, 54, Vt), (55, 55, Ma), (56, 59, Vt), (60, 69, Ct), (70, 89, Nj), (100, 149, Ny), (150, 196, Pa),
    (197, 199, De), (200, 200, Dc), (201, 201, Va), (202, 205, Dc), (206, 219, Md), (220, 246, Va),
    (247, 268, Wv), (270, 289, Nc), (290, 299, Sc), (300, 319, Ga), (320, 339, Fl), (341, 349, Fl),
    (350, 369, Al), (370, 385, Tn), (386, 397, Ms), (398, 399, Ga), (400, 427, Ky), (430, 459, Oh),
    (460, 479, In), (480, 499, Mi), (500, 528, Ia), (530, 549, Wi), (550, 567, Mn), (569, 569, Dc),
    (570, 577, Sd), (580, 588, Nd), (590, 599, Mt), (600, 629, Il), (630, 658, Mo), (660, 679, Ks),
    (680, 693, Ne), (700, 714, La), (716, 729, Ar), (730, 732, Ok), (733, 733, Tx), (734, 749, Ok),
    (750, 799, Tx), (800, 816, Co), (820, 831, Wy), (832, 838, Id), (840, 847, Ut), (850, 865, Az),
    (870, 884, Nm), (885, 885, Tx), (889, 898, Nv), (900, 961, Ca), (967, 968, Hi), (970, 979, Or),
    (980, 994, Wa), (995, 999, Ak),
];

/// The state of a postal code.
pub fn state_of(zipcode: &Zipcode) -> Option<State> {
    let prefix: u16 = zipcode.five_digits()[..3].parse().ok()?;
    PREFIXES.iter().find(|(first, last, _)| (*first..=*last).contains(&prefix)).map(|(_, _, state)| *state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_stand_in_order_and_every_state_has_one() {
        assert!(PREFIXES.is_sorted_by(|one, two| one.1 < two.0));
        for state in State::ALL {
            assert!(PREFIXES.iter().any(|(_, _, known)| known == state), "{state}");
        }
    }

    #[test]
    fn the_first_digits_tell_the_state() {
        let state = |zipcode| state_of(&Zipcode::parse(zipcode).unwrap());
        assert_eq!((state("94105-1804"), state("00501"), state("09001")), (Some(Ca), Some(Ny), None));
    }
}
