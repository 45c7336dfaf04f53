use super::*;
use thalweg_core::ErrorKind;
use thalweg_cuda::{DeviceBuffer, PinnedBuffer, Stream};

#[test]
fn bytes_come_back_as_they_went() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        for len in [0, 1, 4096, 65_537] {
            let data: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
            let buffer = DeviceBuffer::new(&stream, len).unwrap();
            let mut work = stream.work().unwrap();
            work.upload(&buffer, &data).unwrap();
            let mut result = vec![0; len];
            work.download(&mut result, &buffer).unwrap();
            assert_eq!(result, data);
            work.finish().unwrap();
        }
    });
}

#[test]
fn large_pageable_memory_goes_piece_by_piece() {
    on_every_machine(3, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let mut data = bytes(&numbers(6 << 20));
        let expected = data.clone();
        let buffer = DeviceBuffer::new(&stream, data.len()).unwrap();
        let mut work = stream.work().unwrap();
        work.upload(&buffer, &data).unwrap();
        // They are ours again, whether they have been copied or not.
        data.fill(0);
        work.download(&mut data, &buffer).unwrap();
        assert!(data == expected);
    });
}

#[test]
fn the_host_reads_pinned_memory_after_the_device_has_written_it() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut pinned = PinnedBuffer::new(&device, 4096).unwrap();
        assert!(pinned.read().unwrap().iter().all(|&byte| byte == 0));
        for round in 0..4 {
            let data: Vec<u32> = (0..1024).map(|x| x + round).collect();
            // The copy of the round before may still read it; this waits.
            pinned.write().unwrap().copy_from_slice(&bytes(&data));
            let mut work = stream.work().unwrap();
            work.copy_to_device(&buffer, &pinned).unwrap();
            code.affine(&mut work, &buffer, &buffer, (3, 1)).unwrap();
            if round % 2 == 0 {
                work.copy_to_host(&pinned, &buffer).unwrap();
            }
            work.finish().unwrap();
            if round % 2 == 0 {
                let expected: Vec<u32> = data.iter().map(|x| x * 3 + 1).collect();
                assert_eq!(from_bytes(&pinned.read().unwrap()), expected);
            }
        }
    });
}

#[test]
fn parts_of_buffers_are_copied_and_filled() {
    on_every_machine(20, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let (one, two) = (
            DeviceBuffer::new(&stream, 1024).unwrap(),
            DeviceBuffer::new(&stream, 1024).unwrap(),
        );
        let pinned = PinnedBuffer::new(&device, 512).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&one, 1).unwrap();
        work.fill(one.slice(100..200).unwrap(), 2).unwrap();
        work.fill(&two, 3).unwrap();
        work.copy(two.slice(..100).unwrap(), one.slice(150..250).unwrap())
            .unwrap();
        work.copy(two.slice(500..600).unwrap(), two.slice(0..100).unwrap())
            .unwrap();
        work.copy_to_host(pinned.slice(..300).unwrap(), two.slice(400..700).unwrap())
            .unwrap();
        work.finish().unwrap();
        let result = pinned.read().unwrap();
        let count = |byte| result[..300].iter().filter(|&&other| other == byte).count();
        assert_eq!((count(1), count(2), count(3)), (50, 50, 200));
        assert!(result[300..].iter().all(|&byte| byte == 0));
        assert_eq!(result[100..150], [2; 50]);
    });
}

#[test]
fn copies_that_cannot_be_are_refused_before_the_driver_sees_them() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 1024).unwrap();
        let mut pinned = PinnedBuffer::new(&device, 512).unwrap();
        assert!(buffer.slice(1000..1025).is_err());
        assert!(buffer.slice(..usize::MAX).is_err());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = buffer.slice(20..10);
        assert!(reversed.is_err());
        let mut work = stream.work().unwrap();
        let refused = [
            work.copy_to_device(&buffer, &pinned),
            work.copy_to_host(&pinned, &buffer),
            work.upload(&buffer, &[0; 5]),
            work.copy(
                buffer.slice(0..100).unwrap(),
                buffer.slice(50..150).unwrap(),
            ),
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        // The host holds the bytes.
        let held = pinned.write().unwrap();
        drop(held);
        let held = pinned.read().unwrap();
        let half = buffer.slice(..512).unwrap();
        assert!(work.copy_to_host(&pinned, half).is_err());
        work.copy_to_device(half, &pinned).unwrap();
        drop(held);
        // Work that is not finished has them.
        assert!(pinned.read().is_ok());
        work.copy_to_host(&pinned, half).unwrap();
        let error = pinned.read().err().unwrap();
        assert!(error.to_string().contains("unfinished"), "{error}");
        work.finish().unwrap();
        assert!(pinned.read().is_ok());
    });
}

#[test]
fn devices_copy_from_each_other() {
    on_every_machine(30, 2, |driver| {
        let (one, two) = (driver.device(0).unwrap(), driver.device(1).unwrap());
        let (first, second) = (Stream::new(&one).unwrap(), Stream::new(&two).unwrap());
        let from = DeviceBuffer::new(&first, 4096).unwrap();
        let to = DeviceBuffer::new(&second, 4096).unwrap();
        let code = Code::load(&two);
        let mut work = first.work().unwrap();
        work.upload(&from, &bytes(&numbers(1024))).unwrap();
        work.finish().unwrap();
        let mut work = second.work().unwrap();
        work.copy(&to, &from).unwrap();
        code.affine(&mut work, &to, &to, (1, 1)).unwrap();
        work.finish().unwrap();
        // The source is overwritten after the copy, whatever the stream.
        let mut work = first.work().unwrap();
        work.fill(&from, 9).unwrap();
        work.finish().unwrap();
        let mut work = second.work().unwrap();
        let expected: Vec<u32> = numbers(1024).iter().map(|x| x.wrapping_add(1)).collect();
        assert_eq!(download(&mut work, &to), expected);
    });
}

#[test]
fn bytes_that_are_copied_once_may_be_changed_at_once_wherever_they_are() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let mut pageable = bytes(&numbers(1024));
        let expected = pageable.clone();
        let mut pinned = PinnedBuffer::new(&device, pageable.len()).unwrap();
        pinned.write().unwrap().copy_from_slice(&pageable);
        for from_pinned in [false, true] {
            let buffer = DeviceBuffer::new(&stream, pageable.len()).unwrap();
            let mut work = stream.work().unwrap();
            match from_pinned {
                true => {
                    let lent = pinned.read().unwrap();
                    work.upload_once(&buffer, &lent).unwrap();
                }
                false => work.upload_once(&buffer, &pageable).unwrap(),
            }
            pageable.fill(0);
            pinned.write().unwrap().fill(0);
            let mut result = vec![0; expected.len()];
            work.download(&mut result, &buffer).unwrap();
            work.finish().unwrap();
            assert_eq!(result, expected);
            pageable.copy_from_slice(&expected);
            pinned.write().unwrap().copy_from_slice(&expected);
        }
    });
}
