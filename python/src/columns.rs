//! Named columns whose memory numpy arrays and Arrow arrays share.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch,
    RecordBatchIterator, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema};
use msctp_experiments::table::{Table, Values};
use numpy::ndarray::ArrayView1;
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::run_error;

/// The values of a column.
enum Column {
    /// Real numbers. A missing value is NaN in memory, and null in Arrow.
    Real(PrimitiveArray<Float64Type>),
    Integer(PrimitiveArray<Int64Type>),
    Text(StringArray),
    /// Repeated texts: the number of each row's text, and the texts.
    Key(DictionaryArray<Int32Type>),
}

/// Named columns of equal length.
#[pyclass(frozen, module = "msctp._native")]
pub(crate) struct Columns(Vec<(String, Column)>);

/// A column in Python: its name, its values or numbers of texts, and its texts.
type Part<'py> = (String, Option<Bound<'py, PyAny>>, Option<Vec<String>>);

impl Columns {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    fn with(mut self, name: &str, column: Column) -> Self {
        self.0.push((name.to_owned(), column));
        self
    }

    /// Adds a column of real numbers, in which NaN is a missing value.
    pub(crate) fn real(self, name: &str, values: Vec<f64>) -> Self {
        let nulls = if values.iter().any(|value| value.is_nan()) {
            Some(NullBuffer::from_iter(values.iter().map(|value| !value.is_nan())))
        } else {
            None
        };
        self.with(name, Column::Real(PrimitiveArray::new(ScalarBuffer::from(values), nulls)))
    }

    pub(crate) fn integer(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        let values: Vec<i64> = values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        self.with(name, Column::Integer(values.into()))
    }

    /// Adds a column of repeated texts.
    pub(crate) fn key<'t>(self, name: &str, values: impl Iterator<Item = &'t str>) -> Self {
        let (mut rows, mut texts, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut last = None;
        for text in values {
            // Rows of one association follow each other.
            let number = match last {
                Some((number, of)) if of == text => number,
                _ => *known.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as i32 - 1
                }),
            };
            last = Some((number, text));
            rows.push(number);
        }
        self.keyed(name, rows, &texts)
    }

    fn keyed<S: AsRef<str>>(self, name: &str, rows: Vec<i32>, texts: &[S]) -> Self {
        let texts: StringArray = texts.iter().map(|text| Some(text.as_ref())).collect();
        self.with(name, Column::Key(DictionaryArray::new(Int32Array::from(rows), Arc::new(texts))))
    }

    /// Removes the columns whose name `keep` rejects.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_from_iter_with_nullable(self.0.iter().map(|(name, column)| {
            let array: ArrayRef = match column {
                Column::Real(values) => Arc::new(values.clone()),
                Column::Integer(values) => Arc::new(values.clone()),
                Column::Text(values) => Arc::new(values.clone()),
                Column::Key(values) => Arc::new(values.clone()),
            };
            let nullable = !matches!(column, Column::Key(_));
            (name, array, nullable)
        }))
    }
}

impl From<Table> for Columns {
    fn from(table: Table) -> Self {
        table.into_columns().fold(Self::new(), |columns, (name, values)| match values {
            Values::Real(values) => {
                columns.real(&name, values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
            }
            Values::Integer(values) => columns.with(&name, Column::Integer(values.into())),
            Values::Text(values) => columns.with(&name, Column::Text(values.into())),
        })
    }
}

/// Returns a read-only numpy array of the values of `array`, which `owner` keeps alive.
fn view<'py, T>(owner: &Bound<'py, Columns>, array: &PrimitiveArray<T>) -> Bound<'py, PyAny>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    let values = ArrayView1::from(&**array.values());
    // SAFETY: the buffer lives as long as `owner`, which the array keeps alive, and nothing writes to it.
    // The class is frozen, Arrow's consumers may not write, and the array becomes read-only before it returns.
    #[expect(unsafe_code)]
    let array = unsafe { PyArray1::borrow_from_array(&values, owner.clone().into_any()) };
    drop(array.readwrite().make_nonwriteable());
    array.into_any()
}

fn texts(array: &StringArray) -> Vec<String> {
    array.iter().map(|text| text.unwrap_or_default().to_owned()).collect()
}

#[pymethods]
impl Columns {
    /// Creates columns from parts, as the inverse of `parts`, for pickle.
    #[new]
    fn from_parts(parts: Vec<Part<'_>>) -> PyResult<Self> {
        parts.into_iter().try_fold(Self::new(), |columns, (name, values, texts)| {
            let Some(values) = values else {
                return Ok(columns.with(&name, Column::Text(texts.unwrap_or_default().into())));
            };
            if let (Some(texts), Ok(rows)) = (&texts, values.extract::<PyReadonlyArray1<'_, i32>>()) {
                return Ok(columns.keyed(&name, rows.as_array().to_vec(), texts));
            }
            if let Ok(values) = values.extract::<PyReadonlyArray1<'_, i64>>() {
                return Ok(columns.with(&name, Column::Integer(values.as_array().to_vec().into())));
            }
            if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
                return Ok(columns.real(&name, values.as_array().to_vec()));
            }
            Err(PyTypeError::new_err(format!("column {name}: want int64, float64 or texts")))
        })
    }

    /// Returns each column's name, values and texts. The values share their memory with the column.
    fn parts<'py>(slf: &Bound<'py, Self>) -> Vec<Part<'py>> {
        let part = |(name, column): &(String, Column)| match column {
            Column::Real(values) => (name.clone(), Some(view(slf, values)), None),
            Column::Integer(values) if values.null_count() > 0 => {
                let real = values.iter().map(|value| value.map_or(f64::NAN, |value| value as f64));
                let real: Vec<_> = real.collect();
                (name.clone(), Some(real.into_pyarray(slf.py()).into_any()), None)
            }
            Column::Integer(values) => (name.clone(), Some(view(slf, values)), None),
            Column::Text(values) => (name.clone(), None, Some(texts(values))),
            Column::Key(values) => {
                let known = values.values().as_any().downcast_ref::<StringArray>();
                (name.clone(), Some(view(slf, values.keys())), Some(known.map_or_else(Vec::new, texts)))
            }
        };
        slf.get().0.iter().map(part).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Vec<Part<'py>>,)) {
        (slf.get_type().into_any(), (Self::parts(slf),))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch().map_err(run_error)?.schema().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(run_error)?, c"arrow_schema")
    }

    /// Exports the columns as a struct array. Ignores the requested schema, which the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let batch = StructArray::from(self.batch().map_err(run_error)?);
        let (array, schema) = to_ffi(&batch.to_data()).map_err(run_error)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// Exports the columns as a stream of one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batch = self.batch().map_err(run_error)?;
        let schema: Arc<Schema> = batch.schema();
        let reader = RecordBatchIterator::new(iter::once(Ok(batch)), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
