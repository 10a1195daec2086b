//! Cells, metrics and curves that the claims of a sweep need.

use std::collections::BTreeSet;

use super::estimate::OperandOf;
use super::{Against, CheckSpec, ClaimSpec, Of, Quantity, Selector, Sweep, Wants, contains, moved};

/// The cells of some checks, given by their values on the axes.
pub(super) type Cells = BTreeSet<Vec<usize>>;

impl CheckSpec {
    /// Returns the cells that the check itself selects, as a choice of axes' values.
    pub(super) fn own(&self) -> Selector {
        match &self.what {
            Wants::Relation { a, over, .. } => a.iter().chain(over).cloned().collect(),
            Wants::Best { a, .. } | Wants::Nearer { a, .. } | Wants::NotBehind { a, .. } => a.clone(),
            Wants::Linear { .. }
            | Wants::Lowest { .. }
            | Wants::MostPoints { .. }
            | Wants::Times { .. }
            | Wants::All(_) => Selector::new(),
        }
    }

    /// Returns the parts of the check, or the check itself.
    pub(super) fn parts(&self) -> &[Self] {
        match &self.what {
            Wants::All(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns the axes that the check itself chooses values of.
    pub(super) fn named_axes(&self) -> Vec<usize> {
        self.parts().iter().flat_map(Self::own).map(|(axis, _)| axis).collect()
    }

    /// Returns true if the check counts the points of all cells together.
    pub(super) fn is_pooled(&self) -> bool {
        matches!(self.what, Wants::MostPoints { .. } | Wants::Times { .. })
    }

    /// Returns the quantities that the check uses; none if it uses a curve.
    pub(super) fn quantities(&self) -> Vec<Quantity> {
        match &self.what {
            Wants::Relation { of, than, .. } => vec![*of, *than],
            Wants::Best { of, .. } | Wants::Nearer { of, .. } => vec![*of],
            Wants::All(parts) => parts.iter().flat_map(Self::quantities).collect(),
            Wants::Lowest { .. }
            | Wants::NotBehind { .. }
            | Wants::Linear { .. }
            | Wants::MostPoints { .. }
            | Wants::Times { .. } => Vec::new(),
        }
    }

    /// Returns the curve that the check uses.
    fn curve(&self) -> Option<usize> {
        match &self.what {
            Wants::Lowest { curve, .. }
            | Wants::NotBehind { curve, .. }
            | Wants::Linear { curve, .. }
            | Wants::MostPoints { curve, .. }
            | Wants::Times { curve, .. } => Some(*curve),
            Wants::Relation { .. } | Wants::Best { .. } | Wants::Nearer { .. } | Wants::All(_) => None,
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
        if let Wants::All(parts) = &check.what {
            return parts.iter().flat_map(|part| self.cells_of(part, conditions)).collect();
        }
        let at = Self::at(check, conditions);
        let mut cells: Cells = self.grid.iter().filter(|values| contains(&at, values)).cloned().collect();
        let others: Vec<Selector> = match &check.what {
            Wants::Relation { against: Against::Cells(other), .. } => vec![other.clone()],
            Wants::NotBehind { behind, .. } => vec![behind.clone()],
            Wants::Nearer { to, than_to, .. } => vec![to.clone(), than_to.clone()],
            Wants::Best { axis, .. } => {
                (0..self.axes[*axis].values.len()).map(|value| vec![(*axis, vec![value])]).collect()
            }
            _ => Vec::new(),
        };
        let mut add = |other: &Selector| {
            let more: Vec<Vec<usize>> = cells.iter().map(|values| moved(values, other)).collect();
            cells.extend(more);
        };
        others.iter().for_each(&mut add);
        let quantities = check.quantities();
        for quantity in &quantities {
            if let Quantity::Contrast(contrast) = quantity {
                add(&self.contrasts[*contrast].against);
            }
        }
        let estimates = quantities.iter().filter_map(|quantity| match quantity {
            Quantity::Estimate(estimate) => Some(*estimate),
            _ => None,
        });
        let of = |estimate| cells.iter().flat_map(move |values| self.operands_of(estimate, values));
        let more: Vec<Vec<usize>> = estimates.flat_map(of).flat_map(|(_, cells)| cells).collect();
        cells.into_iter().chain(more).collect()
    }

    /// Returns the metrics and curves that a check uses.
    fn columns_of(&self, check: &CheckSpec) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut metrics, mut curves) = (BTreeSet::new(), BTreeSet::new());
        curves.extend(check.parts().iter().filter_map(CheckSpec::curve));
        for quantity in check.quantities() {
            match quantity {
                Quantity::Metric(metric) => drop(metrics.insert(metric)),
                Quantity::Contrast(contrast) => drop(metrics.insert(self.contrasts[contrast].metric)),
                Quantity::Estimate(estimate) => {
                    for (of, _) in self.operands_of(estimate, &self.grid[0]) {
                        match of {
                            OperandOf::Metric(metric) => drop(metrics.insert(metric)),
                            OperandOf::Curve(curve) => drop(curves.insert(curve)),
                            OperandOf::Estimate(_) => {}
                        }
                    }
                }
            }
        }
        (metrics, curves)
    }

    /// Removes the metrics and curves that neither a claim nor the guard of a run needs, since a point of an
    /// atlas computes nothing else.
    pub(super) fn only_needed(&mut self) {
        let (mut metrics, mut curves) = (BTreeSet::new(), BTreeSet::new());
        for check in self.claims.iter().flat_map(|claim| &claim.checks) {
            let (own, points) = self.columns_of(check);
            metrics.extend(own);
            curves.extend(points);
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
