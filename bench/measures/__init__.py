"""One module for each thing that is measured: `measure(run)` adds figures. targets.py says what they must reach."""
