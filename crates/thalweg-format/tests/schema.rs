//! The generated code belongs to the schemas beside it.

use std::fs;
use std::path::Path;

/// Planus notes in what it generates where in a schema each table comes from, and how its fields
/// are called. So this notices, without planus, that a schema was changed and the code was not.
#[test]
fn the_generated_code_is_up_to_date() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = fs::read_to_string(crate_folder.join("src/schema.rs")).unwrap();
    let mut tables = 0;
    for schema in ["program.fbs", "flat_tensor.fbs", "scalar_type.fbs"] {
        let text = fs::read_to_string(crate_folder.join("schema").join(schema)).unwrap();
        let mut table = None;
        let mut fields = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            if let Some(rest) = line.strip_prefix("table ") {
                let name = rest.split_whitespace().next().unwrap();
                let origin = format!("* Table `{name}` in the file `schema/{schema}:{}`", i + 1);
                assert!(
                    code.contains(&origin),
                    "`{name}` of {schema} is not in src/schema.rs, or elsewhere: run schema/generate"
                );
                table = Some(name);
                tables += 1;
            }
            if let Some(name) = table {
                let body = line.split_once('{').map_or(line, |(_, body)| body);
                for field in body.split(';').filter_map(|field| field.split_once(':')) {
                    fields.push((name, field.0.trim()));
                }
            }
            if line.contains('}') {
                table = None;
            }
        }
        for (table, field) in fields {
            let note = format!("The field `{field}` in the table `{table}`");
            assert!(
                code.contains(&note),
                "`{table}.{field}` of {schema} is not in src/schema.rs: run schema/generate"
            );
        }
    }
    assert_eq!(code.matches("* Table `").count(), tables);
}
