//! In the place of a todo list.

use std::fs::{self, File};

use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

const SESSION: &str = "4ad28a0a-1a74-428b-a505-64f885db5f79";

#[test]
fn it_is_neither_read_nor_replaced() {
    for kind in StrangeFile::ALL {
        let good = format!(r#"[{{"content":"{SECRET}","status":"pending","activeForm":"x"}}]"#);
        let site = Site::new(&good).env("CLAUDE_CODE_SESSION_ID", SESSION).env("TASKYARD_AGENT", "bob");
        let path = site.home.path().join(format!(".claude/todos/{SESSION}-agent-bob.json"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        let read = site.refused("todo read", 1, &path, called);
        assert!(!read.contains(SECRET));
        let list = site.home.path().join("list");
        fs::write(&list, r#"[{"content":"a","status":"pending","activeForm":"b"}]"#).unwrap();
        let written = site.run_with("todo write", File::open(&list).unwrap().into());
        assert!(written.code == Some(1) && written.stderr.contains(called), "{kind:?}: {written:?}");
        assert!(fs::symlink_metadata(&path).is_ok());
        site.good_run("create A");
        site.check();
    }
}
