//! The public API of each library crate, as last agreed on in its `surface.txt`: one line for each item, field, variant and method that another
//! crate can name, under its shortest path. Trait implementations and hidden items are not listed.
//!
//! `TASKYARD_WRITE_SURFACE=1 cargo test -p taskyard-testkit --test house public_surface::` rewrites the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, ImplItem, ImplItemFn, Item, ItemImpl, TraitItem, Type, UseTree, Visibility};

const CRATES: [&str; 8] = [
    "taskyard-core",
    "taskyard",
    "taskyard-jobs",
    "taskyard-setup",
    "taskyard-mcp",
    "taskyard-server",
    "taskyard-board",
    "taskyard-postgres",
];

/// The most lines that `surface.txt` of the library may have, and those of all crates together. They may only fall.
const LIBRARY_LINES: usize = 1949;
const ALL_LINES: usize = 6166;

/// The names that lead from the crate's root to a module or an item.
type Names = Vec<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The modules of a crate, without those of tests and hidden ones.
#[derive(Default)]
struct Source {
    modules: BTreeMap<Names, Module>,
    /// The blocks of methods, with the module that each is in.
    methods: Vec<(Names, ItemImpl)>,
}

#[derive(Default)]
struct Module {
    /// Items and child modules by name.
    items: BTreeMap<String, Item>,
    /// Imports and re-exports by the name they bring in, with the path as it is written.
    uses: BTreeMap<String, (Names, bool)>,
}

impl Source {
    fn of(name: &str) -> Self {
        let folder = root().join("crates").join(name).join("src");
        let mut source = Self::default();
        source.read_file(&folder.join("lib.rs"), &folder, vec![]);
        source
    }

    fn read_file(&mut self, file: &Path, folder: &Path, path: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.read_items(syn::parse_file(&text).unwrap().items, folder, path);
    }

    fn read_items(&mut self, items: Vec<Item>, folder: &Path, path: Names) {
        let mut module = Module::default();
        for mut item in items {
            let Some(attributes) = attributes_of(&mut item) else { continue };
            if is_left_out(attributes) {
                continue;
            }
            let may_grow = attributes.iter().any(|attribute| attribute.path().is_ident("non_exhaustive"));
            attributes.retain(|_| false);
            match item {
                Item::Mod(mut inner) => {
                    let name = inner.ident.to_string();
                    let (below, folder) = ([path.clone(), vec![name.clone()]].concat(), folder.join(&name));
                    match inner.content.take() {
                        Some((_, items)) => self.read_items(items, &folder, below),
                        None => self.read_file(&file_of(&folder), &folder, below),
                    }
                    module.items.insert(name, Item::Mod(inner));
                }
                Item::Use(used) => read_use(&used.tree, vec![], is_pub(&used.vis), &mut module.uses),
                Item::Impl(item) if item.trait_.is_none() => self.methods.push((path.clone(), item)),
                Item::Enum(mut item) => {
                    let fields = item.variants.iter_mut().flat_map(|variant| &mut variant.fields);
                    fields.for_each(|field| field.attrs.clear());
                    if may_grow {
                        item.attrs.push(syn::parse_quote!(#[non_exhaustive]));
                    }
                    module.items.insert(item.ident.to_string(), Item::Enum(item));
                }
                item => drop(name_of(&item).and_then(|name| module.items.insert(name, item))),
            }
        }
        self.modules.insert(path, module);
    }

    /// Returns where something is defined that a module names by a path; the path itself, with false, if that is in another crate.
    fn resolve(&self, module: &[String], path: &[String]) -> (Names, bool) {
        let mut here = module.to_vec();
        let mut rest = path;
        let is_relative = |name: &str| ["crate", "self", "super"].contains(&name);
        while let Some((first, behind)) = rest.split_first().filter(|(first, _)| is_relative(first)) {
            match first.as_str() {
                "crate" => here.clear(),
                "super" => drop(here.pop()),
                _ => {}
            }
            rest = behind;
        }
        for (number, name) in rest.iter().enumerate() {
            let Some(at) = self.modules.get(&here) else { return (path.to_vec(), false) };
            let used = at.uses.get(name).filter(|(used, _)| used.as_slice() != path);
            // A module may have the name of a function that is brought in; the last name means the function.
            let is_hidden = used.is_some() && number + 1 == rest.len();
            if let Some(item) = at.items.get(name).filter(|_| !is_hidden) {
                let is_module = matches!(item, Item::Mod(_));
                here.push(name.clone());
                if !is_module {
                    // What follows is a variant or an associated item.
                    return (here, true);
                }
            } else if let Some((used, _)) = used {
                return self.resolve(&here, &[used, &rest[number + 1..]].concat());
            } else {
                return (path.to_vec(), false);
            }
        }
        (here, true)
    }
}

fn attributes_of(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        Item::Const(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Mod(item) => &mut item.attrs,
        Item::Static(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Trait(item) => &mut item.attrs,
        Item::Type(item) => &mut item.attrs,
        Item::Use(item) => &mut item.attrs,
        _ => return None,
    })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn visibility_of(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return None,
    })
}

fn read_use(tree: &UseTree, mut before: Names, is_public: bool, uses: &mut BTreeMap<String, (Names, bool)>) {
    let (last, name) = match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            return read_use(&path.tree, before, is_public, uses);
        }
        UseTree::Group(group) => {
            return group.items.iter().for_each(|tree| read_use(tree, before.clone(), is_public, uses));
        }
        UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        UseTree::Glob(_) => return,
    };
    if last == "self" {
        let name = before.last().expect("`self` stands behind a module").clone();
        uses.insert(name, (before, is_public));
    } else {
        before.push(last);
        uses.insert(name, (before, is_public));
    }
}

fn file_of(folder: &Path) -> PathBuf {
    let file = folder.with_extension("rs");
    if file.exists() { file } else { folder.join("mod.rs") }
}

fn is_pub(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Tells whether something is compiled for tests only, or hidden.
fn is_left_out(attributes: &[Attribute]) -> bool {
    ["#[cfg(test)]", "#[cfg(doctest)]", "#[doc(hidden)]"]
        .iter()
        .any(|left_out| attributes.iter().any(|attribute| text(attribute) == *left_out))
}

/// What one crate shows.
struct Surface<'a> {
    source: &'a Source,
    /// The public paths of what is public, by where it is defined.
    paths: BTreeMap<Names, BTreeSet<Names>>,
    lines: BTreeSet<String>,
}

impl<'a> Surface<'a> {
    fn of(source: &'a Source) -> String {
        let mut surface = Self { source, paths: BTreeMap::new(), lines: BTreeSet::new() };
        surface.find(&[], &[]);
        for (definition, paths) in surface.paths.clone() {
            let shortest = paths.iter().min_by_key(|path| (path.len(), path.as_slice())).expect("it has a path");
            for path in paths.iter().filter(|path| *path != shortest) {
                surface.lines.insert(format!("use {} = {}", path.join("::"), shortest.join("::")));
            }
            surface.describe(&definition, &shortest.join("::"));
        }
        surface.lines.into_iter().map(|line| line + "\n").collect()
    }

    /// Notes what a module shows that other crates can name by a path.
    fn find(&mut self, module: &[String], path: &[String]) {
        let Module { items, uses } = &self.source.modules[module];
        let under = |name: &String| [path, std::slice::from_ref(name)].concat();
        for (name, _) in items.iter().filter(|(_, item)| visibility_of(item).is_some_and(is_pub)) {
            self.note([module, std::slice::from_ref(name)].concat(), under(name));
        }
        for (name, (used, _)) in uses.iter().filter(|(_, (_, is_public))| *is_public) {
            let (definition, is_ours) = self.source.resolve(module, used);
            if is_ours {
                self.note(definition, under(name));
            } else {
                self.lines.insert(format!("use {} = {}", under(name).join("::"), definition.join("::")));
            }
        }
    }

    fn note(&mut self, definition: Names, path: Names) {
        let is_new = self.paths.entry(definition.clone()).or_default().insert(path.clone());
        if is_new && self.source.modules.contains_key(&definition) {
            self.find(&definition, &path);
        }
    }

    fn describe(&mut self, definition: &[String], path: &str) {
        let (name, module) = definition.split_last().expect("the root is not named");
        let Some(item) = self.source.modules.get(module).and_then(|module| module.items.get(name)) else { return };
        match item {
            Item::Mod(_) => drop(self.lines.insert(format!("mod {path}"))),
            Item::Fn(function) => {
                let signature = text(&function.sig).replacen(name.as_str(), path, 1);
                self.lines.insert(signature);
            }
            Item::Const(constant) => drop(self.lines.insert(format!("const {path}: {}", text(&constant.ty)))),
            Item::Static(item) => drop(self.lines.insert(format!("static {path}: {}", text(&item.ty)))),
            Item::Type(alias) => {
                self.lines.insert(format!("type {path}{} = {}", text(&alias.generics), text(&alias.ty)));
            }
            Item::Struct(item) => {
                self.lines.insert(format!("struct {path}{}", text(&item.generics)));
                for (number, field) in item.fields.iter().enumerate().filter(|(_, field)| is_pub(&field.vis)) {
                    let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
                    self.lines.insert(format!("struct {path}.{name}: {}", text(&field.ty)));
                }
            }
            Item::Enum(item) => {
                let may_grow = if item.attrs.is_empty() { "" } else { " (may grow)" };
                self.lines.insert(format!("enum {path}{}{may_grow}", text(&item.generics)));
                for variant in &item.variants {
                    self.lines.insert(format!("enum {path}::{}{}", variant.ident, text(&variant.fields)));
                }
            }
            Item::Trait(item) => {
                self.lines.insert(format!("trait {path}{}", text(&item.generics)));
                for member in &item.items {
                    if let TraitItem::Fn(function) = member {
                        self.lines.insert(format!("trait {path}: {}", text(&function.sig)));
                    }
                }
            }
            _ => {}
        }
        let source = self.source;
        let is_of_item = |module: &[String], item: &ItemImpl| {
            let Type::Path(of) = &*item.self_ty else { return false };
            let names: Names = of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            source.resolve(module, &names) == (definition.to_vec(), true)
        };
        for (_, item) in source.methods.iter().filter(|(module, item)| is_of_item(module, item)) {
            self.lines.extend(item.items.iter().filter_map(|member| match member {
                ImplItem::Fn(ImplItemFn { attrs, vis, sig, .. }) if is_pub(vis) && !is_left_out(attrs) => {
                    Some(format!("impl {path}: {}", text(sig)))
                }
                ImplItem::Const(constant) if is_pub(&constant.vis) => {
                    Some(format!("impl {path}: const {}: {}", constant.ident, text(&constant.ty)))
                }
                _ => None,
            }));
        }
    }
}

/// Returns source text on one line, spaced as it would be written by hand.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (spaced, tight) in [
        (" :: ", "::"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        (" : ", ": "),
        ("# [", "#["),
        (" ]", "]"),
        ("[ ", "["),
        (" ;", ";"),
        ("' ", "'"),
        (":: {", "::{"),
        (" ?", "?"),
        ("-> (", "-> ("),
    ] {
        text = text.replace(spaced, tight);
    }
    text.replace("->", " ->").replace("  ->", " ->")
}

#[test]
fn public_api_is_what_was_agreed_on() {
    for name in CRATES {
        let file = root().join("crates").join(name).join("surface.txt");
        let surface = Surface::of(&Source::of(name));
        if std::env::var_os("TASKYARD_WRITE_SURFACE").is_some() {
            fs::write(&file, &surface).unwrap();
        }
        let agreed = fs::read_to_string(&file).unwrap_or_default();
        let (now, then): (Vec<&str>, Vec<&str>) = (surface.lines().collect(), agreed.lines().collect());
        let new: Vec<_> = now.iter().filter(|line| !then.contains(line)).collect();
        let gone: Vec<_> = then.iter().filter(|line| !now.contains(line)).collect();
        assert!(
            new.is_empty() && gone.is_empty(),
            "{name}: new {new:#?}, gone {gone:#?}; if that is intended, write it with TASKYARD_WRITE_SURFACE=1 and add it to CHANGELOG.md"
        );
    }
}

#[test]
fn public_api_stays_small() {
    let lines = |name: &str| Surface::of(&Source::of(name)).lines().count();
    let library = lines("taskyard");
    let all: usize = CRATES.iter().map(|name| lines(name)).sum();
    assert!(library <= LIBRARY_LINES, "taskyard: {library} lines, {LIBRARY_LINES} allowed");
    assert!(all <= ALL_LINES, "all crates: {all} lines, {ALL_LINES} allowed");
}

#[test]
fn errors_and_events_may_grow() {
    let surface = Surface::of(&Source::of("taskyard"));
    for grows in ["Error", "StoreError", "opening::OpenError", "stream::Happening"] {
        let line = format!("enum {grows} (may grow)");
        assert!(surface.lines().any(|other| other == line), "{grows} is closed");
    }
}

#[test]
fn no_crate_has_a_feature_for_its_siblings() {
    for name in CRATES {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("internals"), "{name}: what a sibling needs is public");
    }
}

/// Returns the surface of a crate with one file.
fn surface_of(text: &str) -> String {
    let mut source = Source::default();
    source.read_items(syn::parse_str::<syn::File>(text).unwrap().items, Path::new(""), vec![]);
    Surface::of(&source)
}

#[test]
fn surface_has_shortest_paths_and_only_what_is_reachable() {
    let text = "
        mod inner { pub struct Shown { pub field: u8, hidden: u8 } pub struct Lost; impl Shown { pub fn go(&self) {} fn stay(&self) {} } }
        pub mod outer {
            pub use super::inner::Shown;
            #[doc(hidden)] pub fn hook() {}
            pub use other::Foreign as Theirs;
            mod more { pub fn call(name: &str) -> u8 { 0 } }
            pub use more::call;
        }
        pub use outer::Shown;
        #[non_exhaustive] pub enum Kind { One { #[serde(skip)] size: u8 } }
    ";
    let expected = "\
enum Kind (may grow)
enum Kind::One{ size: u8 }
fn outer::call(name: &str) -> u8
impl Shown: fn go(&self)
mod outer
struct Shown
struct Shown.field: u8
use outer::Shown = Shown
use outer::Theirs = other::Foreign
";
    assert_eq!(surface_of(text), expected);
}
