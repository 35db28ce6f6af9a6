//! Converts results of imports and exports into the answers that programs receive.

use std::path::Path;

use taskyard_core::answers::list_answers::{Exported, ImportCounts, Imported, MappedWord, NotCarried};
use taskyard_core::dialect::foreign;
use taskyard_core::dialect::foreign::{ExportFormat, Loss, Mapping};

use crate::interchange::Written;
use crate::operations;
use crate::operations::Source;

/// Returns the result of an export: its path, or its text if it was not saved. A dry run has neither.
pub fn exported<'a>(
    exported: &'a operations::Exported,
    to: ExportFormat,
    path: Option<&Path>,
    dry_run: bool,
) -> Exported<'a> {
    Exported {
        to: to.as_str(),
        path: path.map(|path| path.display().to_string()),
        count: exported.count,
        lost: not_carried(&exported.losses),
        text: match &exported.written {
            Written::File(text) | Written::Document(text) if path.is_none() && !dry_run => Some(text),
            _ => None,
        },
    }
}

/// Returns the result of an import.
pub fn imported<'a>(
    report: &'a operations::ImportReport,
    imported: &'a foreign::Imported,
    source: &'a Source,
    dry_run: bool,
) -> Imported<'a> {
    fn mapped<'a>((one, count): (&'a Mapping, &usize)) -> MappedWord<'a> {
        MappedWord { field: one.field, from: &one.from, to: one.to, count: *count }
    }
    let plan = &report.plan;
    Imported {
        from: source.format.as_str(),
        source: &source.name,
        dry_run,
        counts: ImportCounts {
            created: plan.created.len(),
            updated: plan.updated.len(),
            unchanged: plan.unchanged.len(),
        },
        mapping: plan.mapping.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect(),
        mapped: imported.mapped.iter().map(mapped).collect(),
        lost: not_carried(&plan.losses),
        revision: report.revision.map(|revision| revision.0),
    }
}

fn not_carried(losses: &[Loss]) -> Vec<NotCarried<'_>> {
    losses.iter().map(|Loss { of, what }| NotCarried { of, what }).collect()
}
