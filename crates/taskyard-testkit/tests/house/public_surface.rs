//! What programs that use the library can name, as it was last agreed on: a change of it is seen, and meant.
//!
//! `TASKYARD_WRITE_SURFACE=1 cargo test -p taskyard-testkit --test house public_surface::` writes `surface.txt` of each crate anew.

use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Visibility};

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What one crate shows. An item that is `pub` can be reached: the lint `unreachable_pub` sees to that.
#[derive(Default)]
struct Surface(Vec<String>);

impl Surface {
    fn of(name: &str) -> String {
        let source = root().join("crates").join(name).join("src");
        let mut surface = Self::default();
        surface.read_file(&source.join("lib.rs"), &source, true, "");
        surface.0.sort();
        surface.0.dedup();
        surface.0.join("\n") + "\n"
    }

    /// Reads a file and the modules below it. `path` is that of a module everybody can name.
    fn read_file(&mut self, file: &Path, folder: &Path, is_public: bool, path: &str) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let items = syn::parse_file(&text).unwrap().items;
        self.read_items(&items, folder, is_public, path);
    }

    fn read_items(&mut self, items: &[Item], folder: &Path, is_public: bool, path: &str) {
        for item in items {
            match item {
                Item::Mod(module) if !is_left_out(&module.attrs) => {
                    let name = module.ident.to_string();
                    let below = is_public && is_pub(&module.vis);
                    let inner = format!("{path}{name}::");
                    if below {
                        self.0.push(format!("mod {path}{name}"));
                    }
                    match &module.content {
                        Some((_, items)) => self.read_items(items, &folder.join(&name), below, &inner),
                        None => self.read_file(&file_of(folder, &name), &folder.join(&name), below, &inner),
                    }
                }
                Item::Use(used) if is_public && is_pub(&used.vis) && !is_left_out(&used.attrs) => {
                    self.0.push(format!("use {path}{}", text(&used.tree)));
                }
                item => self.read_item(item),
            }
        }
    }

    fn read_item(&mut self, item: &Item) {
        match item {
            Item::Fn(function) if is_pub(&function.vis) && !is_left_out(&function.attrs) => {
                self.0.push(text(&function.sig));
            }
            Item::Const(constant) if is_pub(&constant.vis) && !is_left_out(&constant.attrs) => {
                self.0.push(format!("const {}: {}", constant.ident, text(&constant.ty)));
            }
            Item::Type(alias) if is_pub(&alias.vis) && !is_left_out(&alias.attrs) => {
                self.0.push(format!("type {}{} = {}", alias.ident, text(&alias.generics), text(&alias.ty)));
            }
            Item::Struct(item) if is_pub(&item.vis) && !is_left_out(&item.attrs) => {
                self.0.push(format!("struct {}{}", item.ident, text(&item.generics)));
                self.read_fields(&item.ident.to_string(), &item.fields);
            }
            Item::Enum(item) if is_pub(&item.vis) && !is_left_out(&item.attrs) => {
                let may_grow = text_of(&item.attrs).contains("non_exhaustive");
                self.0.push(format!(
                    "enum {}{}{}",
                    item.ident,
                    text(&item.generics),
                    if may_grow { " (may grow)" } else { "" }
                ));
                for variant in &item.variants {
                    self.0.push(format!("enum {}::{}{}", item.ident, variant.ident, text(&variant.fields)));
                }
            }
            Item::Trait(item) if is_pub(&item.vis) && !is_left_out(&item.attrs) => {
                self.0.push(format!("trait {}{}", item.ident, text(&item.generics)));
                for member in &item.items {
                    if let TraitItem::Fn(function) = member {
                        self.0.push(format!("trait {}: {}", item.ident, text(&function.sig)));
                    }
                }
            }
            Item::Impl(item) if item.trait_.is_none() && !is_left_out(&item.attrs) => {
                let of = text(&item.self_ty);
                for member in &item.items {
                    match member {
                        ImplItem::Fn(function) if is_pub(&function.vis) && !is_left_out(&function.attrs) => {
                            self.0.push(format!("impl {of}: {}", text(&function.sig)));
                        }
                        ImplItem::Const(constant) if is_pub(&constant.vis) => {
                            self.0.push(format!("impl {of}: const {}: {}", constant.ident, text(&constant.ty)));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn read_fields(&mut self, of: &str, fields: &Fields) {
        for (number, field) in fields.iter().enumerate().filter(|(_, field)| is_pub(&field.vis)) {
            let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
            self.0.push(format!("struct {of}.{name}: {}", text(&field.ty)));
        }
    }
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    if file.exists() { file } else { folder.join(name).join("mod.rs") }
}

fn is_pub(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Tells whether something is for tests or for our own programs only.
fn is_left_out(attributes: &[Attribute]) -> bool {
    let attributes = text_of(attributes);
    ["cfg(test)", "cfg(doctest)", "doc(hidden)", "cfg(feature = \"internals\")", "cfg(not(feature = \"internals\"))"]
        .iter()
        .any(|attribute| attributes.contains(attribute))
}

fn text_of(attributes: &[Attribute]) -> String {
    attributes.iter().filter(|attribute| !attribute.path().is_ident("doc") || is_hidden(attribute)).map(text).collect()
}

fn is_hidden(attribute: &Attribute) -> bool {
    text(attribute).contains("hidden")
}

/// Returns something of the source as it would be written in one line.
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
fn what_programs_can_name_is_what_was_agreed_on() {
    for name in CRATES {
        let file = root().join("crates").join(name).join("surface.txt");
        let surface = Surface::of(name);
        if std::env::var_os("TASKYARD_WRITE_SURFACE").is_some() {
            fs::write(&file, &surface).unwrap();
        }
        let agreed = fs::read_to_string(&file).unwrap_or_default();
        let (now, then): (Vec<&str>, Vec<&str>) = (surface.lines().collect(), agreed.lines().collect());
        let new: Vec<_> = now.iter().filter(|line| !then.contains(line)).collect();
        let gone: Vec<_> = then.iter().filter(|line| !now.contains(line)).collect();
        assert!(
            new.is_empty() && gone.is_empty(),
            "{name}: new {new:#?}, gone {gone:#?}; where that is meant, write it down with TASKYARD_WRITE_SURFACE=1 and tell of it in CHANGELOG.md"
        );
    }
}

#[test]
fn what_only_our_own_programs_need_is_not_there() {
    let surface = Surface::of("taskyard");
    for hidden in ["edits", "failpoint", "private", "process", "sqlite", "tidying"] {
        assert!(!surface.lines().any(|line| line == format!("mod {hidden}")), "{hidden} is public");
    }
    for grows in ["Error", "StoreError", "OpenError", "Happening"] {
        let line = format!("enum {grows} (may grow)");
        assert!(surface.lines().any(|other| other == line), "{grows} is closed");
    }
}
