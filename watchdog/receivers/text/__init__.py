"""Words and numbers for people, shared by the receivers that write to them; no markup of any service."""
