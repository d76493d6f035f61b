"""Model providers: one contract, three vendor wires, an offline ranker and a scripted replay."""
