// The charts of the sections of a report.

function drawSections() {}
