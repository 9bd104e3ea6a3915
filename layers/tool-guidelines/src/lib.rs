//! A tower layer that folds the usage snippets and guidelines of tools into a model request.
