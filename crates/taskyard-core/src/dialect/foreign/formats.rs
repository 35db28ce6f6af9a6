//! The names of the formats.

use std::fmt;
use std::str::FromStr;

macro_rules! formats {
    ($(#[$doc:meta])* $name:ident { $($(#[$one:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$one])* $variant,)* }

        impl $name {
            /// Every format.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|format| format.as_str() == word).ok_or(())
            }
        }
    };
}

formats! {
    /// What tasks can be read from.
    ImportFormat {
        /// A folder of Claude Code's task files.
        Native = "native",
        /// One `tasks.json`.
        Document = "document",
        /// An array of tasks.
        Export = "export",
        /// A folder of small task files.
        Teaching = "teaching",
        /// A folder of task files with MACF conventions.
        Macf = "macf",
        /// The JSON lines of beads.
        Beads = "beads",
        /// The `tasks.json` of Task Master.
        Taskmaster = "taskmaster",
        /// A folder of Backlog.md.
        Backlog = "backlog",
        /// What `task export` of Taskwarrior prints.
        Taskwarrior = "taskwarrior",
        /// Checklists in Markdown.
        Markdown = "markdown",
        /// A TodoWrite file of the client.
        Todos = "todos",
        /// One task in the native shape per line.
        Jsonl = "jsonl",
    }
}

formats! {
    /// What tasks can be written as.
    ExportFormat {
        /// A folder of Claude Code's task files.
        Native = "native",
        /// One `tasks.json`.
        Document = "document",
        /// An array of tasks.
        Export = "export",
        /// A folder of small task files.
        Teaching = "teaching",
        /// A folder of task files with MACF conventions.
        Macf = "macf",
        /// A checklist.
        Markdown = "markdown",
        /// A table.
        Csv = "csv",
        /// A picture of what waits for what.
        Mermaid = "mermaid",
        /// One task in the native shape per line.
        Jsonl = "jsonl",
    }
}

impl ImportFormat {
    /// Tells whether the ids of this format are unique everywhere, so that it does not matter which file they came from.
    pub(crate) const fn has_global_ids(self) -> bool {
        matches!(self, Self::Beads | Self::Taskwarrior)
    }

    /// Tells whether the source is a folder.
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Native | Self::Teaching | Self::Macf | Self::Backlog)
    }
}

impl ExportFormat {
    /// Tells whether a folder is written.
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Native | Self::Teaching | Self::Macf)
    }
}
