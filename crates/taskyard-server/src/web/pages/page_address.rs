//! The address of a page: its list and view, the filter, and what is open.

use std::fmt::Write as _;
use std::sync::Arc;

use taskyard::core::{ListId, TaskId};

use crate::web::paths::push_part;
use taskyard::core::problem::Problem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Columns,
    Table,
    Graph,
    History,
    Charts,
    Agents,
    Jobs,
    Messages,
    Lists,
}

/// The routes of the pages.
pub(crate) const ROUTES: [&str; 9] = [
    "/lists",
    "/lists/{list}",
    "/lists/{list}/table",
    "/lists/{list}/graph",
    "/lists/{list}/history",
    "/lists/{list}/charts",
    "/lists/{list}/agents",
    "/lists/{list}/jobs",
    "/lists/{list}/messages",
];

impl View {
    /// The views of a list, in the order offered.
    pub(super) const OF_LIST: [Self; 8] = [
        Self::Table,
        Self::Columns,
        Self::Graph,
        Self::History,
        Self::Charts,
        Self::Agents,
        Self::Jobs,
        Self::Messages,
    ];

    /// Returns its displayed name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Columns => "Columns",
            Self::Table => "List",
            Self::Graph => "Graph",
            Self::History => "History",
            Self::Charts => "Charts",
            Self::Agents => "Agents",
            Self::Jobs => "Jobs",
            Self::Messages => "Messages",
            Self::Lists => "Lists",
        }
    }

    /// Returns the keys that open it.
    pub(super) const fn keys(self) -> &'static str {
        match self {
            Self::Columns => "g c",
            Self::Table => "g l",
            Self::Graph => "g g",
            Self::History => "g h",
            Self::Charts => "g t",
            Self::Agents => "g a",
            Self::Jobs => "g j",
            Self::Messages => "g m",
            Self::Lists => "g s",
        }
    }

    /// Returns its identifier, which is also the last segment of its path.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Table => "table",
            Self::Graph => "graph",
            Self::History => "history",
            Self::Charts => "charts",
            Self::Agents => "agents",
            Self::Jobs => "jobs",
            Self::Messages => "messages",
            Self::Lists => "lists",
        }
    }

    /// Returns whether it shows tasks, which a query can filter.
    pub(super) const fn has_tasks(self) -> bool {
        matches!(self, Self::Columns | Self::Table | Self::Graph)
    }

    fn of_path(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/').skip(1);
        match (parts.next().is_some(), parts.next()) {
            (false, _) => Self::Lists,
            (true, last) => {
                let is_it = |view: &Self| Some(view.word()) == last;
                Self::OF_LIST.into_iter().find(is_it).unwrap_or(Self::Columns)
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageAddress {
    /// The path prefix: empty unless a proxy serves the pages below a path.
    pub(super) base: Arc<str>,
    pub(super) list: ListId,
    pub(super) view: View,
    /// The query, as typed.
    pub(super) query: String,
    /// The sort keys, as requested.
    pub(super) sort: String,
    /// The field that lanes are grouped by: `owner`, `parent`, `tag` or `priority`; empty for a single lane.
    pub(super) group: String,
    /// The task around which the graph is drawn.
    pub(super) focus: Option<TaskId>,
    /// The tasks whose subtasks are folded in the graph.
    pub(super) folded: Vec<TaskId>,
    /// Whether the graph includes completed tasks.
    pub(super) done: bool,
    /// Whether to show only tasks that need a person.
    pub(super) needs: bool,
    /// The task opened beside the list.
    pub(super) task: Option<TaskId>,
    /// Maximum number of rows or cards, requested while the user types. Never part of a URL.
    pub(super) rows: Option<usize>,
    /// The start of a long listing: a row number, or the revision before which to begin.
    pub(super) from: Option<u64>,
    /// The open job or conversation.
    pub(super) open: Option<String>,
}

impl PageAddress {
    /// Parses the address of a request. The default list is the served one.
    pub(super) fn of(
        base: &str,
        list: Option<&str>,
        path: &str,
        query: &str,
        served: &ListId,
    ) -> Result<Self, Problem> {
        let list = list.map(ListId::new).transpose()?.unwrap_or_else(|| served.clone());
        let mut address = Self::first(base, list, View::of_path(path));
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "q" => address.query = value.trim().to_owned(),
                "sort" => address.sort = value.trim().to_owned(),
                "group" => address.group = value.trim().to_owned(),
                "focus" if !value.is_empty() => address.focus = Some(TaskId::sanitized(&value)),
                "fold" => {
                    address.folded = value.split(',').filter(|id| !id.is_empty()).map(TaskId::sanitized).collect()
                }
                "done" => address.done = true,
                "needs" => address.needs = true,
                "task" if !value.is_empty() => address.task = Some(TaskId::sanitized(&value)),
                "rows" => address.rows = value.parse().ok(),
                "from" => address.from = value.parse().ok(),
                "open" if !value.is_empty() => address.open = Some(value.into_owned()),
                _ => {}
            }
        }
        Ok(address)
    }

    /// Returns the address of a view on this server.
    pub(super) fn at(&self, list: ListId, view: View) -> Self {
        Self::first(&self.base, list, view)
    }

    /// Returns the address of a view.
    pub(super) fn first(base: &str, list: ListId, view: View) -> Self {
        Self {
            base: base.into(),
            list,
            view,
            query: String::new(),
            sort: String::new(),
            group: String::new(),
            focus: None,
            folded: Vec::new(),
            done: false,
            needs: false,
            task: None,
            rows: None,
            from: None,
            open: None,
        }
    }

    /// Returns another view of the same list. Keeps the filter if both views show tasks.
    pub(super) fn view(&self, view: View) -> Self {
        match self.view.has_tasks() && view.has_tasks() {
            true => Self { view, from: None, open: None, ..self.clone() },
            false => Self { task: self.task.clone(), ..self.at(self.list.clone(), view) },
        }
    }

    /// Returns the same address with a task opened.
    pub(super) fn with_task(&self, task: Option<&TaskId>) -> Self {
        Self { task: task.cloned(), ..self.clone() }
    }

    /// Returns the address of the tasks that match a query, in the current view if it shows tasks.
    pub(super) fn chosen(&self, query: &str) -> Self {
        let view = if self.view.has_tasks() { self.view } else { View::Table };
        let arranged = Self { sort: self.sort.clone(), group: self.group.clone(), ..self.at(self.list.clone(), view) };
        Self { query: query.to_owned(), ..arranged }
    }

    /// Returns the URL.
    pub(super) fn href(&self) -> String {
        let mut address = format!("{}/lists", self.base);
        if self.view != View::Lists {
            address.push('/');
            push_part(&mut address, self.list.as_str());
            if self.view != View::Columns {
                let _ = write!(address, "/{}", self.view.word());
            }
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        let task = self.task.as_ref().map(TaskId::as_str).unwrap_or_default();
        let from = self.from.map(|from| from.to_string()).unwrap_or_default();
        let folded: Vec<&str> = self.folded.iter().map(TaskId::as_str).collect();
        let folded = folded.join(",");
        let pairs = [
            ("q", self.query.as_str()),
            ("sort", &self.sort),
            ("group", &self.group),
            ("focus", self.focus.as_ref().map(TaskId::as_str).unwrap_or_default()),
            ("fold", &folded),
            ("done", if self.done { "1" } else { "" }),
            ("needs", if self.needs { "1" } else { "" }),
            ("from", &from),
            ("open", self.open.as_deref().unwrap_or_default()),
            ("task", task),
        ];
        query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if !query.is_empty() {
            let _ = write!(address, "?{query}");
        }
        address
    }
}

#[cfg(test)]
mod tests {
    use taskyard::core::{ListId, TaskId};

    use super::{PageAddress, View};

    #[test]
    fn what_an_address_says_is_read_from_it_again() {
        let served = ListId::new("served").unwrap();
        let address = PageAddress {
            query: "tag:a&b or \"x y\"".to_owned(),
            task: Some(TaskId::number(7)),
            needs: true,
            from: Some(200),
            ..PageAddress::first("/yard", ListId::new("rocket").unwrap(), View::Table)
        };
        let href = address.href();
        let (path, query) = href.split_once('?').unwrap();
        assert_eq!(path, "/yard/lists/rocket/table");
        let path = path.strip_prefix("/yard").unwrap();
        assert_eq!(PageAddress::of("/yard", Some("rocket"), path, query, &served).unwrap(), address);
    }

    #[test]
    fn the_shortest_addresses_are_the_lists_and_the_columns_of_one() {
        let list = ListId::new("a").unwrap();
        assert_eq!(PageAddress::first("", list.clone(), View::Lists).href(), "/lists");
        assert_eq!(PageAddress::first("", list.clone(), View::Columns).href(), "/lists/a");
        assert_eq!(PageAddress::of("", Some("a"), "/lists/a", "", &list).unwrap().view, View::Columns);
        assert_eq!(PageAddress::of("", None, "/lists", "", &list).unwrap().view, View::Lists);
    }

    #[test]
    fn a_query_goes_along_where_tasks_are_shown_and_nowhere_else() {
        let address = PageAddress {
            query: "ready".to_owned(),
            ..PageAddress::first("", ListId::new("a").unwrap(), View::Columns)
        };
        assert_eq!(address.view(View::Graph).query, "ready");
        assert_eq!(address.view(View::Jobs).query, "");
    }
}
