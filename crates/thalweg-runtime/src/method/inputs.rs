//! Checking inputs, and putting them in their places.

use thalweg_core::engine::{Slot, TensorId};
use thalweg_core::{
    Access, DType, DeviceAddress, DeviceTensor, Error, Input, Result, Scalar, TensorView, bail,
    ensure,
};
use thalweg_format::ShapeDynamism;

use crate::link::LinkedMethod;
use crate::mutation::{Rule, disabled};
use crate::plan::{InputKind, PlannedTensor};
use crate::transfer::DeviceInputLocation;

use super::instance::{Given, Instance};

impl Instance {
    /// Checks the inputs and gives them to the program.
    ///
    /// The memory of tensors may be used after this returns; see where it is lent.
    pub(super) fn set_inputs(&mut self, inputs: &[Input<'_>]) -> Result<()> {
        let linked = self.linked.clone();
        let expected = &linked.plan.inputs;
        ensure!(
            inputs.len() == expected.len(),
            InvalidInput,
            "the method takes {} inputs, and {} were given",
            expected.len(),
            inputs.len()
        );
        self.forget_inputs();
        for (index, (input, expected)) in inputs.iter().zip(expected).enumerate() {
            match (&expected.kind, *input) {
                (InputKind::Tensor(tensor), Input::Device(input)) => {
                    self.set_device_tensor(&linked, index, *tensor, &input.tensor())
                }
                (InputKind::Tensor(tensor), Input::Tensor(view)) => {
                    self.set_tensor(&linked, index, *tensor, view)
                }
                (InputKind::Any, input)
                    if !matches!(input, Input::Tensor(_) | Input::Device(_)) =>
                {
                    self.frame.slots[expected.value.index()] = any_slot(input);
                    Ok(())
                }
                (kind, input) => check_fixed(kind, input),
            }
            .map_err(|error| of_input(&error, index))?;
        }
        Ok(())
    }

    fn set_tensor(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        id: TensorId,
        view: TensorView<'_>,
    ) -> Result<()> {
        let planned = &linked.plan.tensors[id.0 as usize];
        check_tensor(planned, view.dtype(), view.sizes(), view.dim_order())?;
        self.frame.resize(id, view.sizes())?;
        let mut lent = linked.lends[index];
        if lent.is_none()
            && let Some(placed) = linked.places.input(index)
            && !linked.places.input_on_host(index)
        {
            // Only its copy to the device will look at it.
            self.given[index] = Given::Borrowed;
            lent = Some(placed.borrowed);
        }
        if let Some(storage) = lent {
            // SAFETY: `run` borrows the method and the inputs for the same lifetime `'m`. Views of
            // the storage are given out to instructions, during the call, and by outputs, which
            // borrow for `'m`; the next call begins by forgetting what was lent.
            #[allow(unsafe_code, reason = "the lifetime is that of a whole call")]
            unsafe {
                self.frame.borrow(storage, view.bytes());
            }
            return Ok(());
        }
        // A copy to a device that an earlier call asked for may still read the input's place.
        if !disabled(Rule::InputsAfterCopies) {
            for (storage, range) in self.frame.host_ranges(id) {
                for device in &mut self.devices {
                    device.before_host(storage, &range, Access::Write)?;
                }
            }
        }
        self.frame.write(id, view.bytes())
    }

    /// Takes note of an input that the caller has on a device. Where the program takes it there, it
    /// is used where it is; and it comes to the host if something looks at it there.
    fn set_device_tensor(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        id: TensorId,
        view: &DeviceTensor<'_>,
    ) -> Result<()> {
        let planned = &linked.plan.tensors[id.0 as usize];
        check_tensor(planned, view.dtype(), view.sizes(), view.dim_order())?;
        let mut devices = linked.devices.iter();
        let Some(device) = devices.position(|device| device.id() == view.device()) else {
            bail!(
                InvalidInput,
                "it lies on {}, where the method has no memory",
                view.device()
            );
        };
        self.frame.resize(id, view.sizes())?;
        let input = DeviceInputLocation {
            device,
            address: view.address(),
            len: view.len(),
        };
        let placed = linked
            .places
            .input(index)
            .filter(|placed| placed.device == device);
        if let Some(placed) = placed {
            // Whatever the program plans on a device starts on such a boundary, and delegates
            // count on it.
            let aligned = view.address().0.is_multiple_of(DEVICE_ALIGN);
            ensure!(
                aligned || !placed.updated,
                InvalidInput,
                "the program updates it in place, so it has to start on a multiple of \
                 {DEVICE_ALIGN} bytes, and it starts at {:#x}",
                view.address().0
            );
            if aligned {
                self.frame
                    .set_device_location(placed.storage, view.address(), view.len());
                self.given[index] = Given::InPlace;
            } else {
                self.given[index] = Given::OnDevice(input);
            }
        }
        if placed.is_none() || linked.places.input_on_host(index) {
            ensure!(
                linked.lends[index].is_none(),
                Unsupported,
                "the program looks at it on the host and has no memory for it there; pass it on \
                 the host"
            );
            self.transfer().place_input(input, id)?;
        }
        Ok(())
    }

    /// Forgets what an earlier call was given: it is gone by now.
    pub(super) fn forget_inputs(&mut self) {
        for storage in self.linked.lends.iter().flatten() {
            self.frame.end_borrow(*storage);
        }
        for (index, given) in self.given.iter_mut().enumerate() {
            let before = std::mem::replace(given, Given::Placed);
            let Some(placed) = self.linked.places.input(index) else {
                continue;
            };
            match before {
                Given::Borrowed => self.frame.end_borrow(placed.borrowed),
                Given::InPlace => {
                    let (arena, offset) = placed.home;
                    // It lies within the arena, as was found when the instance was made.
                    let home = self.frame.device_address(arena, offset, placed.bytes);
                    let (address, bytes) =
                        home.map_or((DeviceAddress(0), 0), |a| (a, placed.bytes));
                    self.frame
                        .set_device_location(placed.storage, address, bytes);
                }
                Given::Placed | Given::OnDevice(_) => {}
            }
        }
    }
}

/// The alignment, in bytes, of tensors on a device.
const DEVICE_ALIGN: u64 = 256;

/// An error unless a tensor has the type, shape and order that the program was exported for.
fn check_tensor(
    planned: &PlannedTensor,
    dtype: DType,
    sizes: &[usize],
    dim_order: &[u8],
) -> Result<()> {
    ensure!(
        dtype == planned.dtype,
        InvalidInput,
        "the program takes {}, and {} was given",
        planned.dtype,
        dtype
    );
    let fits = match planned.dynamism {
        ShapeDynamism::Static => *planned.sizes == *sizes,
        ShapeDynamism::DynamicBound => {
            planned.sizes.len() == sizes.len()
                && planned
                    .sizes
                    .iter()
                    .zip(sizes)
                    .all(|(bound, size)| size <= bound)
        }
        ShapeDynamism::DynamicUnbound => planned.sizes.len() == sizes.len(),
    };
    ensure!(
        fits,
        InvalidInput,
        "the program takes {}, and shape {:?} was given",
        match planned.dynamism {
            ShapeDynamism::Static => format!("shape {:?}", planned.sizes),
            ShapeDynamism::DynamicBound => format!("shapes up to {:?}", planned.sizes),
            ShapeDynamism::DynamicUnbound => format!("{} dimensions", planned.sizes.len()),
        },
        sizes
    );
    ensure!(
        same_order(sizes, &planned.dim_order, dim_order),
        InvalidInput,
        "the program takes its dimensions in order {:?}, and {:?} was given",
        planned.dim_order,
        dim_order
    );
    Ok(())
}

/// Whether two dim orders put the elements of a shape in the same places. Dimensions of size 1 may
/// stand anywhere.
fn same_order(sizes: &[usize], a: &[u8], b: &[u8]) -> bool {
    let counts = |dim: &&u8| sizes.get(usize::from(**dim)).is_some_and(|&size| size != 1);
    a == b || sizes.contains(&0) || a.iter().filter(counts).eq(b.iter().filter(counts))
}

/// An error unless a number or string is the one that the program was exported for.
fn check_fixed(kind: &InputKind, input: Input<'_>) -> Result<()> {
    let fits = match (kind, input) {
        (InputKind::Fixed(expected), Input::Int(given)) => same_number(*expected, given.into()),
        (InputKind::Fixed(expected), Input::Double(given)) => same_number(*expected, given.into()),
        (InputKind::Fixed(expected), Input::Bool(given)) => same_number(*expected, given.into()),
        (InputKind::FixedString(expected), Input::String(given)) => **expected == *given,
        _ => false,
    };
    ensure!(
        fits,
        InvalidInput,
        "the program {}, and {} was given",
        match kind {
            InputKind::Fixed(expected) => {
                format!("was exported for {} {expected}", expected.kind_name())
            }
            InputKind::FixedString(expected) => {
                format!("was exported for the string {expected:?}")
            }
            InputKind::Tensor(_) => "takes a tensor".into(),
            InputKind::Any => "takes a number, a string or none".into(),
        },
        input.describe()
    );
    Ok(())
}

/// Doubles are compared as upstream compares them, so that a value that went through a text format
/// on its way is still the same.
fn same_number(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Double(a), Scalar::Double(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-8 + 1e-4 * a.abs()
        }
        (a, b) => a == b,
    }
}

fn any_slot(input: Input<'_>) -> Slot {
    match input {
        Input::Int(value) => Slot::scalar(Some(value.into())),
        Input::Double(value) => Slot::scalar(Some(value.into())),
        Input::Bool(value) => Slot::scalar(Some(value.into())),
        Input::String(value) => Slot::String(value.into()),
        _ => Slot::scalar(None),
    }
}

fn of_input(error: &Error, index: usize) -> Error {
    Error::new(error.kind(), format!("input {index}: {}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_size_one_may_stand_anywhere_in_the_order() {
        assert!(same_order(&[1, 3, 4], &[0, 1, 2], &[1, 0, 2]));
        assert!(!same_order(&[2, 3, 4], &[0, 1, 2], &[1, 0, 2]));
        assert!(same_order(&[2, 0, 4], &[0, 1, 2], &[1, 0, 2]));
    }

    #[test]
    fn a_fixed_double_may_have_lost_some_digits() {
        assert!(same_number(
            Scalar::Double(0.1),
            Scalar::Double(0.100_000_1)
        ));
        assert!(!same_number(Scalar::Double(0.1), Scalar::Double(0.2)));
        assert!(!same_number(Scalar::Int(1), Scalar::Double(1.0)));
    }
}
