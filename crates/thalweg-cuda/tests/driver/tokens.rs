use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_cuda::{DeviceBuffer, Stream};

struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_token_gives_back_what_it_keeps_when_the_work_is_over() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let (one, two) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let buffer = DeviceBuffer::new(&one, 4096).unwrap();
        let dropped = Arc::new(AtomicBool::new(false));
        let mut work = one.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        let token = work.finish_with(Flag(dropped.clone())).unwrap();
        // Another stream goes on with it, and waits on the device.
        let Ok(flag) = token.continue_on(&two) else {
            panic!("the wait failed");
        };
        assert!(!dropped.load(Ordering::SeqCst));
        let mut work = two.work().unwrap();
        work.fill(&buffer, 2).unwrap();
        let token = work.finish_with(flag).unwrap();
        one.wait_for(&token).unwrap();
        let event = token.event().unwrap();
        let Ok(flag) = token.wait() else {
            panic!("the wait failed");
        };
        assert!(event.is_done().unwrap());
        drop(flag);
        assert!(dropped.load(Ordering::SeqCst));
        let mut work = one.work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![0x0202_0202; 1024]);
    });
}

#[test]
fn dropping_a_token_or_work_drops_what_it_keeps() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        for finish in [true, false] {
            let dropped = Arc::new(AtomicBool::new(false));
            let mut work = stream.work().unwrap();
            work.fill(&buffer, 1).unwrap();
            if finish {
                drop(work.finish_with(Flag(dropped.clone())).unwrap());
            } else {
                work.keep(Flag(dropped.clone()));
                drop(work);
            }
            assert!(dropped.load(Ordering::SeqCst));
            assert!(stream.is_done().unwrap());
        }
    });
}
