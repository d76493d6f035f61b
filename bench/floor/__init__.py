"""The floor: what a call costs a plain client written by hand, with none of the defences. All ratios are to it."""
