"""Model providers: one contract, two vendor wires, an offline ranker and a scripted replay."""
