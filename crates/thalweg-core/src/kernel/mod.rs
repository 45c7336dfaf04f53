//! Operators: how kernels are written, registered and called.

mod call;
mod invoke;
mod prepack;
mod registry;
mod static_arguments;

pub use call::{KernelCall, KernelContext};
pub use invoke::Argument;
pub use prepack::{Epilogue, EpilogueFn, FuseFn, PrepackFn, Prepacked};
pub use registry::KernelRegistry;
pub use static_arguments::{Shape, StaticArgument, StaticArguments};

use std::fmt;
use std::sync::Arc;

use crate::arguments::{ArgumentAccess, Arguments, Overlap};
use crate::frame::Frame;
use crate::memory::Scratch;
use crate::{Result, Signature, ValueId};

/// The function that runs an operator.
pub type KernelFn = dyn Fn(&KernelCall<'_>) -> Result<()> + Send + Sync;

/// An operator: its signature, its function, and what the linker may do with it.
///
/// ```
/// use thalweg_core::Kernel;
///
/// let double = Kernel::new(
///     "my::double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
///     |call| {
///         let x = call.tensor(0)?;
///         let mut out = call.output(1, x.sizes())?;
///         for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
///             *out = 2.0 * x;
///         }
///         Ok(())
///     },
/// )?
/// .pure();
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Kernel {
    signature: Arc<Signature>,
    run: Arc<KernelFn>,
    movement: Option<MovementFn>,
    prepack: Option<PrepackFn>,
    epilogue: Option<EpilogueFn>,
    epilogue_converts: bool,
    layout: Option<LayoutFn>,
    fuse: Option<FuseFn>,
    pure: bool,
}

/// Says which data movement a call is, if it is nothing else; see [`Kernel::with_movement`].
pub type MovementFn = fn(&StaticArguments<'_>) -> Option<Movement>;

/// Says which layouts a call supports; see [`Kernel::with_layout`].
pub type LayoutFn = fn(&StaticArguments<'_>) -> Option<Layout>;

/// The layouts of image tensors (batch, channels, and further dimensions) that an operator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Any, as long as all of its tensors have the same one: it works on each element by itself.
    Elementwise,
    /// Its first argument and its results may each have channels first or last.
    Any,
    /// The same, and it is faster with channels last.
    PrefersChannelsLast,
}

/// A data movement. Where element types differ, or dim orders that are not the logical ones, nothing
/// is a data movement; that is checked for all operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// All of the argument at a position. The output has its shape.
    Same {
        /// The position.
        from: usize,
    },
    /// As much of the argument at a position as the output takes, where shapes are fixed.
    Range {
        /// The position.
        from: usize,
        /// The start in that argument's memory, in bytes.
        offset: usize,
    },
    /// The tensors of the list at a position, one after another, where shapes are fixed.
    Concatenation {
        /// The position.
        list: usize,
    },
}

impl Kernel {
    /// A kernel for the operator with this signature, in the notation of [`Signature`].
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn new(
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self {
            signature: Arc::new(Signature::parse(signature)?),
            run: Arc::new(run),
            movement: None,
            prepack: None,
            epilogue: None,
            epilogue_converts: false,
            layout: None,
            fuse: None,
            pure: false,
        })
    }

    /// The operator gives the same results for the same arguments, and does nothing else. Where all of
    /// its arguments are constants it runs once, when the method is linked.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.pure = true;
        self
    }

    /// The operator, for some arguments, only moves a range of memory. Where that memory is a
    /// device's, the operator need not run.
    #[must_use]
    pub fn with_movement(mut self, movement: MovementFn) -> Self {
        self.movement = Some(movement);
        self
    }

    /// The operator prepacks its constant arguments when a method is linked. Its calls find the result
    /// with [`KernelCall::prepacked`]. A call may also come without.
    #[must_use]
    pub fn with_prepack(mut self, prepack: PrepackFn) -> Self {
        self.prepack = Some(prepack);
        self
    }

    /// The operator can be the epilogue of the one that computes its first argument. `epilogue`
    /// describes it by the other arguments, which have to be static. `None`: not with these.
    ///
    /// The operator must write one tensor that matters, its first output, of the type, shape and
    /// dim order of its first argument.
    #[must_use]
    pub fn with_epilogue(mut self, epilogue: EpilogueFn) -> Self {
        self.epilogue = Some(epilogue);
        self.epilogue_converts = false;
        self
    }

    /// As [`with_epilogue`](Self::with_epilogue), for an operator that writes another element type than
    /// it reads. The operator that fuses it has to know that type from the epilogue.
    #[must_use]
    pub fn with_converting_epilogue(self, epilogue: EpilogueFn) -> Self {
        Self {
            epilogue_converts: true,
            ..self.with_epilogue(epilogue)
        }
    }

    /// The operator can be fused with epilogues ([`with_epilogue`](Self::with_epilogue)), if nothing
    /// else reads what is in between. If `fuse` takes them, calls find what it gives with
    /// [`KernelCall::prepacked`], must do all of the epilogues, in order, and write to the location of
    /// the last result. If it gives `None`, it is called again with fewer.
    ///
    /// The operator must write one tensor.
    #[must_use]
    pub fn with_fusion(mut self, fuse: FuseFn) -> Self {
        self.fuse = Some(fuse);
        self
    }

    /// The operator's results do not depend on the layouts of its tensors; `layout` says which ones a
    /// call supports. `None`: only the planned ones. A tensor that only such operators use may get
    /// another layout than planned.
    #[must_use]
    pub fn with_layout(mut self, layout: LayoutFn) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The operator's signature.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// True if results depend on arguments alone.
    pub fn is_pure(&self) -> bool {
        self.pure
    }

    /// True if it prepacks constant arguments.
    pub fn has_prepack(&self) -> bool {
        self.prepack.is_some()
    }

    /// True if it can be an epilogue.
    pub fn has_epilogue(&self) -> bool {
        self.epilogue.is_some()
    }

    /// True if it can be an epilogue that changes the element type.
    pub fn epilogue_converts(&self) -> bool {
        self.epilogue_converts
    }

    /// True if it can be fused with epilogues.
    pub fn has_fusion(&self) -> bool {
        self.fuse.is_some()
    }

    /// True if it says which layouts it supports.
    pub fn has_layout(&self) -> bool {
        self.layout.is_some()
    }

    /// True if it may be a data movement.
    pub fn has_movement(&self) -> bool {
        self.movement.is_some()
    }

    /// The properties of the operator beside its signature, in words, for tests that compare whole
    /// registries. What depends on the call is asked of one without arguments.
    #[doc(hidden)]
    pub fn properties(&self) -> Vec<String> {
        let call = StaticArguments::new(Vec::new());
        let mut properties = Vec::new();
        let mut add = |has: bool, property: &str| {
            if has {
                properties.push(property.to_string());
            }
        };
        let has_epilogue = self.epilogue.is_some();
        add(self.pure, "pure");
        add(self.prepack.is_some(), "prepack");
        add(self.fuse.is_some(), "epilogue fusion");
        add(has_epilogue && !self.epilogue_converts, "epilogue");
        add(
            has_epilogue && self.epilogue_converts,
            "converting epilogue",
        );
        if let Some(layout) = self.layout {
            let layout = layout(&call).map_or("by call".into(), |layout| format!("{layout:?}"));
            properties.push(format!("layout {layout}"));
        }
        if let Some(movement) = self.movement {
            let movement = movement(&call).map_or("by call".into(), |it| format!("{it:?}"));
            properties.push(format!("movement {movement}"));
        }
        properties
    }

    /// The prepacked constant arguments of an instruction.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn prepack(&self, arguments: &StaticArguments<'_>) -> Result<Option<Prepacked>> {
        self.prepack.map_or(Ok(None), |prepack| prepack(arguments))
    }

    /// An instruction as an epilogue.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn epilogue(&self, arguments: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
        self.epilogue
            .map_or(Ok(None), |epilogue| epilogue(arguments))
    }

    /// An instruction fused with epilogues.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn fuse(
        &self,
        arguments: &StaticArguments<'_>,
        epilogues: &[Epilogue],
    ) -> Result<Option<Prepacked>> {
        self.fuse
            .map_or(Ok(None), |fuse| fuse(arguments, epilogues))
    }

    /// The layouts that an instruction supports, if it says so.
    pub fn layout(&self, arguments: &StaticArguments<'_>) -> Option<Layout> {
        self.layout.and_then(|layout| layout(arguments))
    }

    /// The data movement that an instruction is, if it is nothing else.
    pub fn movement(&self, arguments: &StaticArguments<'_>) -> Option<Movement> {
        self.movement.and_then(|movement| movement(arguments))
    }

    /// Runs one call on the values of a frame.
    ///
    /// # Errors
    /// Those of the kernel; and if memory is out.
    #[inline(always)]
    pub fn run(
        &self,
        frame: &mut Frame,
        scratch: &mut Scratch,
        ids: &[ValueId],
        overlap: Overlap,
        context: KernelContext<'_>,
    ) -> Result<()> {
        let access = ArgumentAccess::of_operator(&self.signature, overlap);
        let call = KernelCall::new(
            Arguments::unprotected(frame, scratch, ids, &access),
            context,
        );
        call.protect_inputs()?;
        (self.run)(&call)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.signature)
    }
}
