use super::*;

fn mib(n: u64) -> Bytes {
    Bytes::mib(n)
}

#[test]
fn tags_stand_at_powers_of_two_from_the_base_and_at_the_end() {
    let found = places(Bytes::gib(1), Bytes(4096));
    let distances: Vec<u64> = found[1..found.len() - 1]
        .iter()
        .map(|at| (at.get() - BASE.get()) >> 20)
        .collect();
    assert_eq!(distances, [16, 32, 64, 128, 256, 512]);
    assert_eq!(found.last(), Some(&Bytes((1 << 30) - 4096)));
    // However large the claim, few writes.
    assert!(places(Bytes(2_000_000_000_000), Bytes(4096)).len() <= 16);
    assert!(found.is_sorted());
}

#[test]
fn the_tags_tell_a_wrap_from_a_loss() {
    let places = [mib(1), mib(17), mib(33), mib(65), mib(1000)];
    let judge = |kept: &[Option<usize>]| Refuted::of(&places, kept);
    let all = [Some(0), Some(1), Some(2), Some(3), Some(4)];
    assert_eq!(judge(&all), None);
    assert_eq!(
        judge(&[Some(0), Some(1), None, None, None]),
        Some(Refuted::Lost {
            low: mib(17),
            high: mib(33)
        })
    );
    // The base holds the tag of the last place that is the same flash.
    assert_eq!(
        judge(&[Some(3), Some(1), Some(3), Some(3), Some(4)]),
        Some(Refuted::Wraps {
            low: mib(1),
            high: mib(65)
        })
    );
}
