"""The tables of the fleet, as numbered files of SQL: NNNN.sql brings a database from step NNNN-1 to step NNNN."""
