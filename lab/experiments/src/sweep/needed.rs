//! What claims need of a sweep: the cells that their checks look at, and the metrics and curves of these.

use std::collections::BTreeSet;

use super::{Against, CheckSpec, ClaimSpec, Of, Quantity, Selector, Sweep, Wants, contains, moved};

/// The cells of some checks, given by their values on the axes.
pub(super) type Cells = BTreeSet<Vec<usize>>;

impl CheckSpec {
    /// Returns the cells that the check itself selects, as a choice of axes' values.
    pub(super) fn own(&self) -> Selector {
        match &self.what {
            Wants::Relation { a, over, .. } => a.iter().chain(over).cloned().collect(),
            Wants::Best { a, .. } | Wants::Nearer { a, .. } | Wants::NotBehind { a, .. } => a.clone(),
            Wants::Linear { .. } | Wants::Lowest { .. } => Selector::new(),
        }
    }

    /// Returns the quantities that the check uses; none if it uses a curve.
    fn quantities(&self) -> Vec<Quantity> {
        match &self.what {
            Wants::Relation { of, than, .. } => vec![*of, *than],
            Wants::Best { of, .. } | Wants::Nearer { of, .. } => vec![*of],
            Wants::Lowest { .. } | Wants::NotBehind { .. } | Wants::Linear { .. } => Vec::new(),
        }
    }

    /// Returns the curve that the check uses.
    fn curve(&self) -> Option<usize> {
        match &self.what {
            Wants::Lowest { curve, .. } | Wants::NotBehind { curve, .. } | Wants::Linear { curve, .. } => {
                Some(*curve)
            }
            Wants::Relation { .. } | Wants::Best { .. } | Wants::Nearer { .. } => None,
        }
    }
}

impl Sweep {
    /// Returns the choice of a check with the conditions of its claim. The check's own values take
    /// precedence.
    pub(super) fn at(check: &CheckSpec, conditions: &Selector) -> Selector {
        let own = check.own();
        let free = |axis: usize| own.iter().any(|(of, _)| *of == axis);
        let at = check.at.iter().chain(conditions).filter(|(axis, _)| !free(*axis)).cloned();
        at.chain(own.iter().cloned()).collect()
    }

    /// Returns the conditions under which a claim is graded: those that decide, or its own.
    pub(super) fn conditions(&self, claim: &ClaimSpec) -> Selector {
        let judged = self.judged.filter(|_| claim.conditions.is_empty());
        judged.map_or_else(Selector::new, |axis| vec![(axis, vec![0])])
    }

    /// Returns the cells that the claims need.
    pub(super) fn cells_of_claims(&self) -> Cells {
        let of = |claim: &ClaimSpec| {
            let conditions = self.conditions(claim);
            claim.checks.iter().flat_map(move |check| self.cells_of(check, &conditions)).collect::<Cells>()
        };
        self.claims.iter().flat_map(of).collect()
    }

    /// Returns the cells that the checks of the findings need. Other cells in their texts only give numbers.
    pub(super) fn cells_of_evidence(&self) -> Cells {
        let none = Selector::new();
        self.evidence.iter().flatten().flat_map(|check| self.cells_of(check, &none)).collect()
    }

    fn cells_of(&self, check: &CheckSpec, conditions: &Selector) -> Cells {
        let at = Self::at(check, conditions);
        let mut cells: Cells = self.grid.iter().filter(|values| contains(&at, values)).cloned().collect();
        let others: Vec<Selector> = match &check.what {
            Wants::Relation { against: Against::Cells(other), .. } => vec![other.clone()],
            Wants::NotBehind { behind, .. } => vec![behind.clone()],
            Wants::Nearer { to, than_to, .. } => vec![to.clone(), than_to.clone()],
            Wants::Best { axis, .. } => {
                (0..self.axes[*axis].values.len()).map(|value| vec![(*axis, vec![value])]).collect()
            }
            Wants::Relation { .. } | Wants::Linear { .. } | Wants::Lowest { .. } => Vec::new(),
        };
        let mut add = |other: &Selector| {
            let more: Vec<Vec<usize>> = cells.iter().map(|values| moved(values, other)).collect();
            cells.extend(more);
        };
        others.iter().for_each(&mut add);
        for quantity in check.quantities() {
            if let Quantity::Contrast(contrast) = quantity {
                add(&self.contrasts[contrast].against);
            }
        }
        cells
    }

    /// Removes the metrics and curves that neither a claim nor the guard of a run needs, since a point of an
    /// atlas computes nothing else.
    pub(super) fn only_needed(&mut self) {
        let (mut metrics, mut curves) = (BTreeSet::new(), BTreeSet::new());
        for check in self.claims.iter().flat_map(|claim| &claim.checks) {
            metrics.extend(check.quantities().into_iter().map(|quantity| match quantity {
                Quantity::Metric(metric) => metric,
                Quantity::Contrast(contrast) => self.contrasts[contrast].metric,
            }));
            curves.extend(check.curve());
        }
        // A formula has metrics above it as operands.
        for (number, column) in self.metrics.iter().enumerate().rev() {
            if column.between.is_some() {
                metrics.insert(number);
            }
            let Of::Formula(text) = &column.of else { continue };
            if metrics.contains(&number) {
                let words = || text.split(|c: char| !c.is_alphanumeric() && c != '_');
                let above = self.metrics[..number].iter().enumerate();
                let operands = above.filter(|(_, other)| words().any(|word| word == other.name));
                metrics.extend(operands.map(|(other, _)| other));
            }
        }
        for (columns, needed) in [(&mut self.metrics, metrics), (&mut self.curves, curves)] {
            for (_, column) in columns.iter_mut().enumerate().filter(|(number, _)| !needed.contains(number)) {
                column.only = vec![(0, Vec::new())];
            }
        }
    }
}
