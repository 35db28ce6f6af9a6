//! The arrows between modules: none leads back, between files as between rooms, and docs/design/modules.md shows the map.
//!
//! `TASKYARD_WRITE_MAP=1 cargo test -p taskyard-testkit --test house module_map::` writes the map into that page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, VisRestricted};

/// A module by its names, from the crate's root; the root has none.
type Module = Vec<String>;
/// Which modules a module uses.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// The crates, as ARCHITECTURE.md draws them.
const CRATES: [&str; 10] = [
    "taskyard-core",
    "taskyard",
    "taskyard-jobs",
    "taskyard-setup",
    "taskyard-mcp",
    "taskyard-server",
    "taskyard-postgres",
    "taskyard-board",
    "taskyard-cli",
    "taskyard-testkit",
];
/// The page that shows the map.
const PAGE: &str = "docs/design/modules.md";
/// What stands around the map in that page.
const BEGIN: &str = "<!-- module map: begin -->\n";
const END: &str = "<!-- module map: end -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What one crate's modules name.
#[derive(Default)]
struct Names {
    /// The modules that are files.
    files: BTreeSet<Module>,
    /// All modules, also those inside of files.
    modules: BTreeSet<Module>,
    /// What each module brings in by a name, from the crate's root; none for what another crate has.
    imports: BTreeMap<Module, BTreeMap<String, Option<Vec<String>>>>,
    /// The paths that each module names, from the crate's root.
    paths: Vec<(Module, Vec<String>)>,
}

/// Reads one module after the other.
struct Reader<'a> {
    names: &'a mut Names,
    module: Module,
}

impl Reader<'_> {
    /// Returns a path from the crate's root; none for one that leads to another crate.
    fn at_root(&self, path: &[String]) -> Option<Vec<String>> {
        let mut here = self.module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (here, rest) = (Module::new(), &path[1..]),
            "self" | "super" => {
                while let Some((first, others)) =
                    rest.split_first().filter(|(first, _)| ["self", "super"].contains(&first.as_str()))
                {
                    if first == "super" {
                        here.pop();
                    }
                    rest = others;
                }
            }
            first => {
                here.push(first.to_owned());
                if !self.names.modules.contains(&here) {
                    return None;
                }
                here.pop();
            }
        }
        here.extend(rest.iter().cloned());
        Some(here)
    }

    fn import(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        let mut bring = |path: &[String], name: String| {
            let path = self.at_root(path);
            self.names.paths.extend(path.clone().map(|path| (self.module.clone(), path)));
            self.names.imports.entry(self.module.clone()).or_default().insert(name, path);
        };
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(before, &path.tree);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(before, tree)),
            UseTree::Name(name) if name.ident == "self" => bring(before, before.last().cloned().unwrap_or_default()),
            UseTree::Name(name) => {
                let path = [before.as_slice(), &[name.ident.to_string()]].concat();
                bring(&path, name.ident.to_string());
            }
            UseTree::Rename(rename) => {
                let path = [before.as_slice(), &[rename.ident.to_string()]].concat();
                bring(&path, rename.rename.to_string());
            }
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((_, items)) = &item.content else { return };
        self.module.push(item.ident.to_string());
        items.iter().for_each(|item| self.visit_item(item));
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.at_root(&names)
        {
            self.names.paths.push((self.module.clone(), path));
        }
        visit::visit_path(self, path);
    }

    /// A path that says where something is visible is no use of it.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        _ => &[],
    }
}

/// Tells whether something is compiled for tests alone.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| match attribute.meta.require_list() {
        Ok(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().split([' ', '(', ')', ',']).any(|word| word == "test")
        }
        Err(_) => attribute.path().is_ident("test"),
    };
    attributes.iter().any(is_test)
}

impl Names {
    /// Reads the sources of a crate.
    fn of(sources: &Path) -> Self {
        let mut parsed = Vec::new();
        let mut names = Self::default();
        collect(sources, &mut Module::new(), &mut parsed);
        let for_tests: BTreeSet<Module> = parsed.iter().flat_map(|(module, file)| test_modules(module, file)).collect();
        parsed.retain(|(module, _)| !for_tests.iter().any(|test| module.starts_with(test)));
        for (module, file) in &parsed {
            names.files.insert(module.clone());
            names.modules.insert(module.clone());
            for item in &file.items {
                if let Item::Mod(inner) = item
                    && inner.content.is_some()
                    && !is_for_tests(&inner.attrs)
                {
                    names.modules.insert([module.as_slice(), &[inner.ident.to_string()]].concat());
                }
            }
        }
        for (module, file) in &parsed {
            Reader { names: &mut names, module: module.clone() }.visit_file(file);
        }
        names
    }

    /// Returns the module that defines an item, or `None` if it is in another crate.
    fn origin(&self, path: &[String], seen: &mut BTreeSet<Vec<String>>) -> Option<Module> {
        if !seen.insert(path.to_vec()) {
            return None;
        }
        let length = (0..=path.len()).rev().find(|length| self.modules.contains(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        match rest.split_first().and_then(|(name, others)| Some((self.imports.get(module)?.get(name)?, others))) {
            Some((Some(imported), others)) => self.origin(&[imported.as_slice(), others].concat(), seen),
            Some((None, _)) => None,
            None => Some(module.to_vec()),
        }
    }

    /// Returns the file that a module is in.
    fn file_of(&self, module: &[String]) -> Module {
        let length = (0..=module.len()).rev().find(|length| self.files.contains(&module[..*length])).unwrap();
        module[..length].to_vec()
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for file in &self.files {
            arrows.entry(file.clone()).or_default();
        }
        for (module, path) in &self.paths {
            let Some(origin) = self.origin(path, &mut BTreeSet::new()) else { continue };
            let (from, to) = (self.file_of(module), self.file_of(&origin));
            if from != to {
                arrows.entry(from).or_default().insert(to);
            }
        }
        arrows
    }
}

/// Reads the files below a folder, each with the module it is.
fn collect(folder: &Path, module: &mut Module, found: &mut Vec<(Module, syn::File)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, found);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
            let is_folders = ["mod", "lib", "main"].contains(&stem.as_str());
            let name = if is_folders { module.clone() } else { [module.as_slice(), &[stem]].concat() };
            found.push((name, file));
        }
    }
}

/// Returns the modules that a file declares for tests alone.
fn test_modules(module: &[String], file: &syn::File) -> Vec<Module> {
    let declared = file.items.iter().filter_map(|item| match item {
        Item::Mod(inner) if is_for_tests(&inner.attrs) => Some(inner.ident.to_string()),
        _ => None,
    });
    declared.map(|name| [module, &[name]].concat()).collect()
}

/// Returns a shortest cycle through a module, if there is one.
fn shortest_circle(arrows: &Arrows) -> Option<Vec<Module>> {
    let mut shortest: Option<Vec<Module>> = None;
    for start in arrows.keys() {
        let mut ways = vec![vec![start.clone()]];
        let mut seen = BTreeSet::new();
        while let Some(at) =
            ways.first().map(Vec::len).filter(|length| shortest.as_ref().is_none_or(|way| *length + 1 < way.len()))
        {
            let mut longer = Vec::new();
            for way in &ways {
                for next in &arrows[&way[at - 1]] {
                    let way = [way.as_slice(), std::slice::from_ref(next)].concat();
                    if next == start {
                        shortest = Some(way);
                        longer.clear();
                        break;
                    }
                    if seen.insert(next.clone()) {
                        longer.push(way);
                    }
                }
            }
            ways = longer;
        }
    }
    shortest
}

fn shown(module: &[String]) -> String {
    if module.is_empty() { "the root".to_owned() } else { module.join("/") }
}

/// Returns the arrows between rooms: the folders and files in the crate's root.
fn rooms(arrows: &Arrows) -> Arrows {
    let room = |module: &Module| module.first().cloned().into_iter().collect::<Module>();
    let mut between = Arrows::new();
    for (from, others) in arrows {
        let to = others.iter().map(room).filter(|to| *to != room(from) && !to.is_empty());
        between.entry(room(from)).or_default().extend(to);
    }
    // The root brings everything together.
    between.remove(&Module::new());
    between
}

fn arrows_of(name: &str) -> Arrows {
    let names = Names::of(&root().join("crates").join(name).join("src"));
    assert!(!names.files.is_empty(), "the sources of {name} were not found");
    names.arrows()
}

fn must_not_lead_back(name: &str, what: &str, arrows: &Arrows) {
    if let Some(circle) = shortest_circle(arrows) {
        let way: Vec<String> = circle.iter().map(|module| shown(module)).collect();
        panic!(
            "{name}: {what} use each other: {}; find what two of them share, and give it a place of its own",
            way.join(" -> ")
        );
    }
}

#[test]
fn no_file_uses_one_that_uses_it() {
    for name in CRATES {
        must_not_lead_back(name, "files", &arrows_of(name));
    }
}

#[test]
fn no_room_uses_one_that_uses_it() {
    for name in CRATES {
        must_not_lead_back(name, "rooms", &rooms(&arrows_of(name)));
    }
}

/// Returns the rooms of a crate, each with those it uses, the ones that use no other last. Files in the root that use nothing but each
/// other are what everything stands on: they have one line together.
fn map_of(name: &str) -> String {
    let arrows = arrows_of(name);
    let rooms = rooms(&arrows);
    let is_file = |room: &Module| !arrows.keys().any(|module| module.len() > 1 && module.starts_with(room));
    let mut ground: BTreeSet<&Module> = BTreeSet::new();
    while let Some((room, _)) = rooms
        .iter()
        .find(|(room, uses)| !ground.contains(room) && is_file(room) && uses.iter().all(|used| ground.contains(used)))
    {
        ground.insert(room);
    }
    let mut lines =
        vec![format!("  (the ground) {}", ground.iter().map(|room| shown(room)).collect::<Vec<_>>().join(", "))];
    let mut drawn = ground.clone();
    while drawn.len() < rooms.len() {
        let is_next = |(room, uses): &(&Module, &BTreeSet<Module>)| {
            !drawn.contains(room) && uses.iter().all(|used| drawn.contains(used))
        };
        let next: Vec<&Module> = rooms.iter().filter(is_next).map(|(room, _)| room).collect();
        assert!(!next.is_empty(), "{name}: rooms use each other");
        for room in next {
            let uses: Vec<String> =
                rooms[room].iter().filter(|used| !ground.contains(used)).map(|used| shown(used)).collect();
            lines.push(match uses.is_empty() {
                true => format!("  {}", shown(room)),
                false => format!("  {} -> {}", shown(room), uses.join(", ")),
            });
            drawn.insert(room);
        }
    }
    lines.push(name.to_owned());
    lines.reverse();
    lines.join("\n") + "\n"
}

#[test]
fn the_page_of_modules_shows_the_map() {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{PAGE} has no place for the map"));
    let (_, after) = rest.split_once(END).unwrap();
    let maps: Vec<String> = CRATES.iter().map(|name| map_of(name)).collect();
    let expected = format!("{before}{BEGIN}\n```text\n{}```\n\n{END}{after}", maps.join("\n"));
    if std::env::var_os("TASKYARD_WRITE_MAP").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(page == expected, "the map in {PAGE} is an old one; TASKYARD_WRITE_MAP=1 writes it anew");
    }
}

#[test]
fn circles_are_found_through_other_names_and_tests_do_not_count() {
    let crate_folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(crate_folder.path().join(name), text).unwrap();
    write("lib.rs", "mod one;\nmod two;\npub use two::Second;\n");
    write("one.rs", "use crate::Second;\npub struct First(Second);\n");
    write("two.rs", "pub(in crate::one) struct Second;\n#[cfg(test)]\nmod tests {\n    use crate::one::First;\n}\n");
    let arrows = |folder: &Path| Names::of(folder).arrows();
    assert_eq!(shortest_circle(&arrows(crate_folder.path())), None);
    write("two.rs", "pub struct Second(Box<super::one::First>);\n");
    let circle = shortest_circle(&arrows(crate_folder.path())).unwrap();
    assert_eq!(circle.iter().map(|module| shown(module)).collect::<Vec<_>>(), ["one", "two", "one"]);
}
