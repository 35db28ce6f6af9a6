//! Test helper: the defects of tasks in words.

use std::collections::HashSet;

use super::{Defect, FindingCode, examine};
use crate::Task;

/// Returns every defect: its code, its message and a description of its repair.
pub(crate) fn told(tasks: &[Task]) -> Vec<(FindingCode, String, String)> {
    let words =
        |defect: Defect| (defect.code, defect.message, defect.mend.map(|mend| mend.describe()).unwrap_or_default());
    examine(tasks, &HashSet::new()).into_iter().map(words).collect()
}

/// Returns the only defect, and panics if there are none or several.
pub(crate) fn one(tasks: &[Task]) -> (FindingCode, String, String) {
    let mut told = told(tasks);
    assert_eq!(told.len(), 1, "{told:?}");
    told.remove(0)
}
