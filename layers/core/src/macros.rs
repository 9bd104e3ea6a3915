//! What the services of all layers have in common.

/// The accessors of a service around an inner one, whose field is called `inner`.
#[doc(hidden)]
#[macro_export]
macro_rules! inner_service_accessors {
    () => {
        /// The inner service.
        pub fn get_ref(&self) -> &S {
            &self.inner
        }

        /// The inner service.
        pub fn get_mut(&mut self) -> &mut S {
            &mut self.inner
        }

        /// The inner service.
        pub fn into_inner(self) -> S {
            self.inner
        }
    };
}
