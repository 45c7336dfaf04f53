use thalweg_core::{Argument, Bool, DType, Element, KernelRegistry, Result, Tensor};

fn run<T: Element>(
    operator: &str,
    mut arguments: Vec<Argument>,
    out: Tensor,
) -> Result<(Vec<usize>, Vec<T>)> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    let position = arguments.len();
    arguments.push(out.into());
    let results = registry.get(operator).unwrap().invoke(arguments)?;
    let out = results[position].tensor()?.to_row_major()?;
    Ok((out.sizes().to_vec(), out.data::<T>()?.to_vec()))
}

fn out(rank: usize) -> Tensor {
    Tensor::zeros(DType::F32, &vec![0; rank]).unwrap()
}

fn counted(sizes: &[usize]) -> Tensor {
    let data: Vec<f32> = (0..sizes.iter().product())
        .map(|i: usize| i as f32)
        .collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn longs(data: &[i64], sizes: &[usize]) -> Tensor {
    Tensor::from_slice(data, sizes).unwrap()
}

fn mask(data: &[u8], sizes: &[usize]) -> Tensor {
    let data: Vec<Bool> = data.iter().map(|&b| Bool::from(b != 0)).collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn indexed(x: Tensor, indices: Vec<Option<Tensor>>, rank: usize) -> Result<(Vec<usize>, Vec<f32>)> {
    let arguments = vec![x.into(), Argument::TensorList(indices)];
    run("aten::index.Tensor_out", arguments, out(rank))
}

#[test]
fn an_embedding_is_rows_of_a_table() {
    let rows = |indices: Tensor| {
        let flags = [(-1).into(), false.into(), false.into()];
        let arguments = [
            vec![counted(&[3, 2]).into(), indices.into()],
            flags.to_vec(),
        ]
        .concat();
        run::<f32>("aten::embedding.out", arguments, out(3))
    };
    let (sizes, data) = rows(longs(&[2, 0], &[1, 2])).unwrap();
    assert_eq!((sizes, data), (vec![1, 2, 2], vec![4.0, 5.0, 0.0, 1.0]));
    let short = Tensor::from_slice(&[1i32, 1], &[2, 1]).unwrap();
    assert_eq!(rows(short).unwrap().1, [2.0, 3.0, 2.0, 3.0]);
    for wrong in [3, -1, i64::MIN] {
        let error = rows(longs(&[wrong], &[1, 1])).unwrap_err();
        let message = format!("index {wrong} is out of range for a dimension of size 3");
        assert_eq!(error.message(), message);
    }
}

#[test]
fn selecting_columns_takes_them_in_the_order_of_the_index() {
    let arguments = vec![
        counted(&[2, 3]).into(),
        1.into(),
        longs(&[2, 2, 0], &[3]).into(),
    ];
    let (sizes, data) = run::<f32>("aten::index_select.out", arguments, out(2)).unwrap();
    assert_eq!(
        (sizes, data),
        (vec![2, 3], vec![2.0, 2.0, 0.0, 5.0, 5.0, 3.0])
    );
}

#[test]
fn the_result_of_neighbouring_indices_stands_in_their_place() {
    let (i, j) = (longs(&[0, 1], &[2]), longs(&[-1], &[1]));
    let (sizes, data) = indexed(counted(&[2, 2, 3]), vec![None, Some(i), Some(j)], 2).unwrap();
    assert_eq!((sizes, data), (vec![2, 2], vec![2.0, 5.0, 8.0, 11.0]));
}

#[test]
fn the_result_of_indices_apart_stands_in_front() {
    let (i, j) = (longs(&[0, 1, 1], &[3]), longs(&[2], &[1]));
    let (sizes, data) = indexed(counted(&[2, 2, 3]), vec![Some(i), None, Some(j)], 2).unwrap();
    assert_eq!(
        (sizes, data),
        (vec![3, 2], vec![2.0, 5.0, 8.0, 11.0, 8.0, 11.0])
    );
}

#[test]
fn indices_broadcast() {
    let (i, j) = (longs(&[0, 1], &[2, 1]), longs(&[0, 2], &[2]));
    let (sizes, data) = indexed(counted(&[2, 3]), vec![Some(i), Some(j)], 2).unwrap();
    assert_eq!((sizes, data), (vec![2, 2], vec![0.0, 2.0, 3.0, 5.0]));
    let (i, j) = (longs(&[0, 1], &[2]), longs(&[0, 1, 0], &[3]));
    let error = indexed(counted(&[2, 3]), vec![Some(i), Some(j)], 1).unwrap_err();
    assert!(error.message().contains("do not broadcast"), "{error}");
}

#[test]
fn a_mask_counts_as_an_index_for_each_of_its_dimensions() {
    let x = || counted(&[2, 2, 2]);
    let (sizes, data) = indexed(x(), vec![Some(mask(&[0, 1, 1, 0], &[2, 2]))], 2).unwrap();
    assert_eq!((sizes, data), (vec![2, 2], vec![2.0, 3.0, 4.0, 5.0]));
    let (sizes, _) = indexed(x(), vec![None, Some(mask(&[0, 0], &[2]))], 3).unwrap();
    assert_eq!(sizes, [2, 0, 2]);
    assert!(indexed(x(), vec![Some(mask(&[1, 1, 1], &[3]))], 3).is_err());
}

#[test]
fn too_many_indices_are_refused() {
    let index = || Some(longs(&[0], &[1]));
    assert!(indexed(counted(&[2]), vec![index(), index()], 1).is_err());
    assert!(indexed(counted(&[2]), vec![None, index()], 1).is_err());
    assert!(indexed(counted(&[2]), vec![None, None], 1).is_err());
}

#[test]
fn putting_writes_over_or_adds_up() {
    let put = |accumulate: bool| {
        let index = Argument::TensorList(vec![Some(longs(&[1, 1, -1], &[3]))]);
        let values = Tensor::from_slice(&[10f32, 20.0, 30.0], &[3]).unwrap();
        let arguments = vec![
            counted(&[3]).into(),
            index,
            values.into(),
            accumulate.into(),
        ];
        run::<f32>("aten::index_put.out", arguments, out(1))
            .unwrap()
            .1
    };
    assert_eq!(put(false), [0.0, 20.0, 30.0]);
    assert_eq!(put(true), [0.0, 31.0, 32.0]);
}

#[test]
fn putting_in_place_repeats_the_values_over_what_is_selected() {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    let index = Argument::TensorList(vec![None, Some(longs(&[2, 0], &[2]))]);
    let values = Tensor::from_slice(&[-1f32, -2.0], &[2]).unwrap();
    let arguments = vec![counted(&[2, 3]).into(), index, values.into(), false.into()];
    let results = registry
        .get("aten::index_put_")
        .unwrap()
        .invoke(arguments)
        .unwrap();
    let data = results[0].tensor().unwrap();
    assert_eq!(
        data.data::<f32>().unwrap(),
        [-2.0, 1.0, -1.0, -2.0, 4.0, -1.0]
    );
}

#[test]
fn gathering_reads_where_the_index_says() {
    let gather = |index: Tensor| {
        let arguments = vec![
            counted(&[2, 3]).into(),
            1.into(),
            index.into(),
            false.into(),
        ];
        run::<f32>("aten::gather.out", arguments, out(2))
    };
    let (sizes, data) = gather(longs(&[2, 0, 1, 1], &[2, 2])).unwrap();
    assert_eq!((sizes, data), (vec![2, 2], vec![2.0, 0.0, 4.0, 4.0]));
    assert!(gather(longs(&[0, 3], &[1, 2])).is_err());
    assert!(gather(longs(&[0, 0, 0], &[3, 1])).is_err());
}

#[test]
fn gathering_from_columns_in_memory_gives_the_same() {
    let bytes = bytemuck::cast_slice(&[0f32, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let x = Tensor::from_bytes(DType::F32, &[2, 3], &[1, 0], bytes).unwrap();
    let index = Tensor::from_bytes(
        DType::I64,
        &[2, 2],
        &[1, 0],
        bytemuck::cast_slice(&[2i64, 1, 0, 1]),
    )
    .unwrap();
    let arguments = vec![x.into(), 1.into(), index.into(), false.into()];
    let (_, data) = run::<f32>("aten::gather.out", arguments, out(2)).unwrap();
    assert_eq!(data, [2.0, 0.0, 4.0, 4.0]);
}

#[test]
fn scattering_writes_where_the_index_says() {
    let index = || longs(&[2, 0, 1, 1], &[2, 2]).into();
    let zeros = || Tensor::zeros(DType::F32, &[2, 3]).unwrap().into();
    let source = || {
        Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])
            .unwrap()
            .into()
    };
    let arguments = vec![zeros(), (-1).into(), index(), source()];
    let (_, data) = run::<f32>("aten::scatter.src_out", arguments, out(2)).unwrap();
    assert_eq!(data, [2.0, 0.0, 1.0, 0.0, 4.0, 0.0]);
    let arguments = vec![zeros(), (-1).into(), index(), source()];
    let (_, data) = run::<f32>("aten::scatter_add.out", arguments, out(2)).unwrap();
    assert_eq!(data, [2.0, 0.0, 1.0, 0.0, 7.0, 0.0]);
    let arguments = vec![zeros(), (-1).into(), index(), 7.into()];
    let (_, data) = run::<f32>("aten::scatter.value_out", arguments, out(2)).unwrap();
    assert_eq!(data, [7.0, 0.0, 7.0, 0.0, 7.0, 0.0]);
}

#[test]
fn positions_of_what_is_not_zero_come_in_logical_order() {
    let x = Tensor::from_slice(&[0f32, f32::NAN, -0.0, 3.0], &[2, 2]).unwrap();
    for order in [[0, 1], [1, 0]] {
        let out = Tensor::zeros_in_order(DType::I64, &[0, 2], &order).unwrap();
        let (sizes, data) = run::<i64>("aten::nonzero.out", vec![(&x).into()], out).unwrap();
        assert_eq!((sizes, data), (vec![2, 2], vec![0, 1, 1, 1]));
    }
    let scalar = Tensor::from_slice(&[1f32], &[]).unwrap();
    let out = Tensor::zeros(DType::I64, &[0, 0]).unwrap();
    let (sizes, _) = run::<i64>("aten::nonzero.out", vec![scalar.into()], out).unwrap();
    assert_eq!(sizes, [1, 0]);
}

#[test]
fn what_a_mask_leaves_out_at_the_end_is_written_nowhere() {
    for (truths, count) in [
        (&[1u8, 1, 0, 0, 0, 0][..], 2),
        (&[0; 6], 0),
        (&[1; 6], 6),
        (&[0, 0, 0, 0, 1, 0], 1),
    ] {
        let found: (Vec<usize>, Vec<i64>) = run(
            "aten::nonzero.out",
            vec![mask(truths, &[2, 3]).into()],
            Tensor::zeros(DType::I64, &[0, 0]).unwrap(),
        )
        .unwrap();
        let positions = truths.iter().enumerate().filter(|(_, t)| **t != 0);
        let expected: Vec<_> = positions
            .clone()
            .flat_map(|(at, _)| [at as i64 / 3, at as i64 % 3])
            .collect();
        assert_eq!(found, (vec![count, 2], expected));
        let arguments = vec![counted(&[2, 3]).into(), mask(truths, &[2, 3]).into()];
        let found: (Vec<usize>, Vec<f32>) =
            run("aten::masked_select.out", arguments, out(1)).unwrap();
        let expected: Vec<_> = positions.map(|(at, _)| at as f32).collect();
        assert_eq!(found, (vec![count], expected));
    }
}

#[test]
fn a_mask_and_what_it_selects_from_broadcast() {
    let arguments = vec![counted(&[2, 1]).into(), mask(&[1, 0, 1], &[3]).into()];
    let (sizes, data) = run::<f32>("aten::masked_select.out", arguments, out(1)).unwrap();
    assert_eq!((sizes, data), (vec![4], vec![0.0, 0.0, 1.0, 1.0]));
    let source = Tensor::from_slice(&[7f32, 8.0, 9.0], &[3]).unwrap();
    let masked = mask(&[1, 0, 1], &[3]);
    let arguments = vec![counted(&[3]).into(), masked.into(), source.into()];
    let (_, data) = run::<f32>("aten::masked_scatter.out", arguments, out(1)).unwrap();
    assert_eq!(data, [7.0, 1.0, 8.0]);
}

/// Numbers are results of PyTorch.
mod bags {
    use thalweg_core::{Argument, Tensor};

    use super::super::register;
    use crate::testing::{assert_close, integers, invoke, numbers, out};
    use thalweg_core::{DType, Result};

    fn bags(
        offsets: &[i64],
        mode: i64,
        weights: Option<&[f32]>,
        with_end: bool,
        padding: i64,
    ) -> Result<Vec<Argument>> {
        let list = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
        let weights = weights.map_or(Argument::None, |weights| {
            Tensor::from_slice(weights, &[weights.len()])
                .unwrap()
                .into()
        });
        let arguments = vec![
            numbers(&[5, 3]).into(),
            list(&[1, 2, 4, 0, 4]).into(),
            list(offsets).into(),
            false.into(),
            mode.into(),
            false.into(),
            weights,
            with_end.into(),
            padding.into(),
            out(DType::F32, 2),
            out(DType::I64, 1),
            out(DType::I64, 1),
            out(DType::I64, if mode == 2 { 2 } else { 1 }),
        ];
        invoke(register, "aten::_embedding_bag.out", arguments)
    }

    fn check(results: &[Argument], expected: &[f32], numbers: [&[i64]; 3]) {
        assert_close(&results[9], expected);
        for (result, expected) in results[10..].iter().zip(numbers) {
            assert_eq!(integers(result), expected);
        }
    }

    #[test]
    fn bags_of_rows_are_summed_averaged_or_searched_for_the_largest() {
        let of_indices: &[i64] = &[0, 0, 0, 2, 2];
        let sums = [7.0, -1.0, 2.0, 0.0, 0.0, 0.0, -3.0, 0.0, 3.0];
        let results = bags(&[0, 3, 3], 0, None, false, 2).unwrap();
        check(&results, &sums, [of_indices, &[0; 3], &[0; 3]]);
        let means = [3.5, -0.5, 1.0, 0.0, 0.0, 0.0, -1.5, 0.0, 1.5];
        let results = bags(&[0, 3, 3], 1, None, false, 2).unwrap();
        check(&results, &means, [of_indices, &[2, 0, 2], &[2, 0, 2]]);
        let largest = [5.0, 1.0, 5.0, 0.0, 0.0, 0.0, 2.0, 2.0, 5.0];
        let results = bags(&[0, 3, 3], 2, None, false, 2).unwrap();
        let places = &[1, 1, 4, 0, 0, 0, 4, 0, 4];
        check(&results, &largest, [of_indices, &[2, 0, 2], places]);
    }

    #[test]
    fn rows_of_a_sum_can_be_scaled_and_then_the_bags_of_indices_are_not_told() {
        let scales = [1.0, 2.0, -1.0, 0.5, 3.0];
        let sums = [11.0, 3.0, -16.0, 0.0, 0.0, 0.0, 3.5, -5.0, 14.0];
        let results = bags(&[0, 3, 3], 0, Some(&scales), false, -1).unwrap();
        check(&results, &sums, [&[], &[0; 3], &[0; 3]]);
        assert!(bags(&[0, 3, 3], 1, Some(&scales), false, -1).is_err());
    }

    #[test]
    fn indices_behind_the_last_bag_are_left_out_but_counted_in_it() {
        let means = [4.5, 0.5, -3.5, 0.666_667, -0.666_667, 1.666_667];
        let results = bags(&[0, 2, 3], 1, None, true, -1).unwrap();
        check(&results, &means, [&[0, 0, 1, 1, 1], &[2, 3], &[2, 3]]);
    }

    #[test]
    fn bags_that_do_not_follow_one_another_are_refused() {
        for offsets in [&[1, 3][..], &[0, 3, 2], &[0, 6]] {
            let error = bags(offsets, 0, None, false, -1).unwrap_err();
            assert!(error.to_string().contains("bags of 5 indices"), "{error}");
        }
        let error = bags(&[], 0, None, true, -1).unwrap_err();
        assert!(error.to_string().contains("bags of 5 indices"), "{error}");
    }
}

mod repeats {
    use thalweg_core::{Argument, DType, Result, Tensor};

    use super::super::register;
    use crate::testing::{integers, invoke, out};

    fn repeated(counts: &[i64], total: Option<i64>) -> Result<Vec<i64>> {
        let counts = Tensor::from_slice(counts, &[counts.len()]).unwrap();
        let total = total.map_or(Argument::None, Argument::from);
        let arguments = vec![counts.into(), total, out(DType::I64, 1)];
        let results = invoke(register, "aten::repeat_interleave.Tensor_out", arguments)?;
        Ok(integers(&results[2]))
    }

    #[test]
    fn positions_are_repeated_as_often_as_counted() {
        assert_eq!(repeated(&[2, 0, 3], None).unwrap(), [0, 0, 2, 2, 2]);
        assert_eq!(repeated(&[], Some(0)).unwrap(), [0i64; 0]);
    }

    #[test]
    fn negative_counts_and_broken_promises_are_refused() {
        let message = |counts: &[i64], total| repeated(counts, total).unwrap_err().to_string();
        assert!(message(&[1, -1], None).contains("-1 times"));
        assert!(message(&[1, 2], Some(4)).contains("a sum of 3"));
    }
}
