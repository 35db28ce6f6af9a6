mod keys;
mod samples;
mod updates;
mod views;
