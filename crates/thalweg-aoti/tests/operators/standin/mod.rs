//! Kernels of the stand-in driver: plain computations from the arguments of a launch.
//!
//! With them, all but the CUDA kernels themselves is tested where there is no GPU: checks, launches, memory,
//! order.

mod matmul;
mod random;
mod sort;

use thalweg_simgpu::{KernelFault, Launch, Sim};

use self::matmul::matmul;
use self::random::{random_between, random_uniform};
use self::sort::{sort_count, sort_finish, sort_keys, sort_scan, sort_scatter, sort_short};

type Done = Result<(), KernelFault>;

/// The sizes of parameters: a pointer or a 64-bit number, and a 32-bit number.
const P: usize = 8;
const N: usize = 4;

pub(super) fn register(sim: &Sim) {
    for (bits, unit) in [(0, 32), (4, 32), (5, 32), (6, 8), (6, 16), (6, 32), (8, 32)] {
        for tokens in [8, 32, 64] {
            sim.register_kernel(
                &format!("matmul{bits}_{unit}_{tokens}"),
                &[P, P, P, N, N, N, N, P, P, P, P, P, P, N, N, N, P],
                move |launch| matmul(launch, bits, unit, tokens),
            );
        }
    }
    let kernels: [(&str, &[usize], fn(&Launch<'_>) -> Done); 11] = [
        ("sort_short", &[P, N, N, P, N, P, N, P, P], sort_short),
        ("sort_keys_32", &[P, N, N, P, N, P, P, P], sort_keys::<u32>),
        ("sort_keys_64", &[P, N, N, P, N, P, P, P], sort_keys::<u64>),
        ("sort_count_32", &[P, N, N, N, P], sort_count::<u32>),
        ("sort_count_64", &[P, N, N, N, P], sort_count::<u64>),
        ("sort_scan", &[P, N, P, P], sort_scan),
        (
            "sort_scatter_32",
            &[P, P, N, N, N, P, P, P, P],
            sort_scatter::<u32>,
        ),
        (
            "sort_scatter_64",
            &[P, P, N, N, N, P, P, P, P],
            sort_scatter::<u64>,
        ),
        ("sort_finish", &[P, N, P, N, P, P, P, P], sort_finish),
        ("random_uniform", &[P, N, P, P, P], random_uniform),
        ("random_between", &[P, P, P, P, P, P], random_between),
    ];
    for (name, sizes, kernel) in kernels {
        sim.register_kernel(name, sizes, kernel);
    }
    sim.register_kernel("random_reserve", &[P, P, P], |launch| {
        require(
            launch.grid() == [1; 3] && launch.block() == [1; 3],
            "one thread",
        )?;
        let counter = &mut launch.update::<u64>(launch.argument(0)?, 1)?[0];
        launch.write(launch.argument(2)?, 1)?[0] = *counter;
        *counter += launch.argument::<u64>(1)?;
        Ok(())
    });
}

fn require(holds: bool, what: &str) -> Done {
    match holds {
        true => Ok(()),
        false => Err(KernelFault(format!("a launch without {what}"))),
    }
}
