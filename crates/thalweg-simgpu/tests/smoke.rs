use thalweg_simgpu::{Config, Sim};
#[test]
fn loads() {
    let sim = Sim::session(Config::seeded(1));
    sim.assert_clean();
}
