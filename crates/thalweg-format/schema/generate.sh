#!/bin/sh
# Writes src/schema.rs anew from the schemas in this folder. Needs planus-cli 1.3.0
# (`cargo install planus-cli --version 1.3.0 --locked`), the same version as the `planus` crate:
# the generated file refuses to compile with any other.
set -eu
cd "$(dirname "$0")/.."
planus rust -o src/schema.rs schema/program.fbs schema/flat_tensor.fbs
# Planus derives serde's traits for its owned types. We use those types for nothing but their
# builders, so we leave the dependency out.
sed -i -e '/^ *::serde::\(Serialize\|Deserialize\),$/d' -e 's/, *::serde::Serialize, *::serde::Deserialize//' src/schema.rs
rustfmt --edition 2024 src/schema.rs
