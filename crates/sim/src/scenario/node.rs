//! Nodes of a scenario.

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique among nodes.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; forwards nothing. Sends by source address: a packet leaves through the interface its
    /// source address belongs to.
    Host,
    /// Forwards by the shortest path (fewest links; the link declared first where two are equal).
    Router,
}
