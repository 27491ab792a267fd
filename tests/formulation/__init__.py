"""Tests of every part of the formulation against numbers worked out by hand and against a slow second reading of the write-up."""
