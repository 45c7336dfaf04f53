use thalweg_core::{Argument, Bool, Complex32, DType, Element, KernelRegistry, Result, Tensor};

fn run(operator: &str, arguments: Vec<Argument>) -> Result<Vec<Argument>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    registry.get(operator).unwrap().invoke(arguments)
}

/// Runs an operator with one output, which follows the arguments given, and gives back its shape
/// and its elements in logical order.
fn result<T: Element>(
    operator: &str,
    arguments: Vec<Argument>,
    rank: usize,
) -> Result<(Vec<usize>, Vec<T>)> {
    let out = Tensor::zeros(T::DTYPE, &vec![0; rank]).unwrap();
    result_in(operator, arguments, out)
}

fn result_in<T: Element>(
    operator: &str,
    mut arguments: Vec<Argument>,
    out: Tensor,
) -> Result<(Vec<usize>, Vec<T>)> {
    let position = arguments.len();
    arguments.push(out.into());
    let results = run(operator, arguments)?;
    let out = results[position].tensor()?.to_row_major()?;
    Ok((out.sizes().to_vec(), out.data::<T>()?.to_vec()))
}

fn counted(sizes: &[usize]) -> Tensor {
    let data: Vec<f32> = (0..sizes.iter().product())
        .map(|i: usize| i as f32)
        .collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn channels_last(sizes: &[usize]) -> Tensor {
    let plain = counted(sizes);
    let out = Tensor::zeros_in_order(DType::F32, sizes, &[0, 2, 3, 1]).unwrap();
    let copied = run("aten::alias_copy.out", vec![plain.into(), out.into()]).unwrap();
    copied[1].tensor().unwrap().clone()
}

fn ints(list: &[i64]) -> Argument {
    list.into()
}

#[test]
fn permuting_moves_every_element_to_its_place() {
    // Larger than a tile, and not a multiple of one.
    let (rows, columns) = (67, 131);
    for dtype in [
        DType::U8,
        DType::F16,
        DType::F32,
        DType::I64,
        DType::ComplexF64,
    ] {
        let size = dtype.size();
        let bytes: Vec<u8> = (0..rows * columns * size)
            .map(|i| (i * 7 / 3) as u8)
            .collect();
        let x = Tensor::from_bytes(dtype, &[rows, columns], &[0, 1], &bytes).unwrap();
        let out = Tensor::zeros(dtype, &[0, 0]).unwrap();
        let arguments = vec![x.into(), ints(&[1, 0]), out.into()];
        let results = run("aten::permute_copy.out", arguments).unwrap();
        let out = results[2].tensor().unwrap();
        assert_eq!(out.sizes(), [columns, rows]);
        for row in 0..rows {
            for column in 0..columns {
                let from = &bytes[(row * columns + column) * size..][..size];
                let to = &out.view().bytes()[(column * rows + row) * size..][..size];
                assert_eq!(from, to, "{dtype} {row} {column}");
            }
        }
    }
}

#[test]
fn a_permutation_names_each_dimension_once() {
    for dims in [&[0, 0][..], &[0], &[0, 2], &[0, 1, 2]] {
        let arguments = vec![counted(&[2, 3]).into(), ints(dims)];
        assert!(result::<f32>("aten::permute_copy.out", arguments, 2).is_err());
    }
    let arguments = vec![counted(&[2, 3]).into(), ints(&[-1, -2])];
    let (sizes, data) = result::<f32>("aten::permute_copy.out", arguments, 2).unwrap();
    assert_eq!(
        (sizes, data),
        (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
    );
}

#[test]
fn a_view_of_channels_last_follows_the_logical_order() {
    let x = channels_last(&[1, 2, 2, 2]);
    let arguments = vec![x.into(), ints(&[2, -1])];
    let (sizes, data) = result::<f32>("aten::view_copy.out", arguments, 2).unwrap();
    assert_eq!(sizes, [2, 4]);
    assert_eq!(data, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn a_view_from_channels_last_to_channels_last_follows_the_logical_order() {
    let x = channels_last(&[1, 4, 2, 2]);
    let out = Tensor::zeros_in_order(DType::F32, &[0; 4], &[0, 2, 3, 1]).unwrap();
    let arguments = vec![x.into(), ints(&[1, 2, 2, 4])];
    let (_, data) = result_in::<f32>("aten::view_copy.out", arguments, out).unwrap();
    assert_eq!(data, (0..16).map(|i| i as f32).collect::<Vec<_>>());
}

#[test]
fn a_view_needs_as_many_elements() {
    for size in [&[4, 2][..], &[-1, 4], &[-1, -1], &[-2, -3], &[-1, 0]] {
        let arguments = vec![counted(&[2, 3]).into(), ints(size)];
        assert!(
            result::<f32>("aten::view_copy.out", arguments, 2).is_err(),
            "{size:?}"
        );
    }
    let arguments = vec![counted(&[0, 4]).into(), ints(&[0, 2, 2])];
    let (sizes, _) = result::<f32>("aten::view_copy.out", arguments, 3).unwrap();
    assert_eq!(sizes, [0, 2, 2]);
}

#[test]
fn only_dimensions_of_size_one_are_squeezed() {
    let arguments = vec![counted(&[1, 3, 1]).into(), ints(&[0, 1])];
    let (sizes, _) = result::<f32>("aten::squeeze_copy.dims_out", arguments, 2).unwrap();
    assert_eq!(sizes, [3, 1]);
    let arguments = vec![counted(&[2, 3]).into(), (-1).into()];
    let (sizes, _) = result::<f32>("aten::unsqueeze_copy.out", arguments, 3).unwrap();
    assert_eq!(sizes, [2, 3, 1]);
}

#[test]
fn expanding_repeats_and_keeps_where_minus_one_is() {
    let arguments = vec![counted(&[2, 1]).into(), ints(&[2, -1, 2]), false.into()];
    let (sizes, data) = result::<f32>("aten::expand_copy.out", arguments, 3).unwrap();
    assert_eq!(sizes, [2, 2, 2]);
    assert_eq!(data, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    for size in [&[-1, 2, 1][..], &[3, 1], &[2]] {
        let arguments = vec![counted(&[2, 1]).into(), ints(size), false.into()];
        let rank = size.len();
        assert!(
            result::<f32>("aten::expand_copy.out", arguments, rank).is_err(),
            "{size:?}"
        );
    }
}

#[test]
fn repeating_tiles_the_tensor() {
    let arguments = vec![counted(&[2, 2]).into(), ints(&[2, 1, 2])];
    let (sizes, data) = result::<f32>("aten::repeat.out", arguments, 3).unwrap();
    assert_eq!(sizes, [2, 2, 4]);
    let once = [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0];
    assert_eq!(data, [once, once].concat());
}

#[test]
fn slices_are_those_of_python() {
    let sliced = |start: Argument, end: Argument, step: i64| {
        let arguments = vec![counted(&[6]).into(), 0.into(), start, end, step.into()];
        result::<f32>("aten::slice_copy.Tensor_out", arguments, 1).map(|(_, data)| data)
    };
    assert_eq!(sliced(1.into(), 5.into(), 2).unwrap(), [1.0, 3.0]);
    assert_eq!(sliced((-2).into(), i64::MAX.into(), 1).unwrap(), [4.0, 5.0]);
    assert_eq!(sliced(Argument::None, (-4).into(), 1).unwrap(), [0.0, 1.0]);
    assert_eq!(sliced(i64::MIN.into(), 1.into(), 1).unwrap(), [0.0]);
    assert_eq!(sliced(4.into(), 2.into(), 1).unwrap(), [] as [f32; 0]);
    assert_eq!(sliced(0.into(), 6.into(), i64::MAX).unwrap(), [0.0]);
    assert!(sliced(0.into(), 6.into(), 0).is_err());
}

#[test]
fn a_position_that_is_not_there_is_named() {
    let arguments = vec![counted(&[2, 3]).into(), 1.into(), 3.into()];
    let error = result::<f32>("aten::select_copy.int_out", arguments, 1).unwrap_err();
    assert_eq!(
        error.message(),
        "there is no position 3 in a dimension of size 3"
    );
    let arguments = vec![counted(&[2, 3]).into(), 1.into(), (-1).into()];
    let (_, data) = result::<f32>("aten::select_copy.int_out", arguments, 1).unwrap();
    assert_eq!(data, [2.0, 5.0]);
}

fn tensors(list: &[Tensor]) -> Argument {
    Argument::TensorList(list.iter().cloned().map(Some).collect())
}

#[test]
fn joining_along_the_inner_dimension_interleaves_rows() {
    let list = tensors(&[counted(&[2, 1]), counted(&[2, 2])]);
    let (sizes, data) = result::<f32>("aten::cat.out", vec![list, (-1).into()], 2).unwrap();
    assert_eq!(
        (sizes, data),
        (vec![2, 3], vec![0.0, 0.0, 1.0, 1.0, 2.0, 3.0])
    );
}

#[test]
fn long_rows_and_many_tensors_are_joined_as_short_rows_and_few() {
    // Of several widths, along the second of three dimensions, on one thread and on several.
    for (count, inner, threads) in [
        (2, 300, 1),
        (3, 7, 1),
        (9, 300, 1),
        (2, 70_000, 3),
        (1, 3, 1),
    ] {
        let sizes = |index: usize| [3, 1 + index % 3, inner];
        let value = |index: usize, at: usize| (index * 1_000_000 + at) as f32;
        let list: Vec<_> = (0..count)
            .map(|index| {
                let len = sizes(index).iter().product();
                let data: Vec<_> = (0..len).map(|at| value(index, at)).collect();
                Tensor::from_slice(&data, &sizes(index)).unwrap()
            })
            .collect();
        let mut registry = KernelRegistry::new();
        super::register(&mut registry).unwrap();
        let kernel = registry.get("aten::cat.out").unwrap();
        let out = Tensor::zeros(DType::F32, &[0, 0, 0]).unwrap();
        let arguments = vec![tensors(&list), 1.into(), out.into()];
        let results = kernel.invoke_on_threads(arguments, threads).unwrap();
        let joined = results[2].tensor().unwrap();
        let width: usize = (0..count).map(|index| sizes(index)[1]).sum();
        assert_eq!(joined.sizes(), [3, width, inner]);
        let mut found = joined.data::<f32>().unwrap().iter();
        for outer in 0..3 {
            for index in 0..count {
                let row = sizes(index)[1] * inner;
                for at in 0..row {
                    assert_eq!(found.next(), Some(&value(index, outer * row + at)));
                }
            }
        }
    }
}

#[test]
fn empty_tensors_of_one_dimension_join_with_anything() {
    let list = tensors(&[counted(&[0]), counted(&[1, 2]), counted(&[0])]);
    let (sizes, _) = result::<f32>("aten::cat.out", vec![list, 0.into()], 2).unwrap();
    assert_eq!(sizes, [1, 2]);
    let list = tensors(&[counted(&[0]), counted(&[0])]);
    let (sizes, _) = result::<f32>("aten::cat.out", vec![list, 0.into()], 1).unwrap();
    assert_eq!(sizes, [0]);
    let list = tensors(&[counted(&[1, 2]), counted(&[1, 3])]);
    let error = result::<f32>("aten::cat.out", vec![list, 0.into()], 2).unwrap_err();
    assert!(error.message().contains("[1, 2] and [1, 3]"), "{error}");
}

#[test]
fn joined_elements_take_on_the_type_of_the_result() {
    let integers = Tensor::from_slice(&[3i32, -1], &[2]).unwrap();
    let truth = Tensor::from_slice(&[Bool::from(true)], &[1]).unwrap();
    let list = tensors(&[counted(&[1]), integers, truth]);
    let (_, data) = result::<f32>("aten::cat.out", vec![list, 0.into()], 1).unwrap();
    assert_eq!(data, [0.0, 3.0, -1.0, 1.0]);
}

#[test]
fn joining_into_channels_last_keeps_the_logical_order() {
    let list = tensors(&[channels_last(&[1, 2, 1, 2]), counted(&[1, 1, 1, 2])]);
    let out = Tensor::zeros_in_order(DType::F32, &[0; 4], &[0, 2, 3, 1]).unwrap();
    let (sizes, data) = result_in::<f32>("aten::cat.out", vec![list, 1.into()], out).unwrap();
    assert_eq!(sizes, [1, 3, 1, 2]);
    assert_eq!(data, [0.0, 1.0, 2.0, 3.0, 0.0, 1.0]);
}

#[test]
fn stacking_makes_a_new_dimension() {
    let list = tensors(&[counted(&[2]), counted(&[2])]);
    let (sizes, data) = result::<f32>("aten::stack.out", vec![list, (-1).into()], 2).unwrap();
    assert_eq!((sizes, data), (vec![2, 2], vec![0.0, 0.0, 1.0, 1.0]));
}

#[test]
fn the_parts_of_a_split_are_the_whole() {
    let split = |sizes: &[i64]| {
        let outputs = vec![Tensor::zeros(DType::F32, &[0, 0]).unwrap(); sizes.len()];
        let x = counted(&[2, 3]).into();
        let arguments = vec![x, ints(sizes), 1.into(), tensors(&outputs)];
        run("aten::split_with_sizes_copy.out", arguments)
    };
    let results = split(&[1, 2]).unwrap();
    let Argument::TensorList(parts) = &results[3] else {
        panic!("{results:?}");
    };
    let data: Vec<_> = parts
        .iter()
        .map(|p| p.as_ref().unwrap().data::<f32>().unwrap())
        .collect();
    assert_eq!(data, [&[0.0, 3.0][..], &[1.0, 2.0, 4.0, 5.0]]);
    for sizes in [&[1, 1][..], &[2, 2], &[4], &[-1, 4]] {
        assert!(split(sizes).is_err(), "{sizes:?}");
    }
}

#[test]
fn flipping_and_rolling_turn_dimensions_around() {
    let arguments = vec![counted(&[2, 3]).into(), ints(&[1])];
    let (_, data) = result::<f32>("aten::flip.out", arguments, 2).unwrap();
    assert_eq!(data, [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    let arguments = vec![counted(&[2, 3]).into(), ints(&[1, -1]), ints(&[0, 1])];
    let (_, data) = result::<f32>("aten::roll.out", arguments, 2).unwrap();
    assert_eq!(data, [4.0, 5.0, 3.0, 1.0, 2.0, 0.0]);
    let arguments = vec![counted(&[2, 2]).into(), ints(&[1]), ints(&[])];
    let (_, data) = result::<f32>("aten::roll.out", arguments, 2).unwrap();
    assert_eq!(data, [3.0, 0.0, 1.0, 2.0]);
}

#[test]
fn a_patch_takes_the_place_of_a_part() {
    let source = Tensor::from_slice(&[9f32, 8.0], &[2]).unwrap();
    let arguments = vec![counted(&[2, 3]).into(), source.into(), 1.into(), 1.into()];
    let (_, data) = result::<f32>("aten::select_scatter.out", arguments, 2).unwrap();
    assert_eq!(data, [0.0, 9.0, 2.0, 3.0, 8.0, 5.0]);
}

#[test]
fn triangles_keep_one_side_of_a_diagonal() {
    let arguments = vec![counted(&[2, 3]).into(), 0.into()];
    let (_, data) = result::<f32>("aten::tril.out", arguments, 2).unwrap();
    assert_eq!(data, [0.0, 0.0, 0.0, 3.0, 4.0, 0.0]);
    let arguments = vec![counted(&[2, 3]).into(), 1.into()];
    let (_, data) = result::<f32>("aten::triu.out", arguments, 2).unwrap();
    assert_eq!(data, [0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
    let arguments = vec![counted(&[2, 2]).into(), i64::MIN.into()];
    let (_, data) = result::<f32>("aten::triu.out", arguments, 2).unwrap();
    assert_eq!(data, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn padding_may_also_take_away() {
    let arguments = vec![counted(&[3]).into(), ints(&[1, -1]), 7.into()];
    let (_, data) = result::<f32>("aten::constant_pad_nd.out", arguments, 1).unwrap();
    assert_eq!(data, [7.0, 0.0, 1.0]);
    let arguments = vec![counted(&[1, 3]).into(), ints(&[2, 1])];
    let (_, data) = result::<f32>("aten::reflection_pad1d.out", arguments, 2).unwrap();
    assert_eq!(data, [2.0, 1.0, 0.0, 1.0, 2.0, 1.0]);
    let arguments = vec![counted(&[1, 3]).into(), ints(&[2, 1])];
    let (_, data) = result::<f32>("aten::replication_pad1d.out", arguments, 2).unwrap();
    assert_eq!(data, [0.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    for pad in [[3, 0], [i64::MIN, i64::MAX], [-4, 9]] {
        let arguments = vec![counted(&[1, 3]).into(), ints(&pad)];
        assert!(result::<f32>("aten::reflection_pad1d.out", arguments, 2).is_err());
    }
}

#[test]
fn strides_that_reach_too_far_are_refused() {
    let strided = |sizes: &[i64], strides: &[i64], offset: i64| {
        let x = counted(&[4]).into();
        let arguments = vec![x, ints(sizes), ints(strides), offset.into()];
        result::<f32>("aten::as_strided_copy.out", arguments, 2).map(|(_, data)| data)
    };
    assert_eq!(strided(&[2, 2], &[1, 1], 1).unwrap(), [1.0, 2.0, 2.0, 3.0]);
    assert!(strided(&[2, 2], &[1, 1], 2).is_err());
    assert!(strided(&[2, 2], &[i64::MAX, i64::MAX], 0).is_err());
    assert!(strided(&[2, 2], &[-1, 1], 3).is_err());
}

#[test]
fn elements_of_another_type_are_not_moved() {
    let arguments = vec![counted(&[2]).into()];
    let error = result::<i32>("aten::alias_copy.out", arguments, 1).unwrap_err();
    assert!(error.message().contains("f32"), "{error}");
}

#[test]
fn an_image_is_cut_into_tiles_of_all_channels() {
    let image: Vec<i32> = (0..16).collect();
    let image = Tensor::from_slice(&image, &[2, 2, 4]).unwrap();
    let out = Tensor::zeros(DType::I32, &[0; 4]).unwrap();
    let run = |size: i64| {
        let arguments = vec![(&image).into(), size.into(), (&out).into()];
        crate::testing::invoke(super::register, "preprocess::tile_crop.out", arguments)
    };
    let tiles = run(2).unwrap();
    let tiles = tiles[2].tensor().unwrap();
    assert_eq!(tiles.sizes(), [2, 2, 2, 2]);
    let expected = [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15];
    assert_eq!(tiles.data::<i32>().unwrap(), expected);
    for size in [3, 0] {
        let error = run(size).unwrap_err();
        assert!(error.message().contains("does not have tiles"), "{error}");
    }
}

#[test]
fn padding_surrounds_what_is_kept() {
    let padded = |x: Tensor, out: Tensor| {
        let arguments = vec![x.into(), ints(&[1, 2, 1, -1]), 9.5.into()];
        result_in::<f32>("aten::constant_pad_nd.out", arguments, out).unwrap()
    };
    let expected = [
        9.5, 9.5, 9.5, 9.5, 9.5, // A row ahead, and the last one gone.
        9.5, 0.0, 1.0, 9.5, 9.5, //
        9.5, 2.0, 3.0, 9.5, 9.5,
    ];
    let out = Tensor::zeros(DType::F32, &[0; 2]).unwrap();
    let (sizes, data) = padded(counted(&[3, 2]), out);
    assert_eq!((&sizes[..], &data[..]), (&[3, 5][..], &expected[..]));
    let out = Tensor::zeros_in_order(DType::F32, &[1, 1, 3, 5], &[0, 2, 3, 1]).unwrap();
    let (_, data) = padded(channels_last(&[1, 1, 3, 2]), out);
    assert_eq!(data, expected);
}

#[test]
fn each_matrix_of_several_has_its_triangle() {
    let arguments = vec![counted(&[2, 2, 2]).into(), 0.into()];
    let (_, data) = result::<f32>("aten::tril.out", arguments, 3).unwrap();
    assert_eq!(data, [0.0, 0.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0]);
    let out = Tensor::zeros_in_order(DType::F32, &[1, 2, 2, 2], &[0, 2, 3, 1]).unwrap();
    let arguments = vec![channels_last(&[1, 2, 2, 2]).into(), 0.into()];
    let (_, data) = result_in::<f32>("aten::tril.out", arguments, out).unwrap();
    assert_eq!(data, [0.0, 0.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0]);
}

#[test]
fn complex_numbers_are_made_of_parts_that_broadcast() {
    let real = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let imaginary = Tensor::from_slice(&[-1f32, 5.0], &[2]).unwrap();
    let out = || Tensor::zeros(DType::ComplexF32, &[0, 0]).unwrap();
    let arguments = vec![real.clone().into(), imaginary.into(), out().into()];
    let results = run("aten::complex.out", arguments).unwrap();
    let numbers = results[2].tensor().unwrap().data::<Complex32>().unwrap();
    let expected = [(1.0, -1.0), (2.0, 5.0), (3.0, -1.0), (4.0, 5.0)];
    assert_eq!(numbers, expected.map(|(re, im)| Complex32::new(re, im)));
    let wrong = Tensor::from_slice(&[1f64; 4], &[2, 2]).unwrap();
    let arguments = vec![real.into(), wrong.into(), out().into()];
    let message = run("aten::complex.out", arguments).unwrap_err().to_string();
    assert!(message.contains("f32 and f64"), "{message}");
}
