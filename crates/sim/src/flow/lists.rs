//! Lists by number, in two flat arrays.

/// Lists by number: `items[first[n]..first[n + 1]]`, from pairs of number and item in the order of the items.
pub fn lists<T: Copy + Default>(count: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> (Vec<u32>, Vec<T>) {
    let mut first = vec![0u32; count + 1];
    pairs.clone().for_each(|(number, _)| first[number as usize + 1] += 1);
    (1..first.len()).for_each(|number| first[number] += first[number - 1]);
    let mut items = vec![T::default(); first[count] as usize];
    let mut next = first.clone();
    for (number, item) in pairs {
        items[next[number as usize] as usize] = item;
        next[number as usize] += 1;
    }
    (first, items)
}
