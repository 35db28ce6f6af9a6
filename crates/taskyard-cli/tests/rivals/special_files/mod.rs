//! What is no regular file, or far too large, in every place that is read: each command says so at once, nothing is followed, and no other
//! command is troubled.
#![cfg(unix)]

mod directories;
mod documents;
mod inboxes;
mod locks;
mod marks;
mod settings;
mod site;
mod task_files;
mod team_files;
mod todos;
