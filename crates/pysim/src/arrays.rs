//! Numpy arrays as they come in: type, shape and range are looked at before anything is done with them.

use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods};
use numpy::{PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An argument, and one that may be left out.
pub type Given<'a, 'py> = &'a Bound<'py, PyAny>;
pub type Perhaps<'a, 'py> = Option<Given<'a, 'py>>;

/// What is wrong with an argument.
pub fn wrong(name: &str, what: impl AsRef<str>) -> PyErr {
    PyValueError::new_err(format!("{name}: {}", what.as_ref()))
}

/// An array of the wanted type and shape. It is a copy: while it is worked on without the interpreter, others may write into
/// what it was given as.
pub struct Numbers<T> {
    name: &'static str,
    numbers: Vec<T>,
    columns: usize,
}

impl<T: Element + Copy> Numbers<T> {
    /// Read an argument. In `shape`, None stands for any length.
    pub fn read(name: &'static str, shape: &[Option<usize>], given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let lengths: Vec<String> =
            shape.iter().map(|length| length.map_or("n".to_owned(), |length| length.to_string())).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let kind = dtype::<T>(given.py());
        let wanted = format!("give an array of {kind} of shape ({}{comma})", lengths.join(", "));
        let Ok(untyped) = given.cast::<PyUntypedArray>() else {
            return Err(wrong(name, format!("this is {}, no array: {wanted}", given.get_type().name()?)));
        };
        let found = untyped.shape();
        let fits = found.len() == shape.len()
            && shape.iter().zip(found).all(|(want, have)| want.is_none_or(|want| want == *have));
        if !fits || !untyped.dtype().is_equiv_to(&kind) {
            let shape = given.getattr("shape")?;
            return Err(wrong(name, format!("this is an array of {} of shape {shape}: {wanted}", untyped.dtype())));
        }
        let array = given.cast::<PyArrayDyn<T>>()?.readonly();
        // as_slice takes Fortran's order too, and gives it as it lies
        match array.as_slice() {
            Ok(numbers) if untyped.is_c_contiguous() => {
                Ok(Numbers { name, numbers: numbers.to_vec(), columns: found.get(1).copied().unwrap_or(1) })
            }
            _ => Err(wrong(name, "its numbers do not lie in order: give numpy.ascontiguousarray of it")),
        }
    }

    /// The same of an argument that may be left out.
    pub fn perhaps(name: &'static str, shape: &[Option<usize>], given: Perhaps<'_, '_>) -> PyResult<Option<Self>> {
        given.map(|given| Numbers::read(name, shape, given)).transpose()
    }
}

impl<T> Numbers<T> {
    /// The numbers, row by row.
    pub fn slice(&self) -> &[T] {
        &self.numbers
    }

    /// The numbers as they are.
    pub fn take(self) -> Vec<T> {
        self.numbers
    }

    /// The rows with their numbers.
    pub fn rows<const N: usize>(&self) -> impl Iterator<Item = (usize, [T; N])>
    where
        T: Copy,
    {
        self.slice().chunks_exact(N).map(|row| row.try_into().expect("of N numbers")).enumerate()
    }

    /// How many numbers a row of a table has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// What is wrong with a row.
    pub fn wrong(&self, row: usize, what: impl AsRef<str>) -> PyErr {
        wrong(self.name, format!("row {row}: {}", what.as_ref()))
    }
}

impl<T: Copy + Into<u64>> Numbers<T> {
    /// A number that counts things of which there are `count`.
    #[inline]
    pub fn one_of(&self, row: usize, what: &str, value: T, count: usize, things: &str) -> PyResult<u32> {
        let value = value.into();
        // counts are below 2^32: engine.rs looks at every one of them
        if value < count as u64 {
            return Ok(value as u32);
        }
        Err(self.not_one_of(row, what, value, count, things))
    }

    #[cold]
    fn not_one_of(&self, row: usize, what: &str, value: u64, count: usize, things: &str) -> PyErr {
        self.wrong(row, format!("{what} is {value}, and there are {count} {things}"))
    }

    /// A number within bounds.
    #[inline]
    pub fn within(&self, row: usize, what: &str, value: T, least: u64, most: u64) -> PyResult<u64> {
        let value = value.into();
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(self.not_within(row, what, value, least, most))
    }

    #[cold]
    fn not_within(&self, row: usize, what: &str, value: u64, least: u64, most: u64) -> PyErr {
        self.wrong(row, format!("{what} is {value}: give {least} to {most}"))
    }
}
