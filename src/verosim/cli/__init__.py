"""The command line: one file per verb. numpy and the library are loaded when a verb runs."""
