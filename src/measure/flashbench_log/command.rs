//! A flashbench command line: what was asked for, in whatever order and spelling.

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Align,
    OpenAu,
    FindFat,
    /// Scatter, interval: their output is not read.
    Other,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Known(u64),
    /// A shell variable, by name.
    Variable(String),
    /// Anything that cannot be computed.
    Unknown,
}

/// The options that take a number and are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Blocksize,
    Erasesize,
    Count,
    OpenAuNr,
    FatNr,
    Offset,
    /// Takes a value that is of no interest.
    Ignored,
}

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Set(Field),
    Choose(Mode),
    Random,
    Nothing,
}

/// flashbench's long options and their effect (its `--help` and source; `--align` and `--interval`
/// are undocumented, `--findfat` is how people remember `--find-fat`).
const LONG: [(&str, Effect); 19] = [
    ("out", Effect::Set(Field::Ignored)),
    ("scatter", Effect::Choose(Mode::Other)),
    ("scatter-order", Effect::Set(Field::Ignored)),
    ("scatter-span", Effect::Set(Field::Ignored)),
    ("align", Effect::Choose(Mode::Align)),
    ("interval", Effect::Choose(Mode::Other)),
    ("interval-order", Effect::Set(Field::Ignored)),
    ("find-fat", Effect::Choose(Mode::FindFat)),
    ("findfat", Effect::Choose(Mode::FindFat)),
    ("fat-nr", Effect::Set(Field::FatNr)),
    ("open-au", Effect::Choose(Mode::OpenAu)),
    ("open-au-nr", Effect::Set(Field::OpenAuNr)),
    ("offset", Effect::Set(Field::Offset)),
    ("random", Effect::Random),
    ("verbose", Effect::Nothing),
    ("count", Effect::Set(Field::Count)),
    ("blocksize", Effect::Set(Field::Blocksize)),
    ("erasesize", Effect::Set(Field::Erasesize)),
    ("help", Effect::Nothing),
];

fn long_option(name: &str) -> Option<Effect> {
    // As getopt_long does: the exact name, else an abbreviation that only one effect fits.
    if let Some((_, effect)) = LONG.iter().find(|(long, _)| *long == name) {
        return Some(*effect);
    }
    if name.len() < 2 {
        return None;
    }
    let mut fitting = LONG.iter().filter(|(long, _)| long.starts_with(name));
    let (_, effect) = fitting.next()?;
    fitting.all(|(_, other)| other == effect).then_some(*effect)
}

fn short_option(letter: char) -> Option<Effect> {
    Some(match letter {
        'a' => Effect::Choose(Mode::Align),
        'O' => Effect::Choose(Mode::OpenAu),
        'f' => Effect::Choose(Mode::FindFat),
        's' | 'i' => Effect::Choose(Mode::Other),
        'r' => Effect::Random,
        'b' => Effect::Set(Field::Blocksize),
        'e' => Effect::Set(Field::Erasesize),
        'c' => Effect::Set(Field::Count),
        'o' => Effect::Set(Field::Ignored),
        'v' | 'p' => Effect::Nothing,
        _ => return None,
    })
}

/// A command line as far as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    pub mode: Option<Mode>,
    pub random: bool,
    pub device: Option<String>,
    pub blocksize: Option<Value>,
    pub erasesize: Option<Value>,
    pub count: Option<Value>,
    pub open_au_nr: Option<Value>,
    pub fat_nr: Option<Value>,
    pub offset: Option<Value>,
    awaiting: Option<Field>,
}

impl Command {
    /// Whether a word calls flashbench: any path, prompt or misspelling by up to two letters.
    pub(super) fn is_call(word: &str) -> bool {
        const NAME: &str = "flashbench";
        let name = word
            .rsplit(['/', '$', '#', ':'])
            .next()
            .unwrap_or_default()
            .trim_end_matches(".exe");
        if name.len() + 2 < NAME.len() || name.len() > NAME.len() + 2 || !name.starts_with('f') {
            return false;
        }
        edit_distance(name, NAME) <= 2
    }

    /// Whether the next word is the value of an option.
    pub(super) fn awaits_value(&self) -> bool {
        self.awaiting.is_some()
    }

    /// Take one word of the command line.
    pub(super) fn accept(&mut self, word: &str) {
        if let Some(field) = self.awaiting.take()
            && !is_option(word)
        {
            self.set(field, value(word));
        } else if let Some(long) = word.strip_prefix("--") {
            self.accept_long(long);
        } else if let Some(cluster) = word.strip_prefix('-') {
            // Mail programs turn `--random` into a dash and `random`.
            let name = cluster.split('=').next().unwrap_or_default();
            if name.len() >= 5 && long_option(name).is_some() {
                self.accept_long(cluster);
            } else {
                self.accept_cluster(cluster);
            }
        } else if word.starts_with('/') && self.device.is_none() {
            self.device = Some(word.to_owned());
        }
    }

    fn accept_long(&mut self, option: &str) {
        let (name, attached) = match option.split_once('=') {
            Some((name, text)) => (name, Some(text)),
            None => (option, None),
        };
        match long_option(name) {
            Some(Effect::Set(field)) => match attached {
                Some(text) => self.set(field, value(text)),
                None => self.awaiting = Some(field),
            },
            Some(effect) => self.apply(effect),
            None => {}
        }
    }

    fn accept_cluster(&mut self, cluster: &str) {
        for (at, letter) in cluster.char_indices() {
            match short_option(letter) {
                Some(Effect::Set(field)) => {
                    let attached = &cluster[at + letter.len_utf8()..];
                    if attached.is_empty() {
                        self.awaiting = Some(field);
                    } else {
                        self.set(field, value(attached.trim_start_matches('=')));
                    }
                    return;
                }
                Some(effect) => self.apply(effect),
                None => return,
            }
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Choose(mode) => self.mode = Some(mode),
            Effect::Random => self.random = true,
            Effect::Set(_) | Effect::Nothing => {}
        }
    }

    fn set(&mut self, field: Field, value: Value) {
        let slot = match field {
            Field::Blocksize => &mut self.blocksize,
            Field::Erasesize => &mut self.erasesize,
            Field::Count => &mut self.count,
            Field::OpenAuNr => &mut self.open_au_nr,
            Field::FatNr => &mut self.fat_nr,
            Field::Offset => &mut self.offset,
            Field::Ignored => return,
        };
        *slot = Some(value);
    }
}

/// Whether a word continues a command on the next line.
pub(super) fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let dashes = word.len() - name.len();
    (1..=2).contains(&dashes) && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn value(text: &str) -> Value {
    if let Ok(number) = text.parse() {
        return Value::Known(number);
    }
    let name = text.trim_start_matches("${").trim_start_matches('$');
    let name = name.trim_end_matches('}');
    if text.starts_with('$') && !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return Value::Variable(name.to_owned());
    }
    Value::Unknown
}

/// The number of letters to insert, delete or replace. For words of at most a dozen letters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replace = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Command {
        let mut command = Command::default();
        line.split(' ').for_each(|word| command.accept(word));
        command
    }

    #[test]
    fn options_are_read_in_any_order_and_spelling() {
        for line in [
            "-O --erasesize=4194304 --blocksize=16384 /dev/sdd --open-au-nr=3 --random",
            "/dev/sdd --open-au --random -e 4194304 --open-au-nr 3 -b 16384",
            "-Or -b16384 --erase=4194304 --open-au-n=3 /dev/sdd",
            "-open-au -random --blocksize 16384 --erasesize 4194304 --open-au-nr=3 /dev/sdd",
        ] {
            let command = read(line);
            assert_eq!(command.mode, Some(Mode::OpenAu), "{line}");
            assert!(command.random, "{line}");
            assert_eq!(command.erasesize, Some(Value::Known(4 << 20)), "{line}");
            assert_eq!(command.blocksize, Some(Value::Known(16384)), "{line}");
            assert_eq!(command.open_au_nr, Some(Value::Known(3)), "{line}");
            assert_eq!(command.device.as_deref(), Some("/dev/sdd"), "{line}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_computed_is_not_guessed() {
        let command = read("--open-au --open-au-nr=$i --erasesize=$ --blocksize=4M");
        assert_eq!(command.open_au_nr, Some(Value::Variable("i".to_owned())));
        assert_eq!(command.erasesize, Some(Value::Unknown));
        assert_eq!(command.blocksize, Some(Value::Unknown));
    }

    #[test]
    fn a_call_is_recognised_by_its_name() {
        for word in [
            "flashbench",
            "./flashbench",
            "flashbanch",
            "x:~/y$./flashbench",
            "Flashbench",
        ] {
            assert_eq!(Command::is_call(word), word != "Flashbench", "{word}");
        }
        for word in ["flash", "flashrom", "benchmark", "", "flashbench-results"] {
            assert!(!Command::is_call(word), "{word}");
        }
    }

    #[test]
    fn find_fat_has_two_spellings() {
        assert_eq!(read("--findfat --fat-nr=7").mode, Some(Mode::FindFat));
        assert_eq!(read("-f").mode, Some(Mode::FindFat));
        assert_eq!(read("--find-fat").mode, Some(Mode::FindFat));
    }
}
