//! Handover policies: what happens at a path change. May not touch packets; sees a view, answers with actions.
