//! What an instruction does with its arguments, as far as that is known before it runs.

use crate::signature::position_mask;
use crate::{Access, Signature};

/// What an instruction does with its arguments.
#[derive(Clone, Copy)]
pub struct ArgumentAccess<'c> {
    /// How many arguments, from the start, may be read. What follows are results: new ones, or
    /// outputs once more.
    pub(super) reads: usize,
    /// Positions of the arguments that are written, in ascending order.
    pub(super) writes: &'c [u16],
    /// The first 64 of them as bits, for speed.
    pub(super) write_mask: u64,
    pub(super) overlap: Overlap,
    pub(super) signature: Option<&'c Signature>,
}

/// The ways in which arguments of an instruction may share memory.
#[derive(Clone, Copy, Debug)]
pub enum Overlap {
    /// No argument that is written shares memory with another one.
    None(#[allow(dead_code, reason = "a proof, to be had and not to be read")] Disjoint),
    /// They may: inputs that an output could overwrite are copied first.
    Possible,
    /// They do, from the second call on, for the output is a view of the input. Nothing is
    /// written through it, unless the operator cannot make a view; then the output goes back to
    /// its planned location, which must be another one.
    View,
}

/// A proof, found before a method runs, that no argument that an instruction writes shares memory
/// with another of its arguments. Most instructions have it, and then no call has to look.
#[derive(Clone, Copy, Debug)]
pub struct Disjoint(());

impl Disjoint {
    /// Takes it as proven.
    ///
    /// # Safety
    /// It is true of every call of the instruction that this is given with: the tensors among its
    /// arguments are known, stay where they are planned, and those that are written overlap no other
    /// one, up to their capacities.
    #[allow(unsafe_code, reason = "a promise of whoever has looked at the plan")]
    pub unsafe fn assume() -> Self {
        Self(())
    }
}

impl<'c> ArgumentAccess<'c> {
    /// Arguments of a delegate: all may be read, and those at `writes`, in ascending order, are
    /// written.
    pub fn of_delegate(count: usize, writes: &'c [u16]) -> Self {
        Self {
            reads: count,
            writes,
            write_mask: position_mask(writes),
            overlap: Overlap::Possible,
            signature: None,
        }
    }

    /// Arguments of an operator.
    #[inline(always)]
    pub fn of_operator(signature: &'c Signature, overlap: Overlap) -> Self {
        Self {
            reads: signature.parameters().len(),
            writes: signature.writes(),
            write_mask: signature.write_mask(),
            overlap,
            signature: Some(signature),
        }
    }

    /// The access to the argument at a position. A result that was passed in, listed once more, has
    /// none.
    pub fn of(&self, position: usize) -> Option<Access> {
        let mut writes = self.writes.iter();
        match writes.any(|&write| usize::from(write) == position) {
            true => Some(Access::Write),
            false => (position < self.reads).then_some(Access::Read),
        }
    }
}
