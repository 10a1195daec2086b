//! A table of results: named columns of equal length, written as CSV and as Parquet.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::FOOTER_SIZE;
use parquet::file::metadata::{FooterTail, KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::output::{OutputFile, write_file};

/// The values of a column. A missing value is `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text.
    Text(Vec<Option<String>>),
    /// Integers.
    Integer(Vec<Option<i64>>),
    /// Finite real numbers.
    Real(Vec<Option<f64>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    fn physical(&self) -> PhysicalType {
        match self {
            Self::Text(_) => PhysicalType::BYTE_ARRAY,
            Self::Integer(_) => PhysicalType::INT64,
            Self::Real(_) => PhysicalType::DOUBLE,
        }
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Values)>,
}

/// Errors of writing a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system failed.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The Parquet writer failed.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: String,
        /// The cause.
        source: ParquetError,
    },
}

impl Table {
    /// Creates a table without columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of text.
    #[must_use]
    pub fn text<S: Into<String>>(self, name: &str, values: impl IntoIterator<Item = S>) -> Self {
        self.with(name, Values::Text(values.into_iter().map(|value| Some(value.into())).collect()))
    }

    /// Adds a column of text that may be missing.
    #[must_use]
    pub fn optional_text<S: Into<String>>(
        self,
        name: &str,
        values: impl IntoIterator<Item = Option<S>>,
    ) -> Self {
        self.with(name, Values::Text(values.into_iter().map(|value| value.map(Into::into)).collect()))
    }

    /// Adds a column of integers; those above `i64::MAX` become missing.
    #[must_use]
    pub fn integer(self, name: &str, values: impl IntoIterator<Item = Option<u64>>) -> Self {
        let values = values.into_iter().map(|value| value.and_then(|value| i64::try_from(value).ok()));
        self.with(name, Values::Integer(values.collect()))
    }

    /// Adds a column of real numbers; those that are not finite become missing.
    #[must_use]
    pub fn real(self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        self.with(name, Values::Real(values.into_iter().map(|v| v.is_finite().then_some(v)).collect()))
    }

    fn with(mut self, name: &str, values: Values) -> Self {
        debug_assert!(
            self.columns.iter().all(|(_, other)| other.len() == values.len()),
            "column {name} has another length than those before it"
        );
        self.columns.push((name.to_owned(), values));
        self
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, values)| values.len())
    }

    /// Returns the columns with their names.
    pub fn into_columns(self) -> impl Iterator<Item = (String, Values)> {
        self.columns.into_iter()
    }

    /// Formats the table as CSV (RFC 4180, but lines end with a line feed). It has a header with the names,
    /// and an empty field for a missing value.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut csv = String::new();
        let names: Vec<String> = self.columns.iter().map(|(name, _)| quoted(name)).collect();
        csv.push_str(&names.join(","));
        csv.push('\n');
        for row in 0..self.rows() {
            for (number, (_, values)) in self.columns.iter().enumerate() {
                if number > 0 {
                    csv.push(',');
                }
                let field = match values {
                    Values::Text(values) => values[row].as_deref().map(quoted),
                    Values::Integer(values) => values[row].map(|value| value.to_string()),
                    Values::Real(values) => values[row].map(|value| value.to_string()),
                };
                csv.push_str(&field.unwrap_or_default());
            }
            csv.push('\n');
        }
        csv
    }

    /// Writes [`to_csv`](Self::to_csv) to `path`.
    ///
    /// # Errors
    /// The file system fails; the error has the path.
    pub fn write_csv(&self, path: &Path) -> Result<(), TableError> {
        write_file(path, self.to_csv().as_bytes()).map_err(|source| file_error(path, source))
    }

    /// Writes the table as Parquet, uncompressed, with `notes` as the file's key-value metadata.
    ///
    /// # Errors
    /// The file system or the Parquet writer fails; the error has the path.
    pub fn write_parquet(&self, path: &Path, notes: &[(&str, &str)]) -> Result<(), TableError> {
        let bytes = self
            .to_parquet(notes)
            .map_err(|source| TableError::Parquet { path: path.display().to_string(), source })?;
        write_file(path, &bytes).map_err(|source| file_error(path, source))
    }

    /// Returns the content of the file that [`write_parquet`](Self::write_parquet) writes. It is
    /// deterministic.
    ///
    /// # Errors
    /// The Parquet writer fails.
    pub fn to_parquet(&self, notes: &[(&str, &str)]) -> Result<Vec<u8>, ParquetError> {
        let mut out = Vec::new();
        let properties = properties(notes).build();
        let mut writer = SerializedFileWriter::new(&mut out, Arc::new(self.schema()?), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (_, values) in &self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match values {
                Values::Text(values) => {
                    let (values, levels) = dense(values, |text| ByteArray::from(text.as_bytes().to_vec()));
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
                Values::Integer(values) => {
                    let (values, levels) = dense(values, |&value| value);
                    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                Values::Real(values) => {
                    let (values, levels) = dense(values, |&value| value);
                    column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(out)
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let mut fields = Vec::with_capacity(self.columns.len());
        for (name, values) in &self.columns {
            let field = Type::primitive_type_builder(name, values.physical())
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(matches!(values, Values::Text(_)).then_some(LogicalType::String))
                .build()?;
            fields.push(Arc::new(field));
        }
        Type::group_type_builder("table").with_fields(fields).build()
    }
}

/// Writes Parquet files one below the other into one Parquet file, with the number of the part, from 0, as a
/// first column `number`. All parts have the columns of `columns`. Only one part is in memory at a time.
///
/// # Errors
/// A part cannot be read, or the file system or the Parquet writer fails; the error has the path.
pub fn write_parts(
    path: &Path,
    (number, columns): (&str, Table),
    parts: impl Iterator<Item = io::Result<Vec<u8>>>,
    notes: &[(&str, &str)],
) -> Result<(), TableError> {
    let file = |source| file_error(path, source);
    let parquet = |source| TableError::Parquet { path: path.display().to_string(), source };
    let mut all = Table::new().integer(number, []);
    all.columns.extend(columns.columns);
    // The parts' index of pages is not copied, so there is none of the first column.
    let properties = properties(notes)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let schema = all.schema().map_err(parquet)?;
    let output = OutputFile::create(path).map_err(file)?;
    let out = output.writer().map_err(file)?;
    let mut writer =
        SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(parquet)?;
    for (number, part) in (0..).zip(parts) {
        append(&mut writer, number, &part.map_err(file)?.into()).map_err(parquet)?;
    }
    writer.close().map_err(parquet)?;
    output.commit().map_err(file)
}

/// Copies the encoded columns of a Parquet file, after a column of its number.
fn append(
    writer: &mut SerializedFileWriter<impl io::Write + Send>,
    number: i64,
    part: &Bytes,
) -> Result<(), ParquetError> {
    for group in metadata(part)?.row_groups() {
        let rows = group.num_rows() as usize;
        let mut copy = writer.next_row_group()?;
        if let Some(mut column) = copy.next_column()? {
            column.typed::<Int64Type>().write_batch(&vec![number; rows], Some(&vec![1; rows]), None)?;
            column.close()?;
        }
        for column in group.columns() {
            let closed = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: rows as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            copy.append_column(part, closed)?;
        }
        copy.close()?;
    }
    Ok(())
}

fn properties(notes: &[(&str, &str)]) -> WriterPropertiesBuilder {
    let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
    WriterProperties::builder().set_key_value_metadata(Some(notes.collect()))
}

/// Reads the metadata of a Parquet file.
fn metadata(file: &[u8]) -> Result<ParquetMetaData, ParquetError> {
    let short = || ParquetError::General("not a whole Parquet file".to_owned());
    let tail = file.len().checked_sub(FOOTER_SIZE).ok_or_else(short)?;
    let (body, tail) = file.split_at(tail);
    let length = FooterTail::try_from(tail)?.metadata_length();
    ParquetMetaDataReader::decode_metadata(&body[body.len().checked_sub(length).ok_or_else(short)?..])
}

/// Returns a note of a Parquet file; `None` if it has no such note, or is not a Parquet file.
#[must_use]
pub fn parquet_note(file: &[u8], name: &str) -> Option<String> {
    let metadata = metadata(file).ok()?;
    let notes = metadata.file_metadata().key_value_metadata()?;
    notes.iter().find(|note| note.key == name)?.value.clone()
}

/// Returns the present values, and for each row whether it has a value (Parquet's definition levels).
fn dense<V, P>(values: &[Option<V>], parquet: impl Fn(&V) -> P) -> (Vec<P>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().map(parquet).collect(), levels)
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn file_error(path: &Path, source: io::Error) -> TableError {
    TableError::File { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn table() -> Table {
        Table::new()
            .text("scheme", ["adaptive", "C-SCTP, \"bicast\""])
            .integer("bytes", [Some(17), None])
            .real("mean", [0.5, f64::NAN])
    }

    #[test]
    fn csv_quotes_where_needed_and_leaves_missing_values_empty() {
        assert_eq!(table().to_csv(), "scheme,bytes,mean\nadaptive,17,0.5\n\"C-SCTP, \"\"bicast\"\"\",,\n");
    }

    #[test]
    fn parquet_reads_back_with_its_notes() {
        let bytes = table().to_parquet(&[("version", "0.1.0")]).unwrap();
        assert_eq!(parquet_note(&bytes, "version").as_deref(), Some("0.1.0"));
        assert_eq!(parquet_note(&bytes, "commit"), None);
        assert_eq!(parquet_note(&bytes[..bytes.len() - 1], "version"), None, "truncated");
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let metadata = reader.metadata().file_metadata();
        let note = &metadata.key_value_metadata().unwrap()[0];
        assert_eq!((note.key.as_str(), note.value.as_deref()), ("version", Some("0.1.0")));
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get_string(0).unwrap(), "adaptive");
        assert_eq!(rows[0].get_long(1).unwrap(), 17);
        assert_eq!(rows[0].get_double(2).unwrap(), 0.5);
        assert_eq!(rows[1].get_string(0).unwrap(), "C-SCTP, \"bicast\"");
        assert!(rows[1].get_long(1).is_err(), "the missing value is null, not zero");
        assert!(rows[1].get_double(2).is_err());
    }
}
