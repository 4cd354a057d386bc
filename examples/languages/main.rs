//! Runs a model on two threads, which share it. one_model.c beside this file is compiled by the C
//! compiler and linked.
use std::ffi::{CStr, CString};
use std::os::raw::c_char;

const MESSAGE_SIZE: usize = 512;

/// Of one_model.h: never seen from inside.
#[repr(C)]
struct OneModel {
    _private: [u8; 0],
}

extern "C" {
    fn one_model_open(path: *const c_char, message: *mut c_char, size: usize) -> *mut OneModel;
    fn one_model_run(
        model: *mut OneModel,
        x: *const f32,
        rows: i64,
        columns: i64,
        y: *mut f32,
        room: i64,
        message: *mut c_char,
        size: usize,
    ) -> i64;
    fn one_model_close(model: *mut OneModel);
}

pub struct Model(*mut OneModel);

// Any number of threads may run a session at once, and any thread may close it.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

fn text(message: &[c_char; MESSAGE_SIZE]) -> String {
    unsafe { CStr::from_ptr(message.as_ptr()) }.to_string_lossy().into_owned()
}

impl Model {
    pub fn open(path: &str) -> Result<Model, String> {
        let path = CString::new(path).map_err(|error| error.to_string())?;
        let mut message: [c_char; MESSAGE_SIZE] = [0; MESSAGE_SIZE];
        let model = unsafe { one_model_open(path.as_ptr(), message.as_mut_ptr(), MESSAGE_SIZE) };
        if model.is_null() { Err(text(&message)) } else { Ok(Model(model)) }
    }

    /// The output of `x`, which has rows of so many columns.
    pub fn run(&self, x: &[f32], columns: usize) -> Result<Vec<f32>, String> {
        if columns == 0 || x.len() % columns != 0 {
            return Err(format!("{} numbers are no rows of {}", x.len(), columns));
        }
        let mut y = vec![0.0; x.len()];
        let mut message: [c_char; MESSAGE_SIZE] = [0; MESSAGE_SIZE];
        let count = unsafe {
            one_model_run(
                self.0,
                x.as_ptr(),
                (x.len() / columns) as i64,
                columns as i64,
                y.as_mut_ptr(),
                y.len() as i64,
                message.as_mut_ptr(),
                MESSAGE_SIZE,
            )
        };
        if count < 0 {
            return Err(text(&message));
        }
        y.truncate(count as usize);
        Ok(y)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { one_model_close(self.0) }
    }
}

fn main() -> Result<(), String> {
    let model = Model::open("model.onnx")?;
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2)
            .map(|i| {
                let model = &model;
                scope.spawn(move || model.run(&[-1.0, 2.0, i as f32], 3))
            })
            .collect();
        for run in runs {
            println!("{:?}", run.join().map_err(|_| "a thread has failed".to_string())??);
        }
        Ok(())
    })
}
