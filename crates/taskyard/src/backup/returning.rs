//! Bringing back what a backup holds. Nothing that is there is overwritten.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use taskyard_core::{ListId, TaskId};

use super::merging::{Copies, copies_of};
use super::placing::{Files, has_something, tidy};
use super::{BackedUpList, BackupError, BackupSource, Dialect};
use crate::Yard;
use crate::failpoint::reach;
use crate::machine::Machine;
use crate::opening::{Address, Places};
use crate::operations::{CopiesRestored, CopiesWanted, Outcome};
use crate::private::make_directory;
use crate::sqlite::Alone;
use crate::store::{FileCare, FileLayout};
use crate::teams::{MovedTeam, take_team_memory};

/// Where a backup comes back to.
#[derive(Debug)]
pub struct BringBack<'a> {
    /// The store and who acts.
    pub yard: &'a Yard,
    /// The address of the store.
    pub address: &'a Address,
    /// Where things are on this machine.
    pub places: &'a Places,
    /// The backup.
    pub source: &'a BackupSource,
    /// Which of the tasks come back to lists that are there.
    pub wanted: CopiesWanted,
}

/// What is to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Everything: lists, teams, which directories are bound to which lists.
    Everything,
    /// One list.
    List(ListId),
    /// Some tasks of one list.
    Tasks(ListId, Vec<TaskId>),
}

/// What came back, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BroughtBack {
    /// The lists, by name.
    pub lists: Vec<ListBroughtBack>,
    /// The teams that came back.
    pub teams: Vec<String>,
    /// The teams that are there, and stay as they are.
    pub teams_there: Vec<String>,
    /// The directories that were bound to their lists again.
    pub bindings: Vec<PathBuf>,
}

/// What came back of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBroughtBack {
    /// Its name.
    pub list: ListId,
    /// Whether it was not there and came back as a whole.
    pub whole: bool,
    /// Whether its history came back.
    pub history: bool,
    /// What became of its tasks; of one that came back as a whole, all of them.
    pub tasks: CopiesRestored,
    /// The other files that came back to it.
    pub files: Vec<String>,
}

/// Brings back what is wished for. A refusal means that tasks were named that cannot come back, and nothing has happened.
pub fn bring_back(
    what: &BringBack<'_>,
    wish: &Wish,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<BroughtBack>, BackupError> {
    let (site, lists) = prepare(what, wish)?;
    let _alone = site.lock()?;
    let back = site.bring(&lists, wish, progress);
    // Also where it failed. What is left is removed by the next process that brings something back.
    if let Err(error) = site.tidy() {
        tracing::warn!(%error, "what was unpacked is left");
    }
    match back {
        Err(cause) if site.has_come.get() => Err(BackupError::Unfinished { cause: Box::new(cause) }),
        back => back,
    }
}

/// Says what would come back, and changes nothing.
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

fn prepare<'a>(what: &'a BringBack<'a>, wish: &Wish) -> Result<(Site<'a>, Vec<&'a BackedUpList>), BackupError> {
    let manifest = what.source.manifest();
    let care = what.yard.store().care();
    let (wanted, care) = Dialect::of(what.address).zip(care).ok_or(BackupError::NoFiles)?;
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
    Ok((Site { what, care, data, scratch, has_come: Cell::new(false) }, lists))
}

/// The folder of ours in which things are unpacked.
const SCRATCH: &str = ".restoring-scratch";

/// Where things come back to.
struct Site<'a> {
    what: &'a BringBack<'a>,
    care: &'a dyn FileCare,
    data: PathBuf,
    scratch: PathBuf,
    /// Whether any task has come back yet.
    has_come: Cell<bool>,
}

impl Site<'_> {
    /// Waits until no other process brings anything back here.
    fn lock(&self) -> Result<Alone, BackupError> {
        let lists = self.data.join("lists");
        crate::private::make_data_directory(&self.data).map_err(BackupError::io("cannot create", &self.data))?;
        make_directory(&lists).map_err(BackupError::io("cannot create", &lists))?;
        Ok(Alone::in_directory(&lists)?)
    }

    /// Removes what was unpacked, by us or by one that died.
    fn tidy(&self) -> Result<(), BackupError> {
        match fs::remove_dir_all(&self.scratch) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(BackupError::io("cannot remove", &self.scratch)(error))
            }
            _ => Ok(()),
        }
    }

    /// Unpacks a file of the backup under a name in a private folder, and returns that folder.
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
        let place = self.care.place_of(&name);
        let mut back = ListBroughtBack { history: false, whole: false, ..nothing(&name) };
        let is_everything = !matches!(wish, Wish::Tasks(..));
        tidy(&place)?;
        if list.journal && is_everything {
            let folder = self.unpack(&format!("{}/journal.sqlite", list.folder), "journal.sqlite")?;
            // Before the files: a list that has its history and no files is one that `restore` brings back.
            back.history = self.care.take_memory(&name, &folder.join("journal.sqlite"))?;
        }
        if !list.exists {
            return Ok(Outcome::Done(back));
        }
        let is_new = back.history || !list.journal;
        if is_everything && is_new && self.put_whole(list, &place)? {
            back.whole = true;
            self.has_come.set(true);
            back.tasks.tasks = self.what.yard.on(name).store().read(&back.list)?.tasks()?;
            return Ok(Outcome::Done(back));
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
        let folder = files_folder(list);
        let files = self.files(list, &folder);
        for other in copies.others {
            tidy(&place.join(&other))?;
            if files.put_file(&other, &place.join(&other))? {
                back.files.push(other);
            }
        }
        Ok(Outcome::Done(back))
    }

    /// Puts the files of a list where it has none. Returns whether it did.
    fn put_whole(&self, list: &BackedUpList, place: &Path) -> Result<bool, BackupError> {
        let folder = files_folder(list);
        let files = self.files(list, &folder);
        if self.care.layout() != FileLayout::OneFile {
            return files.put_folder(place);
        }
        let first = self.what.source.files_in(&folder).next();
        first.map_or(Ok(false), |name| files.put_file(name, place))
    }

    fn look_at_list(&self, list: &BackedUpList, wish: &Wish) -> Result<ListBroughtBack, BackupError> {
        let name = name_of(list)?;
        let is_everything = !matches!(wish, Wish::Tasks(..));
        let has_memory = self.care.has_memory(&name);
        let mut back = ListBroughtBack { history: is_everything && list.journal && !has_memory, ..nothing(&name) };
        if !list.exists {
            return Ok(back);
        }
        let is_new = back.history || !list.journal;
        back.whole = is_everything && is_new && !has_something(&self.care.place_of(&name));
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
        // What we remember before the files: a team without files is none, and one that is there is not looked at again.
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

    /// Binds directories to their lists again. Who trusts which directory, what was set up and which jobs there were belongs to the
    /// machine that the backup was made on, and does not come back by itself.
    fn bring_bindings(&self) -> Result<Vec<PathBuf>, BackupError> {
        if !self.what.source.has(MACHINE) {
            return Ok(Vec::new());
        }
        let folder = self.unpack(MACHINE, MACHINE)?;
        let Some(copy) = Machine::look(&folder)? else { return Ok(Vec::new()) };
        Ok(Machine::open(&self.data)?.take_bindings(&copy)?)
    }
}

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

/// Tells whether a name is that of one folder, and of none of ours.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}
