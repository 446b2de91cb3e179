//! Single keys from a terminal, and its modes as they were afterwards.

use crate::wizard::Key;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use nix::unistd::read;
use std::cell::Cell;
use std::io::{self, Stdin};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// How soon a signal is noticed that comes between looking and waiting, in milliseconds.
const LOOK: u16 = 100;

/// Behind an Esc the rest of a key such as an arrow follows within this time, in milliseconds, also
/// over a serial line of 1200 baud with 8 ms for each character.
const SEQUENCE: u16 = 40;

/// stdin, one key at a time, without echo. The modes are those of before when this is dropped.
pub(super) struct Keys<'a> {
    stdin: Stdin,
    /// `None` when it is no terminal: then bytes come as they are.
    before: Option<Termios>,
    interrupted: &'a AtomicBool,
    closed: Cell<bool>,
}

impl Keys<'_> {
    /// From now on. `afresh`: what was typed before is thrown away.
    pub(super) fn grab(interrupted: &AtomicBool, afresh: bool) -> Keys<'_> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin).ok();
        if let Some(before) = &before {
            let mut modes = before.clone();
            // Ctrl-C and the like come as keys, so that no second one kills the program before the
            // modes are back.
            modes
                .local_flags
                .remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
            modes.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
            modes.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
            let when = if afresh {
                SetArg::TCSAFLUSH
            } else {
                SetArg::TCSADRAIN
            };
            // A terminal that refuses is read in its own modes, line by line.
            let _ = tcsetattr(&stdin, when, &modes);
        }
        Keys {
            stdin,
            before,
            interrupted,
            closed: Cell::new(false),
        }
    }

    /// Whether the input is at its end for good.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// The next key.
    pub(super) fn next(&self) -> Key {
        match self.byte() {
            Err(key) => key,
            Ok(b'\r' | b'\n') => Key::Enter,
            // Ctrl-C and Ctrl-\.
            Ok(3 | 28) => Key::Interrupt,
            // Ctrl-D.
            Ok(4) => Key::End,
            Ok(8 | 127) => Key::Erase,
            Ok(27) => self.escape(),
            Ok(byte @ b' '..=b'~') => Key::Char(char::from(byte)),
            // Control characters, and bytes of characters beyond ASCII: no name of a device has them.
            Ok(_) => Key::Other,
        }
    }

    /// Esc alone, or the beginning of another key, whose rest is thrown away.
    fn escape(&self) -> Key {
        if !self.comes_within(SEQUENCE) {
            return Key::Escape;
        }
        // CSI or SS3, parameters, and a final byte (ECMA-48 5.4).
        let mut is_first = true;
        while self.comes_within(SEQUENCE) {
            match self.byte() {
                Ok(b'[' | b'O') if is_first => {}
                Ok(b' '..=b'?') => {}
                _ => break,
            }
            is_first = false;
        }
        Key::Other
    }

    /// The next byte, or what comes instead.
    fn byte(&self) -> Result<u8, Key> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Key::Interrupt);
            }
            if self.comes_within(LOOK) {
                break;
            }
        }
        let mut byte = [0];
        match read(&self.stdin, &mut byte) {
            Ok(1) => Ok(byte[0]),
            Err(Errno::EINTR | Errno::EAGAIN) => Err(Key::Other),
            // A terminal that was hung up reads as its end, or fails.
            Ok(_) | Err(_) => {
                self.closed.set(true);
                Err(Key::End)
            }
        }
    }

    /// Whether there is something to read, or the end, within this many milliseconds.
    fn comes_within(&self, milliseconds: u16) -> bool {
        let mut wanted = [PollFd::new(self.stdin.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut wanted, PollTimeout::from(milliseconds)), Ok(1..))
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs no modes.
            let _ = tcsetattr(&self.stdin, SetArg::TCSADRAIN, before);
        }
    }
}
