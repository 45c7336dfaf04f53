//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// The system's allocator, which counts. It counts if a test makes it the allocator:
///
/// ```
/// use thalweg_testing::CountingAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// let before = ALLOCATOR.allocations();
/// drop(vec![1]);
/// assert_eq!(ALLOCATOR.allocations() - before, 1);
/// ```
#[derive(Debug)]
pub struct CountingAllocator;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicIsize = AtomicIsize::new(0);

// Constants without a destructor: to count with them allocates nothing.
thread_local! {
    static THREAD_ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static THREAD_BYTES: Cell<isize> = const { Cell::new(0) };
    static THREAD_PEAK: Cell<isize> = const { Cell::new(0) };
}

impl CountingAllocator {
    /// The number of allocations of all threads.
    pub fn allocations(&self) -> usize {
        ALLOCATIONS.load(Ordering::Relaxed)
    }

    /// The number of allocations of this thread.
    pub fn thread_allocations(&self) -> usize {
        THREAD_ALLOCATIONS.get()
    }

    /// The bytes that are in use.
    pub fn bytes(&self) -> isize {
        BYTES.load(Ordering::Relaxed)
    }

    /// The most bytes that this thread had in use while it ran `run`, beside those it had before.
    pub fn thread_peak(&self, run: impl FnOnce()) -> isize {
        let before = THREAD_BYTES.get();
        THREAD_PEAK.set(before);
        run();
        THREAD_PEAK.get() - before
    }

    fn add_bytes(bytes: isize) {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        // There is nothing to count with when the thread is ending.
        let _ = THREAD_BYTES.try_with(|held| {
            held.set(held.get() + bytes);
            let _ = THREAD_PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
        });
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged, and counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        let _ = THREAD_ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        Self::add_bytes(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::add_bytes(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
