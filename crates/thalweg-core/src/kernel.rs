//! Operators: how kernels are registered, found and called.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use crate::memory::Arguments;
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue};
use crate::{
    AbsorbFn, DType, Preparation, PrepareFn, Prepared, Result, Scalar, Signature, ValueId,
};

/// What runs an operator: a function of its call.
pub type KernelFn = dyn Fn(&KernelCall<'_>) -> Result<()> + Send + Sync;

/// An operator that a runtime has.
#[derive(Clone)]
pub struct Kernel {
    signature: Arc<Signature>,
    run: Arc<KernelFn>,
    moves: Option<MovesFn>,
    prepare: Option<PrepareFn>,
    offer: Option<PrepareFn>,
    offer_converts: bool,
    order: Option<OrderFn>,
    absorb: Option<AbsorbFn>,
    pure: bool,
}

/// Says of a call whether all that the operator does is to move whole ranges of its arguments'
/// memory to its output, without a look at it.
pub type MovesFn = fn(&StaticCall<'_>) -> Option<Moved>;

/// Says of a call how the operator goes about the order of dimensions in its tensors; see
/// [`Kernel::with_order`].
pub type OrderFn = fn(&StaticCall<'_>) -> Option<Order>;

/// How an operator goes about the order of dimensions in tensors of images, or of what has another
/// number of dimensions behind its batch and channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It works on each element by itself, as fast in any order as long as all tensors have the same
    /// one.
    Alike,
    /// Its first argument and what it writes may each have channels first or last, and it is as fast
    /// with either.
    Any,
    /// The same, and it is faster with channels last.
    ChannelsLast,
}

/// What an operator moves. Nothing is moved if types differ, or orders of dimensions that are not
/// the logical ones; that is checked for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// All of the argument at a position. The output has its shape.
    Same {
        /// The position.
        from: usize,
    },
    /// As much of the argument at a position as the output has room for, where shapes are fixed.
    Range {
        /// The position.
        from: usize,
        /// Where it starts in that argument's memory, in bytes.
        offset: usize,
    },
    /// All tensors of the list at a position, one after another, where shapes are fixed.
    Joined {
        /// The position.
        list: usize,
    },
}

/// The arguments of a call as far as they are known before it: types, shapes and numbers that do
/// not change.
pub struct StaticCall<'p> {
    plan: &'p MethodPlan,
    arguments: &'p [ValueId],
    changing: &'p HashSet<ValueId>,
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
            moves: None,
            prepare: None,
            offer: None,
            offer_converts: false,
            order: None,
            absorb: None,
            pure: false,
        })
    }

    /// Adds that the operator, for some arguments, only moves a range of memory. Where that is so
    /// and the memory is a device's, the operator need not run at all.
    #[must_use]
    pub fn with_moves(mut self, moves: MovesFn) -> Self {
        self.moves = Some(moves);
        self
    }

    /// Adds that the operator can prepare something of its constant arguments when a method is
    /// linked, such as weights in the order in which it reads them. Its calls find it with
    /// [`KernelCall::prepared`]. A call may also come without: then nothing is known before it.
    #[must_use]
    pub fn with_preparation(mut self, prepare: PrepareFn) -> Self {
        self.prepare = Some(prepare);
        self
    }

    /// Adds that what the operator does can be done by the operator that computes its first argument,
    /// while it writes its result. `offer` describes it, by the other arguments, which have to be
    /// constant: anything that the two understand. `None`: not with these arguments.
    ///
    /// The operator must write one tensor that matters, its first output, of the type, shape and
    /// order of its first argument.
    #[must_use]
    pub fn with_offer(mut self, offer: PrepareFn) -> Self {
        self.offer = Some(offer);
        self
    }

    /// As [`with_offer`](Self::with_offer), for an operator that writes another type than it reads. Who
    /// takes the offer has to know by what is offered which type that is.
    #[must_use]
    pub fn with_converting_offer(self, offer: PrepareFn) -> Self {
        Self {
            offer_converts: true,
            ..self.with_offer(offer)
        }
    }

    /// Adds that the operator's results do not depend on the order in which its tensors' dimensions lie
    /// in memory, and which order it would like: `order` says so for a call. `None`: not of this one.
    /// Where only such operators look at a tensor, its order may be another one than planned.
    #[must_use]
    pub fn with_order(mut self, order: OrderFn) -> Self {
        self.order = Some(order);
        self
    }

    /// Adds that the operator can do the work of those that follow it, if nothing else looks at what
    /// is in between. `absorb` sees what they offer ([`with_offer`](Self::with_offer)), in their order.
    /// If it takes it, its calls find what it gives with [`KernelCall::prepared`], must do all that was
    /// offered, and write to the place of the last result. If it gives `None`, it is asked again with
    /// fewer.
    ///
    /// The operator must write one tensor.
    #[must_use]
    pub fn with_absorption(mut self, absorb: AbsorbFn) -> Self {
        self.absorb = Some(absorb);
        self
    }

    /// Adds that the operator gives the same results for the same arguments, and does nothing else.
    /// Where all of its arguments are constants it runs once, when the method is linked.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.pure = true;
        self
    }

    /// Whether results depend on arguments alone.
    pub fn is_pure(&self) -> bool {
        self.pure
    }

    pub(crate) fn prepares(&self) -> bool {
        self.prepare.is_some()
    }

    pub(crate) fn prepare(&self, arguments: &Preparation<'_>) -> Result<Option<Prepared>> {
        self.prepare.map_or(Ok(None), |prepare| prepare(arguments))
    }

    pub(crate) fn offers(&self) -> bool {
        self.offer.is_some()
    }

    pub(crate) fn offer(&self, arguments: &Preparation<'_>) -> Result<Option<Prepared>> {
        self.offer.map_or(Ok(None), |offer| offer(arguments))
    }

    pub(crate) fn offer_converts(&self) -> bool {
        self.offer_converts
    }

    /// How a call goes about the order of dimensions, if it says so.
    pub(crate) fn order(&self, call: &StaticCall<'_>) -> Option<Order> {
        self.order.and_then(|order| order(call))
    }

    pub(crate) fn absorbs(&self) -> bool {
        self.absorb.is_some()
    }

    pub(crate) fn absorb(
        &self,
        arguments: &Preparation<'_>,
        offers: &[Prepared],
    ) -> Result<Option<Prepared>> {
        self.absorb
            .map_or(Ok(None), |absorb| absorb(arguments, offers))
    }

    /// What a call moves, if that is all that it does.
    pub(crate) fn moved(&self, call: &StaticCall<'_>) -> Option<Moved> {
        self.moves.and_then(|moves| moves(call))
    }

    /// What the operator says of itself beside its signature, in words, for tests that compare whole
    /// registries. What depends on the call is asked of one without arguments.
    #[doc(hidden)]
    pub fn properties(&self) -> Vec<String> {
        let plan = MethodPlan {
            name: String::new(),
            input_tree: None,
            output_tree: None,
            values: Vec::new(),
            tensors: Vec::new(),
            storages: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            operators: Vec::new(),
            delegates: Vec::new(),
            steps: Vec::new(),
            arguments: Vec::new(),
        };
        let changing = HashSet::new();
        let call = StaticCall::new(&plan, &[], &changing);
        let mut properties = Vec::new();
        let mut add = |has: bool, property: &str| {
            if has {
                properties.push(property.to_string());
            }
        };
        add(self.pure, "pure");
        add(self.prepare.is_some(), "prepack");
        add(self.absorb.is_some(), "epilogue fusion");
        add(self.offer.is_some() && !self.offer_converts, "epilogue");
        add(
            self.offer.is_some() && self.offer_converts,
            "converting epilogue",
        );
        if let Some(order) = self.order {
            let order = order(&call).map_or("by call".to_string(), |order| format!("{order:?}"));
            properties.push(format!("layout {order}"));
        }
        if let Some(moves) = self.moves {
            let moved = moves(&call).map_or("by call".to_string(), |moved| format!("{moved:?}"));
            properties.push(format!("movement {moved}"));
        }
        properties
    }

    /// What the operator takes and returns.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    #[inline]
    pub(crate) fn run(&self, call: &KernelCall<'_>) -> Result<()> {
        (self.run)(call)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.signature)
    }
}

impl<'p> StaticCall<'p> {
    pub(crate) fn new(
        plan: &'p MethodPlan,
        arguments: &'p [ValueId],
        changing: &'p HashSet<ValueId>,
    ) -> Self {
        Self {
            plan,
            arguments,
            changing,
        }
    }

    /// The element type, shape and dim order of a tensor whose shape does not change.
    pub fn tensor(&self, position: usize) -> Option<(DType, &'p [usize], &'p [u8])> {
        self.static_tensor(self.value(position)?)
    }

    /// Whether the argument at a position is a tensor whose elements are known, or absent.
    pub fn is_constant(&self, position: usize) -> bool {
        match self.value(position) {
            Some(PlannedValue::Tensor(id)) => {
                let storage = self.plan.tensors[id.0 as usize].storage;
                let storage = &self.plan.storages[storage.0 as usize];
                matches!(storage, PlannedStorage::Constant { .. })
            }
            Some(PlannedValue::Scalar(value)) => value.is_none(),
            _ => false,
        }
    }

    /// How many tensors the list at a position has, if all are there.
    pub fn list_len(&self, position: usize) -> Option<usize> {
        let PlannedValue::TensorList(list) = self.value(position)? else {
            return None;
        };
        list.iter().all(Option::is_some).then_some(list.len())
    }

    /// As for [`tensor`](Self::tensor), of one in a list.
    pub fn list_tensor(
        &self,
        position: usize,
        index: usize,
    ) -> Option<(DType, &'p [usize], &'p [u8])> {
        let PlannedValue::TensorList(list) = self.value(position)? else {
            return None;
        };
        let value = (*list.get(index)?)?;
        self.static_tensor(self.plan.values.get(value.index())?)
    }

    fn static_tensor(&self, value: &'p PlannedValue) -> Option<(DType, &'p [usize], &'p [u8])> {
        let PlannedValue::Tensor(id) = value else {
            return None;
        };
        let tensor = &self.plan.tensors[id.0 as usize];
        (tensor.dynamism == ShapeDynamism::Static).then_some((
            tensor.dtype,
            &*tensor.sizes,
            &*tensor.dim_order,
        ))
    }

    /// An integer that neither an instruction nor a caller changes.
    pub fn int(&self, position: usize) -> Option<i64> {
        match self.value(position)? {
            PlannedValue::Scalar(Some(Scalar::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// A truth value that neither an instruction nor a caller changes.
    pub fn bool(&self, position: usize) -> Option<bool> {
        match self.value(position)? {
            PlannedValue::Scalar(Some(Scalar::Bool(value))) => Some(*value),
            _ => None,
        }
    }

    fn value(&self, position: usize) -> Option<&'p PlannedValue> {
        let argument = self.arguments.get(position)?;
        let value = self.plan.values.get(argument.index())?;
        let changes = matches!(value, PlannedValue::Scalar(_)) && self.changing.contains(argument);
        (!changes).then_some(value)
    }
}

/// One call of an operator: its [`Arguments`], and how it may run.
pub struct KernelCall<'c> {
    arguments: Arguments<'c>,
    threads: usize,
    prepared: Option<&'c Prepared>,
    unread: u64,
}

impl<'c> KernelCall<'c> {
    /// `prepared` is what the operator has prepared of its constant arguments; `unread` has a bit for
    /// each argument, as [`is_unread`](Self::is_unread) says.
    #[inline(always)]
    pub(crate) fn new(
        arguments: Arguments<'c>,
        threads: usize,
        prepared: Option<&'c Prepared>,
        unread: u64,
    ) -> Self {
        Self {
            arguments,
            threads,
            prepared,
            unread,
        }
    }

    /// What the operator has prepared of its constant arguments, if it has.
    #[inline]
    pub fn prepared<T: Any>(&self) -> Option<&T> {
        self.prepared?.get()
    }

    /// Whether nothing looks at an output, so that it need not be computed. It must be given its shape
    /// all the same.
    #[inline]
    pub fn is_unread(&self, position: usize) -> bool {
        position < 64 && self.unread >> position & 1 != 0
    }

    /// How many threads the kernel may use; at least 1.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl<'c> Deref for KernelCall<'c> {
    type Target = Arguments<'c>;

    #[inline]
    fn deref(&self) -> &Arguments<'c> {
        &self.arguments
    }
}

/// The operators that a runtime has, by name.
#[derive(Clone, Debug, Default)]
pub struct KernelRegistry {
    kernels: HashMap<String, Kernel>,
}

impl KernelRegistry {
    /// A registry without operators.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operator. One of the same name is replaced, so that a caller can put their own
    /// kernel in the place of one of Thalweg's.
    pub fn add(&mut self, kernel: Kernel) {
        self.kernels
            .insert(kernel.signature.operator().to_string(), kernel);
    }

    /// Adds an operator by its signature and function.
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn register(
        &mut self,
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.add(Kernel::new(signature, run)?);
        Ok(())
    }

    /// Adds to an operator that it only moves memory; see [`Kernel::with_moves`]. Nothing if there
    /// is no such operator.
    pub fn set_moves(&mut self, operator: &str, moves: MovesFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.moves = Some(moves);
        }
    }

    /// Adds to an operator that it prepares something of its constant arguments; see
    /// [`Kernel::with_preparation`]. Nothing if there is no such operator.
    pub fn set_preparation(&mut self, operator: &str, prepare: PrepareFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.prepare = Some(prepare);
        }
    }

    /// Adds to an operator that others can do its work; see [`Kernel::with_offer`]. Nothing if there
    /// is no such operator.
    pub fn set_offer(&mut self, operator: &str, offer: PrepareFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.offer = Some(offer);
            kernel.offer_converts = false;
        }
    }

    /// As [`set_offer`](Self::set_offer); see [`Kernel::with_converting_offer`].
    pub fn set_converting_offer(&mut self, operator: &str, offer: PrepareFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.offer = Some(offer);
            kernel.offer_converts = true;
        }
    }

    /// Adds to an operator how it goes about the order of dimensions; see [`Kernel::with_order`].
    /// Nothing if there is no such operator.
    pub fn set_order(&mut self, operator: &str, order: OrderFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.order = Some(order);
        }
    }

    /// Adds to all operators that are there how they go about the order of dimensions; see
    /// [`Kernel::with_order`].
    pub fn set_all_orders(&mut self, order: OrderFn) {
        let kernels = self.kernels.values_mut();
        kernels.for_each(|kernel| kernel.order = Some(order));
    }

    /// Adds to an operator that it can do the work of others; see [`Kernel::with_absorption`]. Nothing
    /// if there is no such operator.
    pub fn set_absorption(&mut self, operator: &str, absorb: AbsorbFn) {
        if let Some(kernel) = self.kernels.get_mut(operator) {
            kernel.absorb = Some(absorb);
        }
    }

    /// Adds to all operators that are there that their results depend on arguments alone; see
    /// [`Kernel::pure`].
    pub fn set_all_pure(&mut self) {
        let kernels = self.kernels.values_mut();
        kernels.for_each(|kernel| kernel.pure = true);
    }

    /// Adds all operators of another registry, which replace those of the same names.
    pub fn extend(&mut self, other: Self) {
        self.kernels.extend(other.kernels);
    }

    /// The operator with this name, such as `aten::add.out`.
    pub fn get(&self, operator: &str) -> Option<&Kernel> {
        self.kernels.get(operator)
    }

    /// All operators, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Kernel> {
        let mut kernels: Vec<_> = self.kernels.values().collect();
        kernels.sort_by(|a, b| a.signature.operator().cmp(b.signature.operator()));
        kernels.into_iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}
