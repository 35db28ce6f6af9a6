//! Restores the contents of a backup, without overwriting anything.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard_core::rules::changes::numbering::read_mark;
use taskyard_core::{ListId, Revision, TaskId};

use super::{BackedUpList, BackupError, BackupSource};
use crate::backup::backup_contents::{Copies, Files, copies_of, has_something, task_of, tidy};
use crate::backup::taking_backup::Keeper;
use crate::failpoint::reach;
use crate::machine::Machine;
use crate::opening::{Address, Places};
use crate::operations::{CopiesRestored, CopiesWanted};
use crate::private::make_directory;
use crate::sqlite::Alone;
use crate::store::{ArrivingList, FileLayout};
use crate::teams::{MovedTeam, take_team_memory};
use crate::{Outcome, Yard};

/// Parameters of a restore.
#[derive(Debug)]
pub struct BringBack<'a> {
    /// The store and the acting agent.
    pub yard: &'a Yard,
    /// The address of the store.
    pub address: &'a Address,
    /// Paths on this machine.
    pub places: &'a Places,
    /// The backup.
    pub source: &'a BackupSource,
    /// Which tasks to restore to lists that exist.
    pub wanted: CopiesWanted,
}

/// What to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Everything: lists, teams, and the bindings of directories to lists.
    Everything,
    /// One list.
    List(ListId),
    /// Some tasks of one list.
    Tasks(ListId, Vec<TaskId>),
}

/// What was restored, or would be in a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BroughtBack {
    /// The lists, sorted by name.
    pub lists: Vec<ListBroughtBack>,
    /// The restored teams.
    pub teams: Vec<String>,
    /// The teams that exist already and are unchanged.
    pub teams_there: Vec<String>,
    /// The directories that were bound to their lists again.
    pub bindings: Vec<PathBuf>,
}

/// What was restored of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBroughtBack {
    /// Its name.
    pub list: ListId,
    /// Whether the list did not exist and was restored completely.
    pub whole: bool,
    /// Whether its history was restored.
    pub history: bool,
    /// The result for its tasks; all of them if the list was restored completely.
    pub tasks: CopiesRestored,
    /// The other files that were restored.
    pub files: Vec<String>,
}

/// Restores what was asked for. A refusal means that a named task cannot be restored, and nothing has happened.
pub fn bring_back(
    what: &BringBack<'_>,
    wish: &Wish,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<BroughtBack>, BackupError> {
    let (site, lists) = prepare(what, wish)?;
    let _alone = site.lock()?;
    let back = site.bring(&lists, wish, progress);
    // Clean up even after a failure. Anything left is removed by the next restore.
    if let Err(error) = site.tidy() {
        tracing::warn!(%error, "what was unpacked is left");
    }
    match back {
        Err(cause) if site.has_come.get() => Err(BackupError::Unfinished { cause: Box::new(cause) }),
        back => back,
    }
}

/// Returns what would be restored, without changing anything.
pub fn look_at_backup(what: &BringBack<'_>, wish: &Wish) -> Result<BroughtBack, BackupError> {
    let (site, lists) = prepare(what, wish)?;
    let _alone = site.lock()?;
    let mut back = BroughtBack::default();
    for list in &lists {
        site.tidy()?;
        back.lists.push(site.look_at_list(list, wish)?);
    }
    if *wish == Wish::Everything {
        (back.teams, back.teams_there) = site.teams_gone_and_there();
    }
    site.tidy()?;
    Ok(back)
}

/// Imports a list that moves here, with the token of its move. Returns false if a list of that name exists; nothing has
/// happened then.
pub(super) fn take_in_whole(
    what: &BringBack<'_>,
    list: &ListId,
    token: &str,
    progress: &dyn Fn(Revision),
) -> Result<bool, BackupError> {
    let (site, lists) = prepare(what, &Wish::List(list.clone()))?;
    let _alone = site.lock()?;
    let came = site.bring_whole(lists[0], list, token, progress);
    site.tidy()?;
    came
}

/// Writes the task files of a list that has arrived, as far as the moving process had not done so yet.
pub(super) fn bring_what_is_missing(what: &BringBack<'_>, list: &ListId) -> Result<(), BackupError> {
    let (site, lists) = prepare(what, &Wish::List(list.clone()))?;
    let Keeper::Files(_) = site.keeper else { return Ok(()) };
    let _alone = site.lock()?;
    site.tidy_place(list)?;
    if what.yard.store().read(list)?.revision().0 == lists[0].revision {
        return site.put_files(lists[0], list);
    }
    // A reader has recorded the files as missing. They are restored like files that another program removed.
    let copies = site.copies(lists[0], list, &Wish::List(list.clone()))?;
    let restored = what.yard.on(list.clone()).restore_copies(&copies.tasks, what.wanted);
    site.tidy()?;
    restored?;
    Ok(())
}

fn prepare<'a>(what: &'a BringBack<'a>, wish: &Wish) -> Result<(Site<'a>, Vec<&'a BackedUpList>), BackupError> {
    let manifest = what.source.manifest();
    let (wanted, keeper) = Keeper::of(what.yard.store(), what.address)?;
    if wanted != manifest.dialect {
        let (found, wanted) = (manifest.dialect.to_string(), wanted.to_string());
        return Err(BackupError::OtherDialect { found, wanted });
    }
    let data = what.places.data.clone().ok_or(BackupError::NoFiles)?;
    let lists = match wish {
        Wish::Everything => manifest.lists.iter().collect(),
        Wish::List(name) | Wish::Tasks(name, _) => {
            let list = manifest.lists.iter().find(|list| list.list == name.as_str());
            let list = list.or_else(|| manifest.lists.iter().find(|list| list.list == name.directory()));
            vec![list.ok_or_else(|| BackupError::NoSuchList { list: name.to_string() })?]
        }
    };
    let scratch = data.join("lists").join(SCRATCH);
    Ok((Site { what, keeper, data, scratch, has_come: Cell::new(false) }, lists))
}

/// The folder in our data directory for unpacked files.
const SCRATCH: &str = ".restoring-scratch";

/// The destination of a restore.
struct Site<'a> {
    what: &'a BringBack<'a>,
    keeper: Keeper<'a>,
    data: PathBuf,
    scratch: PathBuf,
    /// Whether any task was restored yet.
    has_come: Cell<bool>,
}

impl Site<'_> {
    /// Waits until no other process is restoring to this data directory.
    fn lock(&self) -> Result<Alone, BackupError> {
        let lists = self.data.join("lists");
        crate::private::make_data_directory(&self.data).map_err(BackupError::io("cannot create", &self.data))?;
        make_directory(&lists).map_err(BackupError::io("cannot create", &lists))?;
        Ok(Alone::in_directory(&lists)?)
    }

    /// Removes unpacked files, ours or those of a process that died.
    fn tidy(&self) -> Result<(), BackupError> {
        match fs::remove_dir_all(&self.scratch) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(BackupError::io("cannot remove", &self.scratch)(error))
            }
            _ => Ok(()),
        }
    }

    /// Unpacks a file of the backup under a given name into a private folder, and returns the folder.
    fn unpack(&self, file: &str, name: &str) -> Result<PathBuf, BackupError> {
        let folder = self.scratch.join("unpacked");
        make_directory(&folder).map_err(BackupError::io("cannot create", &folder))?;
        self.what.source.extract(file, &folder.join(name))?;
        Ok(folder)
    }

    fn bring(
        &self,
        lists: &[&BackedUpList],
        wish: &Wish,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Outcome<BroughtBack>, BackupError> {
        let mut back = BroughtBack::default();
        for (place, list) in lists.iter().enumerate() {
            progress(place, lists.len());
            self.tidy()?;
            match self.bring_list(list, wish)? {
                Outcome::Done(list) => back.lists.push(list),
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            }
            reach("restore: a list is back");
        }
        progress(lists.len(), lists.len());
        if *wish == Wish::Everything {
            self.tidy()?;
            self.bring_teams(&mut back)?;
            reach("restore: teams are back");
            back.bindings = self.bring_bindings()?;
        }
        Ok(Outcome::Done(back))
    }

    fn bring_list(&self, list: &BackedUpList, wish: &Wish) -> Result<Outcome<ListBroughtBack>, BackupError> {
        let name = name_of(list)?;
        let mut back = ListBroughtBack { history: false, whole: false, ..nothing(&name) };
        let is_everything = !matches!(wish, Wish::Tasks(..));
        // A database has no lists of which only the history is left.
        if !list.exists && matches!(self.keeper, Keeper::Shared(_)) {
            return Ok(Outcome::Done(back));
        }
        self.tidy_place(&name)?;
        if list.journal && is_everything {
            // Restore the history before the files: `restore` can bring back a list that has a history but no files.
            back.history = self.take_in(list, &name, None, &|_| ())?;
        }
        if !list.exists {
            return Ok(Outcome::Done(back));
        }
        let is_new = back.history || !list.journal;
        if is_everything && is_new && self.put_whole(list, &name, back.history)? {
            back.whole = true;
            self.has_come.set(true);
            let there = self.what.yard.store().read(&name)?;
            back.tasks.tasks = there.tasks()?;
            if !self.has_more_files(list, back.tasks.tasks.len() + there.problems()?.len()) {
                return Ok(Outcome::Done(back));
            }
        }
        let copies = self.copies(list, &name, wish)?;
        let yard = self.what.yard.on(name);
        let restored = match wish {
            Wish::Tasks(..) => yard.restore_named_copies(&copies.tasks, self.what.wanted)?,
            Wish::Everything | Wish::List(_) => yard.restore_copies(&copies.tasks, self.what.wanted)?,
        };
        match restored {
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            Outcome::Done(restored) => back.tasks = restored,
        }
        self.has_come.set(self.has_come.get() || back.tasks.revision.is_some());
        let Keeper::Files(care) = self.keeper else { return Ok(Outcome::Done(back)) };
        let (folder, place) = (files_folder(list), care.place_of(&back.list));
        let files = self.files(list, &folder);
        for other in copies.others {
            tidy(&place.join(&other))?;
            if files.put_file(&other, &place.join(&other))? {
                back.files.push(other);
            }
        }
        Ok(Outcome::Done(back))
    }

    /// Imports the history of a list, and in a database also its tasks. Returns false if a list of that name exists.
    fn take_in(
        &self,
        list: &BackedUpList,
        name: &ListId,
        token: Option<&str>,
        progress: &dyn Fn(Revision),
    ) -> Result<bool, BackupError> {
        let folder = self.unpack(&format!("{}/journal.sqlite", list.folder), "journal.sqlite")?;
        let mark = format!("{}/{MARK}", files_folder(list));
        let mark = if self.what.source.has(&mark) { self.what.source.read(&mark)? } else { Vec::new() };
        let mark = read_mark(&String::from_utf8_lossy(&mark));
        let arriving = ArrivingList { journal: &folder.join("journal.sqlite"), mark, token, progress };
        Ok(self.keeper.take_in(name, &arriving)?)
    }

    /// Writes the files of a list that has none. Returns whether it did; a database has its tasks with the history.
    fn put_whole(&self, list: &BackedUpList, name: &ListId, has_history: bool) -> Result<bool, BackupError> {
        let Keeper::Files(care) = self.keeper else { return Ok(has_history) };
        let (folder, place) = (files_folder(list), care.place_of(name));
        let files = self.files(list, &folder);
        if care.layout() != FileLayout::OneFile {
            return files.put_folder(&place);
        }
        let first = self.what.source.files_in(&folder).next();
        first.map_or(Ok(false), |name| files.put_file(name, &place))
    }

    /// Returns whether a list in a database lacks tasks that the journal in the backup did not know.
    fn has_more_files(&self, list: &BackedUpList, tasks: usize) -> bool {
        let folder = files_folder(list);
        let files = self.what.source.files_in(&folder).filter(|name| task_of(name).is_some()).count();
        matches!(self.keeper, Keeper::Shared(_)) && files > tasks
    }

    /// Imports a list that moves here, if no list of that name exists. Returns whether it did.
    fn bring_whole(
        &self,
        list: &BackedUpList,
        name: &ListId,
        token: &str,
        progress: &dyn Fn(Revision),
    ) -> Result<bool, BackupError> {
        self.tidy()?;
        self.tidy_place(name)?;
        if let Keeper::Files(care) = self.keeper
            && has_tasks(&care.place_of(name))
        {
            return Ok(false);
        }
        if !self.take_in(list, name, Some(token), progress)? {
            return Ok(false);
        }
        self.has_come.set(true);
        reach("move: arrived");
        self.put_files(list, name)?;
        Ok(true)
    }

    /// Writes those files of an arrived list that are missing.
    fn put_files(&self, list: &BackedUpList, name: &ListId) -> Result<(), BackupError> {
        let Keeper::Files(care) = self.keeper else { return Ok(()) };
        let (folder, place) = (files_folder(list), care.place_of(name));
        let files = self.files(list, &folder);
        if files.put_folder(&place)? {
            return Ok(());
        }
        for file in self.what.source.files_in(&folder) {
            files.put_file(file, &place.join(file))?;
        }
        Ok(())
    }

    /// Removes what a process that died left next to a list.
    fn tidy_place(&self, name: &ListId) -> Result<(), BackupError> {
        match self.keeper {
            Keeper::Files(care) => tidy(&care.place_of(name)),
            Keeper::Shared(_) => Ok(()),
        }
    }

    fn look_at_list(&self, list: &BackedUpList, wish: &Wish) -> Result<ListBroughtBack, BackupError> {
        let name = name_of(list)?;
        let is_everything = !matches!(wish, Wish::Tasks(..));
        let (has_memory, has_place) = match self.keeper {
            Keeper::Files(care) => (care.has_memory(&name), has_something(&care.place_of(&name))),
            Keeper::Shared(_) => [self.what.yard.store().has(&name)?; 2].into(),
        };
        let mut back = ListBroughtBack { history: is_everything && list.journal && !has_memory, ..nothing(&name) };
        if !list.exists {
            return Ok(back);
        }
        let is_new = back.history || !list.journal;
        back.whole = is_everything && is_new && !has_place;
        let copies = self.copies(list, &name, wish)?;
        back.tasks = match back.whole {
            true => {
                let tasks = copies.tasks.into_iter().map(|copy| copy.task).collect();
                CopiesRestored { tasks, ..CopiesRestored::default() }
            }
            false => self.what.yard.on(name).look_at_copies(&copies.tasks, self.what.wanted)?,
        };
        Ok(back)
    }

    fn copies(&self, list: &BackedUpList, name: &ListId, wish: &Wish) -> Result<Copies, BackupError> {
        let mut copies = copies_of(self.what.source, list, name, &self.scratch)?;
        let Wish::Tasks(_, ids) = wish else { return Ok(copies) };
        copies.others.clear();
        let names: Vec<TaskId> = ids.iter().map(|id| TaskId::stored(id.file_stem())).collect();
        if let Some(missing) = names.iter().find(|id| copies.tasks.iter().all(|copy| copy.task.id != **id)) {
            return Err(BackupError::NoSuchTask { list: list.list.clone(), task: missing.clone() });
        }
        copies.tasks.retain(|copy| names.contains(&copy.task.id));
        Ok(copies)
    }

    fn files<'b>(&'b self, list: &'b BackedUpList, folder: &'b str) -> Files<'b> {
        Files { source: self.what.source, folder, modes: &list.modes }
    }

    fn teams_gone_and_there(&self) -> (Vec<String>, Vec<String>) {
        let Some(root) = self.what.address.teams_directory(self.what.places) else { return Default::default() };
        let names = self.what.source.manifest().teams.iter().map(|team| team.team.clone());
        names.filter(|name| is_plain(name)).partition(|name| !has_something(&root.join(name)))
    }

    fn bring_teams(&self, back: &mut BroughtBack) -> Result<(), BackupError> {
        let (gone, there) = self.teams_gone_and_there();
        let Some(root) = self.what.address.teams_directory(self.what.places) else { return Ok(()) };
        for name in gone.iter().chain(&there) {
            tidy(&root.join(name))?;
        }
        back.teams_there = there;
        let manifest = self.what.source.manifest();
        // Restore our records before the files: a team without files does not count as a team, and an existing team is
        // not restored again.
        if let Some(was) = manifest.teams_place.as_deref().filter(|_| !gone.is_empty())
            && self.what.source.has(TEAMS)
        {
            let now = fs::canonicalize(&root).unwrap_or_else(|_| root.clone());
            let moved = |name: &String| MovedTeam {
                from: Path::new(was).join(name).display().to_string(),
                to: now.join(name).display().to_string(),
            };
            let folder = self.unpack(TEAMS, TEAMS)?;
            take_team_memory(&self.data, &folder, &gone.iter().map(moved).collect::<Vec<_>>())?;
            reach("restore: what is remembered of teams is back");
        }
        for name in gone {
            let team = manifest.teams.iter().find(|team| team.team == name);
            let Some(team) = team else { continue };
            let folder = format!("teams/{name}");
            let files = Files { source: self.what.source, folder: &folder, modes: &team.modes };
            if files.put_folder(&root.join(&name))? { back.teams.push(name) } else { back.teams_there.push(name) }
        }
        Ok(())
    }

    /// Restores the bindings of directories to lists. Trust in directories, setup and jobs belong to the machine on
    /// which the backup was made, and are not restored.
    fn bring_bindings(&self) -> Result<Vec<PathBuf>, BackupError> {
        if !self.what.source.has(MACHINE) {
            return Ok(Vec::new());
        }
        let folder = self.unpack(MACHINE, MACHINE)?;
        let Some(copy) = Machine::look(&folder)? else { return Ok(Vec::new()) };
        Ok(Machine::open(&self.data)?.take_bindings(&copy)?)
    }
}

/// The client's file with the highest number ever removed.
const MARK: &str = ".highwatermark";
const TEAMS: &str = "teams.sqlite";
const MACHINE: &str = "machine.sqlite";

fn name_of(list: &BackedUpList) -> Result<ListId, BackupError> {
    ListId::new(&list.list).map_err(|_| BackupError::NoSuchList { list: list.list.clone() })
}

fn files_folder(list: &BackedUpList) -> String {
    format!("{}/files", list.folder)
}

fn nothing(list: &ListId) -> ListBroughtBack {
    ListBroughtBack {
        list: list.clone(),
        whole: false,
        history: false,
        tasks: CopiesRestored::default(),
        files: Vec::new(),
    }
}

/// Returns whether a name is a plain folder name that does not start with a dot.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// Returns whether a directory contains task files.
fn has_tasks(place: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(place) else { return place.is_file() };
    entries.any(|entry| entry.is_ok_and(|entry| task_of(&entry.file_name().to_string_lossy()).is_some()))
}
