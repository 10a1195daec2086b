//! Where endpoints are bound: runtimes without drivers, wildcards of both families.

use crate::common;

use common::options;
use msctp::{BindError, Endpoint};
use tokio::runtime::Builder;

#[test]
fn a_runtime_without_drivers_is_an_error_of_bind() {
    let mut builders =
        [Builder::new_current_thread(), Builder::new_current_thread(), Builder::new_current_thread()];
    builders[1].enable_io();
    builders[2].enable_time();
    for builder in &mut builders {
        let runtime = builder.build().unwrap();
        let error = runtime.block_on(async { Endpoint::bind(&options()) }).unwrap_err();
        assert!(matches!(error, BindError::NoRuntime), "{error:?}");
        assert_eq!(
            error.to_string(),
            "no tokio runtime with I/O and time here: bind within one, built with Builder::enable_all"
        );
    }
    assert!(matches!(Endpoint::bind(&options()), Err(BindError::NoRuntime)), "no runtime at all");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { Endpoint::bind(&options()).unwrap().close().await.unwrap() });
}
