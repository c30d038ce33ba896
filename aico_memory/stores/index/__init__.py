"""Derived indexes over L1: vectors and text. Everything here can be dropped and built again from the store."""
