//! A disk that takes no more: there is no backup, or nothing came back, and what was there is as it was.

use std::fs;

use taskyard_testkit::{Home, Ran, finishes};

use crate::backup::vault::{Vault, brought_back, files, home};

/// Runs a command where no file may grow beyond so many kilobytes, which stands for a full disk.
fn limited(home: &Home, kilobytes: usize, words: &str) -> Ran {
    let mut command = home.command(words).limited(&format!("ulimit -f {}", kilobytes * 2));
    finishes(move || command.run())
}

fn large_home() -> Home {
    let home = home();
    home.ask("create A");
    fs::write(home.list("L").join("large.txt"), vec![b'x'; 400_000]).unwrap();
    home
}

#[test]
fn backup_without_room_is_refused_and_older_one_kept() {
    let (home, vault) = (large_home(), Vault::new());
    for name in ["b", "b.tar"] {
        let path = vault.path(name);
        let ran = limited(&home, 100, &format!("backup {}", path.display()));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("cannot write") && ran.stderr.contains("hint"), "{ran:?}");
        assert!(!path.exists());
        home.ask(&format!("backup {}", path.display()));
        let ran = limited(&home, 100, &format!("backup {} --replace", path.display()));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(brought_back(&path).present(), home.present());
    }
    assert_eq!(vault.names(), ["b", "b.tar"]);
}

#[test]
fn what_does_not_fit_does_not_come_back_by_half() {
    let (home, vault) = (large_home(), Vault::new());
    let path = vault.path("b.tar");
    home.ask(&format!("backup {}", path.display()));
    let back = self::home();
    let words = format!("restore --from {}", path.display());
    let ran = limited(&back, 100, &words);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!back.list("L").exists(), "{ran:?}");
    back.ask(&words);
    assert_eq!(files(&back.list("L")), files(&home.list("L")));
}
