//! Numpy arrays as they come in: type, shape and range are looked at before anything is done with them.

use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
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

/// An array of the wanted type and shape.
pub struct Numbers<'py, T: Element> {
    name: &'static str,
    array: PyReadonlyArrayDyn<'py, T>,
}

impl<'py, T: Element> Numbers<'py, T> {
    /// Read an argument. In `shape`, None stands for any length.
    pub fn read(name: &'static str, shape: &[Option<usize>], given: &Bound<'py, PyAny>) -> PyResult<Self> {
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
        if !untyped.is_c_contiguous() || array.as_slice().is_err() {
            return Err(wrong(name, "its numbers do not lie in order: give numpy.ascontiguousarray of it"));
        }
        Ok(Numbers { name, array })
    }

    /// The numbers, row by row.
    pub fn slice(&self) -> &[T] {
        self.array.as_slice().expect("it lies in order: read looked")
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
        self.array.shape()[1]
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.slice().len()
    }

    /// What is wrong with a row.
    pub fn wrong(&self, row: usize, what: impl AsRef<str>) -> PyErr {
        wrong(self.name, format!("row {row}: {}", what.as_ref()))
    }
}

impl<T: Element + Copy + Into<u64>> Numbers<'_, T> {
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
