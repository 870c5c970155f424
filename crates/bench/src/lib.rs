//! How fast the engines are: `cargo bench --package railweave-bench`.
