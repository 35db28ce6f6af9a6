//! Lines made of characters that join at their edges.

use crate::render::Look;

/// How heavy a line is that leaves a cell on one side: not there, light, or heavy.
type Weight = u8;

/// The lines that leave one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arms {
    up: Weight,
    down: Weight,
    left: Weight,
    right: Weight,
}

/// Every joint there is: the weights up, down, left and right as digits of a number of base three.
const JOINTS: &str = " ╶╺╴─╼╸╾━╷┌┍┐┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵└┕┘┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋";

impl Arms {
    /// Adds lines; of two on one side the heavier stays.
    pub(super) fn add(&mut self, [up, down, left, right]: [bool; 4], is_heavy: bool) {
        let weight = if is_heavy { 2 } else { 1 };
        for (arm, is_there) in
            [(&mut self.up, up), (&mut self.down, down), (&mut self.left, left), (&mut self.right, right)]
        {
            *arm = (*arm).max(if is_there { weight } else { 0 });
        }
    }

    /// Tells whether a heavy line is among them.
    pub(super) fn is_heavy(self) -> bool {
        [self.up, self.down, self.left, self.right].contains(&2)
    }

    /// Tells whether a line leaves it to the right.
    pub(super) const fn goes_right(self) -> bool {
        self.right > 0
    }

    /// Returns the character that joins them.
    pub(super) fn joint(self, look: &Look) -> char {
        if look.unicode {
            let number =
                usize::from(self.up) * 27 + usize::from(self.down) * 9 + usize::from(self.left * 3 + self.right);
            return JOINTS.chars().nth(number).unwrap_or(' ');
        }
        match (self.up + self.down > 0, self.left + self.right > 0) {
            (false, false) => ' ',
            (false, true) => {
                if self.is_heavy() {
                    '='
                } else {
                    '-'
                }
            }
            (true, false) => '|',
            (true, true) => '+',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arms;
    use crate::render::Look;

    #[test]
    fn lines_join_where_they_meet_and_the_heavier_shows() {
        let mut arms = Arms::default();
        assert_eq!(arms.joint(&Look::PIPE), ' ');
        arms.add([false, false, true, true], false);
        assert_eq!(arms.joint(&Look::PIPE), '─');
        arms.add([false, true, true, false], true);
        assert_eq!(arms.joint(&Look::PIPE), '┱');
        arms.add([true, true, true, true], true);
        assert_eq!(arms.joint(&Look::PIPE), '╋');
        assert_eq!(arms.joint(&Look { unicode: false, ..Look::PIPE }), '+');
    }
}
