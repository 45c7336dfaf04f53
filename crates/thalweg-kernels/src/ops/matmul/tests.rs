use thalweg_core::{
    Argument, Complex32, DType, Element, KernelRegistry, Result, Tensor, bf16, f16,
};

fn run(operator: &str, arguments: Vec<Argument>, threads: usize) -> Result<Tensor> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    let out = arguments.len() - 1;
    let results = registry
        .get(operator)
        .unwrap()
        .invoke_on_threads(arguments, threads)?;
    Ok(results[out].tensor().unwrap().clone())
}

fn tensor<T: Element>(data: &[T], sizes: &[usize]) -> Argument {
    Tensor::from_slice(data, sizes).unwrap().into()
}

/// An output of some type and dim order, with a rank.
fn out(dtype: DType, order: &[u8]) -> Argument {
    let sizes = vec![1; order.len()];
    Tensor::zeros_in_order(dtype, &sizes, order).unwrap().into()
}

/// The elements of the matrix `[i, j] -> f(i, j)`, in a dim order.
fn matrix(sizes: [usize; 2], order: [u8; 2], f: impl Fn(usize, usize) -> f32) -> Tensor {
    let [m, n] = sizes;
    let data: Vec<f32> = match order {
        [0, 1] => (0..m * n).map(|at| f(at / n, at % n)).collect(),
        _ => (0..m * n).map(|at| f(at % m, at / m)).collect(),
    };
    Tensor::from_bytes(DType::F32, &sizes, &order, bytemuck::cast_slice(&data)).unwrap()
}

const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const B: [f32; 6] = [1.0, 0.0, -1.0, 2.0, 0.5, 1.0];
/// The product of `A` as [2, 3] and `B` as [3, 2].
const AB: [f32; 4] = [0.5, 7.0, 2.0, 16.0];

#[test]
fn a_product_has_rows_of_the_first_and_columns_of_the_second() {
    let arguments = vec![
        tensor(&A, &[2, 3]),
        tensor(&B, &[3, 2]),
        out(DType::F32, &[0, 1]),
    ];
    let found = run("aten::mm.out", arguments, 1).unwrap();
    assert_eq!(
        (found.sizes(), found.data().unwrap()),
        (&[2, 2][..], &AB[..])
    );
}

#[test]
fn every_element_type_is_multiplied() {
    fn check<T: Element>(from: impl Fn(f32) -> T) {
        let (a, b) = (A.map(&from), [1f32, 0.0, 3.0, 2.0, 5.0, 1.0].map(&from));
        let arguments = vec![
            tensor(&a, &[2, 3]),
            tensor(&b, &[3, 2]),
            out(T::DTYPE, &[0, 1]),
        ];
        let found = run("aten::mm.out", arguments, 1).unwrap();
        let expected = [22f32, 7.0, 49.0, 16.0].map(&from);
        assert_eq!(found.data::<T>().unwrap(), expected, "{}", T::DTYPE);
    }
    check(|x| x);
    check(f64::from);
    check(f16::from_f32);
    check(bf16::from_f32);
    check(|x| Complex32::new(x, 0.0));
    check(|x| x as u8);
    check(|x| x as i8);
    check(|x| x as i16);
    check(|x| x as i32);
    check(|x| x as i64);
}

#[test]
fn integers_wrap() {
    let arguments = vec![
        tensor(&[100i8, 100], &[1, 2]),
        tensor(&[3i8, -1], &[2, 1]),
        out(DType::I8, &[0, 1]),
    ];
    assert_eq!(
        run("aten::mm.out", arguments, 1)
            .unwrap()
            .data::<i8>()
            .unwrap(),
        [-56]
    );
}

#[test]
fn products_of_many_shapes_orders_and_threads_are_right() {
    let a = |i: usize, l: usize| ((i * 7 + l * 3) % 11) as f32 - 5.0;
    let b = |l: usize, j: usize| ((l * 5 + j * 2) % 13) as f32 - 6.0;
    for [m, k, n] in [
        [1, 1, 1],
        [1, 300, 70],
        [1, 700, 500],
        [70, 300, 1],
        [3, 2, 5],
        [8, 300, 200],
        [16, 33, 700],
        [17, 33, 65],
        [40, 600, 40],
        [130, 20, 130],
    ] {
        let sum = |i: usize, j: usize| (0..k).map(|l| a(i, l) * b(l, j)).sum();
        for orders in 0..8 {
            let [oa, ob, oo] = [1, 2, 4].map(|bit| if orders & bit == 0 { [0, 1] } else { [1, 0] });
            let expected = matrix([m, n], oo, sum);
            let (a, b) = (matrix([m, k], oa, a), matrix([k, n], ob, b));
            for threads in [1, 3] {
                let arguments = vec![(&a).into(), (&b).into(), out(DType::F32, &oo)];
                let found = run("aten::mm.out", arguments, threads).unwrap();
                // All sums are integers that f32 holds exactly.
                assert_eq!(
                    found.data::<f32>().unwrap(),
                    expected.data::<f32>().unwrap(),
                    "[{m}, {k}, {n}] in orders {oa:?} {ob:?} {oo:?} on {threads} threads"
                );
            }
        }
    }
}

#[test]
fn sums_of_half_types_are_kept_in_f32() {
    // In bf16, 256 + 1 is 256.
    for k in [600usize, 4096] {
        for threads in [1, 2] {
            let ones = vec![bf16::ONE; k * 300];
            let a = tensor(&ones[..k], &[1, k]);
            let arguments = vec![a, tensor(&ones, &[k, 300]), out(DType::BF16, &[0, 1])];
            let found = run("aten::mm.out", arguments, threads).unwrap();
            let expected = bf16::from_f32(k as f32);
            assert!(found.data::<bf16>().unwrap().iter().all(|&x| x == expected));
        }
    }
}

#[test]
fn what_is_added_is_broadcast_and_scaled() {
    let add = |addend: Argument, beta: f64| {
        let arguments = vec![
            addend,
            tensor(&A, &[2, 3]),
            tensor(&B, &[3, 2]),
            beta.into(),
            2.0.into(),
            out(DType::F32, &[0, 1]),
        ];
        run("aten::addmm.out", arguments, 1).map(|out| out.data::<f32>().unwrap().to_vec())
    };
    let bias = tensor(&[10f32, 20.0], &[2]);
    assert_eq!(add(bias, 1.0).unwrap(), [11.0, 34.0, 14.0, 52.0]);
    let column = tensor(&[10f32, 20.0], &[2, 1]);
    assert_eq!(add(column, 0.5).unwrap(), [6.0, 19.0, 14.0, 42.0]);
    let scalar = tensor(&[1f32], &[]);
    assert_eq!(add(scalar, 1.0).unwrap(), [2.0, 15.0, 5.0, 33.0]);
    let error = add(tensor(&A[..3], &[3]), 1.0).unwrap_err();
    assert_eq!(error.message(), "shape [3] does not broadcast to [2, 2]");
}

#[test]
fn what_is_added_zero_times_does_not_matter_even_if_it_is_not_a_number() {
    let arguments = vec![
        tensor(&[f32::NAN, f32::INFINITY], &[2]),
        tensor(&A, &[2, 3]),
        tensor(&B, &[3, 2]),
        0.into(),
        1.into(),
        out(DType::F32, &[0, 1]),
    ];
    assert_eq!(
        run("aten::addmm.out", arguments, 1)
            .unwrap()
            .data::<f32>()
            .unwrap(),
        AB
    );
}

#[test]
fn products_of_integers_are_scaled_by_integers_only() {
    let arguments = |alpha: Argument| {
        let ones = || tensor(&[1i32], &[1, 1]);
        vec![
            ones(),
            ones(),
            ones(),
            3.into(),
            alpha,
            out(DType::I32, &[0, 1]),
        ]
    };
    let found = run("aten::addmm.out", arguments(4.into()), 1).unwrap();
    assert_eq!(found.data::<i32>().unwrap(), [7]);
    assert!(run("aten::addmm.out", arguments(0.5.into()), 1).is_err());
}

#[test]
fn batches_are_multiplied_one_by_one() {
    let a: Vec<f32> = A.iter().chain(&B).copied().collect();
    let b: Vec<f32> = B.iter().chain(&A).copied().collect();
    let arguments = vec![
        tensor(&a, &[2, 2, 3]),
        tensor(&b, &[2, 3, 2]),
        out(DType::F32, &[0, 1, 2]),
    ];
    let found = run("aten::bmm.out", arguments, 1).unwrap();
    assert_eq!(found.sizes(), [2, 2, 2]);
    assert_eq!(
        found.data::<f32>().unwrap(),
        [0.5, 7.0, 2.0, 16.0, -4.0, -4.0, 8.5, 12.0]
    );
    // Enough of them to be worth threads.
    let (a, b) = (vec![1f32; 8 * 64 * 64], vec![2f32; 8 * 64 * 64]);
    let shape = [8, 64, 64];
    let arguments = vec![
        tensor(&a, &shape),
        tensor(&b, &shape),
        out(DType::F32, &[0, 1, 2]),
    ];
    let found = run("aten::bmm.out", arguments, 3).unwrap();
    assert!(found.data::<f32>().unwrap().iter().all(|&x| x == 128.0));
}

#[test]
fn vectors_are_multiplied_too() {
    let arguments = vec![
        tensor(&A, &[2, 3]),
        tensor(&B[..3], &[3]),
        out(DType::F32, &[0]),
    ];
    let found = run("aten::mv.out", arguments, 1).unwrap();
    assert_eq!(
        (found.sizes(), found.data().unwrap()),
        (&[2][..], &[-2f32, -2.0][..])
    );
    let arguments = vec![tensor(&A, &[6]), tensor(&B, &[6]), out(DType::F32, &[])];
    assert_eq!(
        run("aten::dot.out", arguments, 1)
            .unwrap()
            .data::<f32>()
            .unwrap(),
        [14.5]
    );
}

#[test]
fn a_linear_layer_takes_inputs_of_any_rank() {
    let layer = |input: Argument, bias: Argument, order: &[u8]| {
        let weight = tensor(&[1f32, 0.0, 1.0, 0.0, 2.0, 0.0], &[2, 3]);
        run(
            "aten::linear.out",
            vec![input, weight, bias, out(DType::F32, order)],
            1,
        )
        .unwrap()
    };
    let found = layer(
        tensor(&A, &[1, 2, 3]),
        tensor(&[1f32, -1.0], &[2]),
        &[0, 1, 2],
    );
    assert_eq!(found.sizes(), [1, 2, 2]);
    assert_eq!(found.data::<f32>().unwrap(), [5.0, 3.0, 11.0, 9.0]);
    let found = layer(tensor(&A[..3], &[3]), Argument::None, &[0]);
    assert_eq!(found.data::<f32>().unwrap(), [4.0, 4.0]);
}

#[test]
fn an_empty_sum_is_zero_and_an_empty_product_is_empty() {
    let none: [f32; 0] = [];
    let arguments = vec![
        tensor(&none, &[2, 0]),
        tensor(&none, &[0, 2]),
        out(DType::F32, &[0, 1]),
    ];
    assert_eq!(
        run("aten::mm.out", arguments, 1)
            .unwrap()
            .data::<f32>()
            .unwrap(),
        [0.0; 4]
    );
    let none: [bf16; 0] = [];
    let arguments = vec![
        tensor(&none, &[2, 0]),
        tensor(&none, &[0, 2]),
        out(DType::BF16, &[0, 1]),
    ];
    let found = run("aten::mm.out", arguments, 1).unwrap();
    assert_eq!(found.data::<bf16>().unwrap(), [bf16::ZERO; 4]);
    let three = tensor(&[bf16::ONE; 3], &[3, 1]);
    let arguments = vec![tensor(&none, &[0, 3]), three, out(DType::BF16, &[0, 1])];
    assert_eq!(run("aten::mm.out", arguments, 1).unwrap().sizes(), [0, 1]);
}

/// Rows and columns for every way through a product: one or few rows, few columns, more columns than are
/// summed at a time, and many of both.
const OUTER_SIZES: [[usize; 2]; 10] = [
    [1, 1],
    [1, 1025],
    [1, 1029],
    [1029, 1],
    [3, 2100],
    [2100, 2],
    [4, 1029],
    [1029, 4],
    [17, 65],
    [65, 300],
];

#[test]
fn an_empty_sum_is_zero_in_every_shape_order_and_type() {
    fn check<T: Element>() {
        let order = |bit: usize| if bit == 0 { [0, 1] } else { [1, 0] };
        for [m, n] in OUTER_SIZES {
            for orders in 0..8 {
                let [oa, ob, oo] = [1, 2, 4].map(|bit| order(orders & bit));
                let [a, b] = [([m, 0], oa), ([0, n], ob)]
                    .map(|(sizes, order)| Tensor::zeros_in_order(T::DTYPE, &sizes, &order));
                let (a, b) = (a.unwrap(), b.unwrap());
                for threads in [1, 3] {
                    let arguments = vec![(&a).into(), (&b).into(), out(T::DTYPE, &oo)];
                    let found = run("aten::mm.out", arguments, threads).unwrap();
                    assert_eq!(found.sizes(), [m, n]);
                    let zero = |x: &T| *x == T::default();
                    assert!(found.data::<T>().unwrap().iter().all(zero));
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
    check::<Complex32>();
    check::<i8>();
    check::<i64>();
}

#[test]
fn what_an_empty_sum_is_added_to_is_scaled() {
    let none: [f32; 0] = [];
    for [m, n] in OUTER_SIZES {
        let addend: Vec<f32> = (0..n).map(|j| (j % 7) as f32).collect();
        let expected: Vec<f32> = (0..m * n).map(|at| (at % n % 7) as f32 * 0.5).collect();
        let sums = [
            ("aten::addmm.out", vec![m, 0], vec![0, n], vec![n]),
            ("aten::baddbmm.out", vec![2, m, 0], vec![2, 0, n], vec![n]),
            ("aten::addmv.out", vec![n, 0], vec![0], vec![n]),
        ];
        for (operator, a, b, sizes) in sums {
            for threads in [1, 3] {
                let rank = a.len().min(b.len());
                let order: Vec<u8> = (0..rank as u8).collect();
                let arguments = vec![
                    tensor(&addend, &sizes),
                    tensor(&none, &a),
                    tensor(&none, &b),
                    0.5.into(),
                    2.0.into(),
                    out(DType::F32, &order),
                ];
                let found = run(operator, arguments, threads).unwrap();
                for (at, found) in found.data::<f32>().unwrap().iter().enumerate() {
                    assert_eq!(
                        *found,
                        expected[at % expected.len()],
                        "{operator} [{m}, {n}]"
                    );
                }
            }
        }
        let arguments = vec![
            tensor(&none, &[m, 0]),
            tensor(&none, &[n, 0]),
            tensor(&addend, &[n]),
            out(DType::F32, &[0, 1]),
        ];
        let found = run("aten::linear.out", arguments, 2).unwrap();
        let found = found.data::<f32>().unwrap();
        assert!((0..m * n).all(|at| found[at] == 2.0 * expected[at]));
    }
}

#[test]
fn empty_sums_of_vectors_and_batches_are_zero() {
    let none: [f32; 0] = [];
    for (operator, a, b, sizes) in [
        ("aten::dot.out", vec![0], vec![0], vec![]),
        ("aten::mv.out", vec![1030, 0], vec![0], vec![1030]),
        (
            "aten::bmm.out",
            vec![3, 2, 0],
            vec![3, 0, 1030],
            vec![3, 2, 1030],
        ),
        (
            "aten::bmm.out",
            vec![3, 9, 0],
            vec![3, 0, 70],
            vec![3, 9, 70],
        ),
    ] {
        for threads in [1, 3] {
            let order: Vec<u8> = (0..sizes.len() as u8).collect();
            let arguments = vec![
                tensor(&none, &a),
                tensor(&none, &b),
                out(DType::F32, &order),
            ];
            let found = run(operator, arguments, threads).unwrap();
            assert_eq!(found.sizes(), sizes);
            assert!(found.data::<f32>().unwrap().iter().all(|&x| x == 0.0));
        }
    }
}

#[test]
fn shapes_and_types_that_do_not_fit_are_refused() {
    let mm = |a: Argument, b: Argument| {
        let error = run("aten::mm.out", vec![a, b, out(DType::F32, &[0, 1])], 1).unwrap_err();
        error.message().to_string()
    };
    assert_eq!(
        mm(tensor(&A, &[2, 3]), tensor(&A, &[2, 3])),
        "shapes [2, 3] and [2, 3] cannot be multiplied: 3 columns do not fit 2 rows"
    );
    assert_eq!(
        mm(tensor(&A, &[2, 3]), tensor(&A, &[1, 3, 2])),
        "shapes [2, 3] and [1, 3, 2] cannot be multiplied"
    );
    assert_eq!(
        mm(tensor(&A, &[2, 3]), tensor(&[0f64; 6], &[3, 2])),
        "elements of types f64 and f32 cannot be in one product"
    );
}
