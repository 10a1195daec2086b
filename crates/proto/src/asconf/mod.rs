//! Dynamic address reconfiguration (RFC 5061): the queue of requests and the rules for addresses. May not touch user data.
