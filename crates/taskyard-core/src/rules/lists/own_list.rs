//! Which lists are a project's own.

use std::path::Path;

use crate::ListId;

/// Tells whether a list is a project's own: it has a name of the project's, alone or before a hyphen.
///
/// Names are compared as the directories they become, since two names with one directory are one list.
pub fn is_own_list(list: &str, project_names: &[String]) -> bool {
    let Ok(list) = ListId::new(list) else { return false };
    let is_of = |name: &String| {
        let Ok(name) = ListId::new(name.as_str()) else { return false };
        let rest = list.directory().strip_prefix(name.directory());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    project_names.iter().any(is_of)
}

/// Returns the names that the list of a repository may get, the best first: its own, then that with the names of the directories above its
/// root in front, one more each time. A name that is too long for a list is left out.
pub fn repository_names<'a>(name: &'a str, root: &'a Path) -> impl Iterator<Item = String> + 'a {
    let above = root.ancestors().skip(1).filter_map(|directory| directory.file_name());
    let longer = above.scan(name.to_owned(), |name, parent| {
        *name = format!("{}-{name}", parent.to_string_lossy());
        Some(name.clone())
    });
    std::iter::once(name.to_owned()).chain(longer).filter(|name| ListId::new(name.as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_own_list, repository_names};

    #[test]
    fn a_repository_gets_the_names_of_its_parents_in_front() {
        let names: Vec<String> = repository_names("api", Path::new("/srv/acme/api")).collect();
        assert_eq!(names, ["api", "acme-api", "srv-acme-api"]);
        let names: Vec<String> = repository_names("@a/web", Path::new("/web")).collect();
        assert_eq!(names, ["@a/web"]);
        let long = format!("/{}/api", "x".repeat(253));
        assert_eq!(repository_names("api", Path::new(&long)).collect::<Vec<_>>(), ["api"]);
    }

    #[test]
    fn a_list_is_a_projects_own_by_its_name_alone_or_before_a_hyphen() {
        let shop = ["shop".to_owned()];
        for list in ["shop", "shop-backend", "shop-"] {
            assert!(is_own_list(list, &shop), "{list}");
        }
        for list in ["", "shopping", "workshop", "my-shop", "Shop", "sho", "backend-shop", "shop_backend", "default"] {
            assert!(!is_own_list(list, &shop), "{list}");
        }
        assert!(!is_own_list(&format!("shop-{}", "x".repeat(300)), &shop));
        assert!(!is_own_list("shop", &[]));
        assert!(!is_own_list("-x", &[String::new()]));
    }

    #[test]
    fn names_count_as_the_directories_they_become() {
        let scoped = ["@scope/shop".to_owned(), "folder".to_owned()];
        for list in ["@scope/shop", "-scope-shop", "@scope/shop/api", "folder-x"] {
            assert!(is_own_list(list, &scoped), "{list}");
        }
    }
}
