//! `chat wire`, `chat raw` and `chat messages`: messages in another form, and the losses of the
//! conversion.

use std::path::Path;

use anyhow::{Context as _, ensure};
use leafgate_assemble::Api;
use leafgate_chat::{
    InputShape, Json, Loss, Messages, messages as read_messages, raw_json, to_wire, verbatim_messages,
};
use leafgate_tree::{Document, Format};

use super::{InputArgs, MessagesArgs, WireArgs};
use crate::masking;
use crate::print::{Exit, Printer};
use crate::request;

pub(super) fn wire(args: &WireArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let document = document(args.input.file.as_deref())?;
    let mut read = read(&document, &args.input)?;
    let body =
        to_wire(&read.messages, args.to, &mut read.losses).context("nothing is converted for this API")?;
    write("wire", &body, &read, printer)
}

pub(super) fn raw(input: &InputArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let document = document(input.file.as_deref())?;
    let read = read(&document, input)?;
    // Raw messages stay as they are spelled, unknown members included.
    match verbatim_messages(&document) {
        Some(verbatim) => {
            let read = Messages { losses: leafgate_chat::Losses::default(), ..read };
            write("raw", &Json::Verbatim(verbatim.to_owned()), &read, printer)
        }
        None => write("raw", &raw_json(&read.messages), &read, printer),
    }
}

pub(super) fn messages(args: &MessagesArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let document = document(args.file.as_deref())?;
    let input = InputArgs { file: None, request: None };
    let mut read = read(&document, &input)?;
    ensure!(
        read.shape == InputShape::Export,
        "not a chat export: `requests`, an array, is missing; `chat raw` and `chat wire` take messages"
    );
    let messages = match &*args.to {
        "raw" => raw_json(&read.messages),
        _ => to_wire(&read.messages, Api::Chat, &mut read.losses)
            .context("nothing is converted for this API")?,
    };
    write("messages", &messages, &read, printer)
}

fn document(file: Option<&Path>) -> anyhow::Result<Document> {
    request::read_as(file, Format::Generic)
}

fn read(document: &Document, input: &InputArgs) -> anyhow::Result<Messages> {
    read_messages(document, input.request)
        .map_err(|mut error| {
            error.pointer = masking::masked(&error.pointer);
            error
        })
        .context("cannot read the messages")
}

/// Writes the result and its losses: together as JSON, or apart for people.
fn write(name: &'static str, result: &Json, read: &Messages, printer: &mut Printer) -> anyhow::Result<Exit> {
    let losses = read.losses.all();
    let written = match printer.is_json {
        true => Json::Object(vec![
            (name, result.clone()),
            ("dropped", Json::Array(losses.iter().map(dropped).collect())),
        ]),
        false => result.clone(),
    };
    printer.json_text(&written.pretty())?;
    if let Some((number, count)) = read.request.filter(|(_, count)| *count > 1) {
        printer.error_line(&format!("leafgate: request {number} of {count} of the chat replay"));
    }
    if !printer.is_json {
        for loss in losses {
            printer.error_line(&format!("leafgate: {}: {}", place(loss), loss.reason));
        }
    }
    Ok(Exit::Done)
}

fn dropped(loss: &Loss) -> Json {
    Json::Object(vec![
        ("pointer", Json::text(masking::masked(&loss.pointer))),
        ("reason", loss.reason.into()),
    ])
}

fn place(loss: &Loss) -> String {
    if loss.pointer.is_empty() { "the file".to_owned() } else { masking::masked(&loss.pointer) }
}
