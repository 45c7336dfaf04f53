//! The recorded calls that `thalweg bench alternate` measures, on the command line.

use std::str::FromStr;

use crate::failure::{Failure, Result};
use crate::fixture::RecordedCall;
use crate::text;

/// The recorded calls that alternate; all of them if none is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turns(Vec<Turn>);

/// A recorded call, by its number in the record, and the profile that it pins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    pub(super) call: usize,
    pub(super) profile: Option<usize>,
}

impl Turns {
    /// Finds the calls among the recorded ones.
    pub(super) fn find<'r>(
        &self,
        recorded: Option<&'r [RecordedCall]>,
    ) -> Result<Vec<(Turn, &'r RecordedCall)>> {
        let Some(recorded) = recorded else {
            return Err(
                Failure::new("there are no recorded calls that could alternate")
                    .hint("a folder with a model.pte and a case.json"),
            );
        };
        let all = (0..recorded.len()).map(|call| Turn {
            call,
            profile: None,
        });
        let turns = match &*self.0 {
            [] => all.collect(),
            some => some.to_vec(),
        };
        if turns.len() < 2 {
            return Err(Failure::new(
                "there is only one call, and nothing to alternate with",
            ));
        }
        let of = |turn: Turn| match recorded.get(turn.call) {
            Some(call) => Ok((turn, call)),
            None => Err(Failure::new(format!(
                "there is no call {}; the record has {}, from 0 on",
                turn.call,
                text::count(recorded.len(), "call")
            ))),
        };
        turns.into_iter().map(of).collect()
    }
}

impl FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::default());
        }
        let number = |text: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("`{text}` is no number of a recorded call or profile"))
        };
        let turn = |text: &str| {
            Ok(match text.split_once('@') {
                None => Turn {
                    call: number(text)?,
                    profile: None,
                },
                Some((call, profile)) => Turn {
                    call: number(call)?,
                    profile: Some(number(profile)?),
                },
            })
        };
        text.split(',')
            .map(turn)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_calls_with_or_without_a_profile() {
        let turn = |call, profile| Turn { call, profile };
        assert_eq!("all".parse(), Ok(Turns::default()));
        assert_eq!(
            "0@1,12,3@0".parse(),
            Ok(Turns(vec![
                turn(0, Some(1)),
                turn(12, None),
                turn(3, Some(0))
            ]))
        );
        for wrong in ["", "0@", "@1", "0,,1", "a", "0@1@2", "-1"] {
            wrong.parse::<Turns>().unwrap_err();
        }
    }
}
