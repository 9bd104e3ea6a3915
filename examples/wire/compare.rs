//! Compares a folder of recordings with what they are expected to say.

use std::{
    fs,
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{Failure, decode, known};

/// Decodes every recording under `root`, restricted to `protocols` where there are any; writes the differences and says whether all passed.
pub(crate) fn all(root: &Path, protocols: &[String], chunk: Option<NonZeroUsize>, out: &mut dyn Write) -> Result<bool, Failure> {
    let (mut passed, mut failed) = (0, 0);
    let mut missing: Vec<&String> = protocols.iter().collect();
    for protocol in folders(root)? {
        let name = file_name(&protocol);
        if !protocols.is_empty() && !protocols.contains(&name) {
            continue;
        }
        missing.retain(|wanted| **wanted != name);
        for recording in folders(&protocol)? {
            let differences = match check(&name, &recording, chunk) {
                Ok(differences) => differences,
                Err(failure) => vec![failure.to_string()],
            };
            if differences.is_empty() {
                passed += 1;
                continue;
            }
            failed += 1;
            for difference in differences {
                writeln!(out, "{name}/{}: {difference}", file_name(&recording))?;
            }
        }
    }
    if let Some(protocol) = missing.first() {
        return Err(format!("{} holds no recordings of `{protocol}`", root.display()).into());
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(failed == 0)
}

/// The folders in a folder, links followed, in order of their names.
fn folders(parent: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The differences between what a recording says and what it is expected to say.
fn check(protocol: &str, folder: &Path, chunk: Option<NonZeroUsize>) -> Result<Vec<String>, Failure> {
    let known = known::find(protocol).ok_or_else(|| format!("the protocol `{protocol}` is not known to this build"))?;
    let expected: Value = serde_json::from_slice(&fs::read(folder.join("expect.json"))?)?;
    let status = match fs::read_to_string(folder.join("status")) {
        Ok(text) => text.trim().parse()?,
        Err(_) => 200,
    };
    let mut responses: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    responses.retain(|path| file_name(path).starts_with("response.") && path.is_file());
    let [response] = responses.as_slice() else { return Err(format!("{} files are called response.*", responses.len()).into()) };
    let decoded = decode::decode(&known, status, &fs::read(response)?, chunk)?;
    Ok(differences(&decoded, &expected))
}

fn differences(decoded: &Value, expected: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for field in ["text", "reasoning_len", "finish_reason"] {
        compare(field, field_of(decoded, field), field_of(expected, field), &mut out);
    }
    for field in ["type", "code", "message"] {
        let of = |report| as_text(field_of(field_of(report, "error"), field));
        compare(&format!("error.{field}"), &of(decoded), &of(field_of(expected, "extra")), &mut out);
    }
    for counter in ["input", "output", "cache_read"] {
        let of = |report| field_of(field_of(report, "usage"), counter);
        compare(&format!("usage.{counter}"), of(decoded), of(expected), &mut out);
    }
    lists(decoded, expected, "tool_calls", &mut out, |expected| {
        let raw = field_of(expected, "arguments").is_null().then_some("arguments_raw");
        ["id", "name", "arguments", "type", "namespace"].into_iter().chain(raw).collect()
    });
    lists(decoded, expected, "server_tools", &mut out, |expected| {
        let given = ["id", "type"].into_iter().filter(|field| expected.get(field).is_some());
        ["name", "error_code"].into_iter().chain(given).collect()
    });
    out
}

/// Some hosts number their errors.
fn as_text(value: &Value) -> Value {
    if value.is_number() { Value::from(value.to_string()) } else { value.clone() }
}

/// A field, or null where there is none.
fn field_of<'a>(report: &'a Value, field: &str) -> &'a Value {
    report.get(field).unwrap_or(&Value::Null)
}

/// Compares two lists entry by entry in the fields that the expected entry asks for.
fn lists<'e>(decoded: &Value, expected: &'e Value, field: &str, out: &mut Vec<String>, fields: impl Fn(&'e Value) -> Vec<&'static str>) {
    let list = |report: &'e Value| report.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let expected = list(expected);
    let decoded = decoded.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if decoded.len() != expected.len() {
        out.push(format!("{field}: {} entries, expected {}", decoded.len(), expected.len()));
    }
    for (index, (decoded, expected)) in decoded.iter().zip(expected).enumerate() {
        // A model that writes `null` calls a tool without arguments.
        let is_null = field_of(expected, "arguments_raw") == "null" && *field_of(decoded, "arguments") == serde_json::json!({});
        for name in fields(expected).into_iter().filter(|name| !(is_null && name.starts_with("arguments"))) {
            compare(&format!("{field}[{index}].{name}"), field_of(decoded, name), field_of(expected, name), out);
        }
    }
}

fn compare(place: &str, decoded: &Value, expected: &Value, out: &mut Vec<String>) {
    if decoded != expected {
        out.push(format!("{place}: {}, expected {}", shorten(decoded), shorten(expected)));
    }
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 300 {
        return text;
    }
    let head: String = text.chars().take(300).collect();
    format!("{head}… ({} bytes)", text.len())
}
