//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use crate::input::InputError;

/// Refuse a file that cannot be written, before the work whose result it is to hold.
///
/// # Errors
/// Where it is a folder, or the folder it is to be in is none.
pub fn check(option: &str, file: &str) -> std::result::Result<(), InputError> {
    let path = Path::new(file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |what: String| Err(InputError::new(option, what, "give a file that can be written"));
    if path.is_dir() || path.file_name().is_none() {
        return wrong(format!("{file:?} is no file"));
    }
    if !folder.is_dir() {
        return wrong(format!("{file}: there is no folder {:?}", folder.display().to_string()));
    }
    Ok(())
}

/// Write a file by way of another beside it, which then takes its name; what is no plain file (`/dev/null`) directly.
///
/// # Errors
/// Where the operating system refuses. The file is then as it was.
pub fn write(file: &str, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let path = Path::new(file);
    if path.exists() && !path.is_file() {
        return put(File::create(path)?, content);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(name);
    let done = File::create(&beside).and_then(|out| put(out, content)).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        _ = fs::remove_file(&beside); // it may never have been there
    }
    done
}

fn put(file: File, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}
