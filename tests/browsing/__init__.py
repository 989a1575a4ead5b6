"""Chromium without a window, for the tests of pages: a driver, colours, and a check of accessibility."""
